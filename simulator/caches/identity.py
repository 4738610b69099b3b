"""A cache keyed by the identity of an object."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class ByIdentity(Generic[T]):
    """Values by object identity and a key. Keeps the `size` newest values together with their
    objects, so that no other object can reuse an identity."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[tuple[int, Hashable], tuple[Any, T]] = OrderedDict()

    def get(self, owner: Any, key: Hashable, make: Callable[[], T]) -> T:
        """The cached value, or the result of `make`, which is then cached."""
        place = id(owner), key
        entry = self._entries.get(place)
        if entry is None:
            entry = self._entries[place] = owner, make()
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
        return entry[1]
