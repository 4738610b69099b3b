"""The values last asked for, by key."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Generic, TypeVar

T = TypeVar("T")


class LRUCache(Generic[T]):
    """At most `size` values; the one not asked for the longest goes first. Errors aren't kept."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = RLock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key, made where it is not held."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        value = make()
        with self._lock:
            self._held[key] = value
            while len(self._held) > self._size:
                self._held.popitem(last=False)
        return value

    def clear(self) -> None:
        """Hold nothing."""
        with self._lock:
            self._held.clear()
