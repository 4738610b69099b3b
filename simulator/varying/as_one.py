"""Conversions of a number at many points to one plain number."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.varying.path import Path


class AsOne:
    """`values` [points] on a path. Where Python requires a plain number (`range`, a key, an index)
    it gets the number of the first point, and points with another number leave the path."""

    __slots__ = ("path", "values")

    def __init__(self, values: NDArray[Any], path: Path) -> None:
        self.values = values
        self.path = path

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """The type for `isinstance`, int or float."""
        return float if self.values.dtype == np.float64 else int

    def one(self) -> Any:
        """The number at the first point; points with another one leave the path."""
        return self.path.one(self.values)

    def __bool__(self) -> bool:
        return self.path.truth(self.values != 0)

    def __hash__(self) -> int:
        return hash(self.one())

    def __index__(self) -> int:
        return operator.index(self.one())

    def __int__(self) -> int:
        return int(self.one())

    def __trunc__(self) -> int:
        return int(self.one())

    def __float__(self) -> float:
        return float(self.one())

    def __complex__(self) -> complex:
        return complex(self.one())

    def __str__(self) -> str:
        return str(self.one())

    def __repr__(self) -> str:
        return repr(self.one())

    def __format__(self, form: str) -> str:
        return format(self.one(), form)

    def __reduce__(self) -> Any:
        return type(self.one()), (self.one(),)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self.one(), dtype)

    def __getattr__(self, name: str) -> Any:
        """Other attributes of plain numbers, such as `is_integer`."""
        return getattr(self.one(), name)
