"""Values derived from an object, which live as long as the object."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_SLOT = "_derived"


class Derived(Generic[T]):
    """A typed cache of values that a module derives from objects with a `__dict__`, such as traces.

    Only the module that declares the cache reads it. The values are stored in the object's
    `__dict__`, as by `functools.cached_property`, so a value may refer to its object without
    keeping the object alive. `size` bounds the values per object; the oldest is evicted first.
    """

    def __init__(self, size: int | None = None) -> None:
        self._size = size

    def get(self, source: Any, make: Callable[[], T], key: Hashable = None) -> T:
        """The value of `source` under `key`; calls `make` if there is none."""
        values = self._values(source)
        if key in values:
            return values[key]
        value = make()
        if self._size is not None:
            while len(values) >= self._size:
                values.pop(next(iter(values)))
        values[key] = value
        return value

    def share(self, source: Any, other: Any) -> None:
        """Let `other` share the values that this cache has derived from `source`, and those that it
        will derive."""
        other.__dict__.setdefault(_SLOT, {})[self] = self._values(source)

    def _values(self, source: Any) -> dict[Hashable, T]:
        tables: dict[Derived[Any], dict[Hashable, Any]] = source.__dict__.setdefault(_SLOT, {})
        return tables.setdefault(self, {})


def share(source: Any, other: Any) -> None:
    """Let `other` share all values derived from `source`, now and later."""
    other.__dict__[_SLOT] = source.__dict__.setdefault(_SLOT, {})
