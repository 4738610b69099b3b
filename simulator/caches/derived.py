"""Values derived from an object, which live as long as the object."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

S = TypeVar("S")
T = TypeVar("T")

_SLOT, _OWN_SLOT = "_derived", "_derived_own"


class Derived(Generic[T]):
    """A typed cache of values that a module derives from objects with a `__dict__`, such as traces.

    Only the module that declares the cache reads it. The values are stored in the object's
    `__dict__`, as by `functools.cached_property`, so a value may refer to its object without
    keeping the object alive. Such a cycle is only freed by Python's garbage collector; to avoid
    this, large values with `own` refer to a `twin` of their object, which shares the other derived
    values. `size` bounds the values per object; the oldest is evicted first.
    """

    def __init__(self, size: int | None = None, own: bool = False) -> None:
        self._size, self._slot = size, _OWN_SLOT if own else _SLOT

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
        other.__dict__.setdefault(self._slot, {})[self] = self._values(source)

    def _values(self, source: Any) -> dict[Hashable, T]:
        tables: dict[Derived[Any], dict[Hashable, Any]] = source.__dict__.setdefault(self._slot, {})
        return tables.setdefault(self, {})


def share(source: Any, other: Any) -> None:
    """Let `other` share all values derived from `source`, now and later."""
    for slot in (_SLOT, _OWN_SLOT):
        other.__dict__[slot] = source.__dict__.setdefault(slot, {})


def twin(source: S) -> S:
    """A copy that shares the values derived from `source`, now and later, except those of caches
    with `own`. These may refer to the copy, and are freed with their object."""
    source.__dict__.setdefault(_SLOT, {})
    other = copy.copy(source)
    other.__dict__.update(source.__dict__)
    other.__dict__.pop(_OWN_SLOT, None)
    return other
