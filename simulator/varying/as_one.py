"""A number at many points where Python insists on one plain number."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.varying.path import Path


class AsOne:
    """`values` at the points of a path [points]. What insists on a plain number (`range`, a key, an
    index) gets that of the first point, and the points with another number leave the path."""

    __slots__ = ("path", "values")

    def __init__(self, values: NDArray[Any], path: Path) -> None:
        self.values = values
        self.path = path

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """What asks whether this is an int or a float is told so."""
        return float if self.values.dtype == np.float64 else int

    def one(self) -> Any:
        """The number of the first point; points with another leave the path."""
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
        """Whatever else plain numbers have, such as `is_integer`."""
        return getattr(self.one(), name)
