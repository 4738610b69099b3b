"""What was made of an object, for as long as it is the same object."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class ByIdentity(Generic[T]):
    """Values by an object, told by identity, and a key; the `size` last made are kept, and with
    each its object, so that no other can take its identity."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: OrderedDict[tuple[int, Hashable], tuple[Any, T]] = OrderedDict()

    def get(self, of: Any, key: Hashable, make: Callable[[], T]) -> T:
        """The value, made where it is not held."""
        place = id(of), key
        held = self._held.get(place)
        if held is None:
            held = self._held[place] = of, make()
            while len(self._held) > self._size:
                self._held.popitem(last=False)
        return held[1]
