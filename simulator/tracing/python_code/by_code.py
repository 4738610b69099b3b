"""A cache of a function of code objects."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Generic, TypeVar

T = TypeVar("T")


class ByCode(Generic[T]):
    """Calls `function` once for each code object, and keeps the object alive.

    Code objects are compared by identity. Python hashes all names and constants of a code object
    each time, which takes longer than most functions here, and two functions of different files may
    have equal code.
    """

    def __init__(self, function: Callable[[CodeType], T]) -> None:
        self._function = function
        self._results: dict[int, tuple[CodeType, T]] = {}

    def __call__(self, code: CodeType) -> T:
        result = self._results.get(id(code))
        if result is None:
            result = self._results[id(code)] = code, self._function(code)
        return result[1]
