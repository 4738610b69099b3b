"""One number at many points, with the arithmetic of plain Python numbers.

Integers have 64 bits as long as they fit and are Python integers otherwise; `most` is an upper
bound derived from the operands. Integers above 2^53 are divided in Python too, so that every result
equals Python's to the last bit.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.varying.as_one import AsOne
from simulator.varying.path import SCALAR, Path

Operation = Callable[[Any, Any], Any]
Bound = Callable[[int, int], int]

_LONG = 2**63
_EXACT = 2**53  # integers up to here are floats too
# Declared as Any, because narrowing to NumPy's generic classes leaves their parameters unknown
_NUMBERS: tuple[type[Any], ...] = (int, float, np.integer, np.floating, np.bool_)
_BOOLS: tuple[type[Any], ...] = (bool, np.bool_)
_ARRAY: type[Any] = np.ndarray
_UNTYPED: Any = operator  # typeshed has no types for some of its functions
_type: Callable[[Any], Any] = type


class Varying(AsOne):
    """A number at every point of a path. Comparisons return one result for the points on it."""

    __slots__ = ("most",)
    __hash__ = AsOne.__hash__  # `__eq__` would remove it

    def __init__(self, values: NDArray[Any], path: Path, most: int | None = None) -> None:
        self.values, self.path = values, path
        self.most = _most(values) if most is None else most

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        """Apply numpy functions of numbers point by point; combined with an array, a varying number
        counts as one number."""
        if method != "__call__" or more or not all(isinstance(i, _NUMBERS) for i in inputs):
            plain = [i.one() if type(i) is Varying else i for i in inputs]
            return getattr(ufunc, method)(*plain, **more)
        result = ufunc(*(i.values if type(i) is Varying else i for i in inputs))
        if result.dtype == np.bool_:
            return self.path.truth(result)
        return Varying(result if result.dtype == np.int64 else result.astype(float), self.path)

    # Arithmetic.

    def __add__(self, other: Any) -> Any:
        return self._with(operator.add, other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return self._with(operator.add, other, lambda a, b: a + b, True)

    def __sub__(self, other: Any) -> Any:
        return self._with(operator.sub, other, lambda a, b: a + b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(operator.sub, other, lambda a, b: a + b, True)

    def __mul__(self, other: Any) -> Any:
        return self._with(operator.mul, other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return self._with(operator.mul, other, lambda a, b: a * b, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._over(_UNTYPED.floordiv, other, lambda a, b: a)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._over(_UNTYPED.floordiv, other, lambda a, b: a, True)

    def __mod__(self, other: Any) -> Any:
        return self._over(operator.mod, other, lambda a, b: b)

    def __rmod__(self, other: Any) -> Any:
        return self._over(operator.mod, other, lambda a, b: b, True)

    def __truediv__(self, other: Any) -> Any:
        return self._over(_UNTYPED.truediv, other, _exact_quotient)

    def __rtruediv__(self, other: Any) -> Any:
        return self._over(_UNTYPED.truediv, other, _exact_quotient, True)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __and__(self, other: Any) -> Any:
        return self._with(_UNTYPED.and_, other, _bits)

    def __rand__(self, other: Any) -> Any:
        return self._with(_UNTYPED.and_, other, _bits, True)

    def __or__(self, other: Any) -> Any:
        return self._with(_UNTYPED.or_, other, _bits)

    def __ror__(self, other: Any) -> Any:
        return self._with(_UNTYPED.or_, other, _bits, True)

    def __rshift__(self, other: Any) -> Any:
        return self._with(_UNTYPED.rshift, other, lambda a, b: a if b < 64 else _LONG)

    def __rrshift__(self, other: Any) -> Any:
        return self._with(_UNTYPED.rshift, other, lambda a, b: a if b < 64 else _LONG, True)

    def __lshift__(self, other: Any) -> Any:
        return self._with(_UNTYPED.lshift, other, lambda a, b: a << min(b, 64))

    def __rlshift__(self, other: Any) -> Any:
        return self._with(_UNTYPED.lshift, other, lambda a, b: a << min(b, 64), True)

    def __pow__(self, other: Any) -> Any:
        return self._python(_UNTYPED.pow, other)

    def __rpow__(self, other: Any) -> Any:
        return self._python(_UNTYPED.pow, other, True)

    def __neg__(self) -> Varying:
        return Varying(-self.values, self.path, self.most)

    def __pos__(self) -> Varying:
        return self

    def __abs__(self) -> Varying:
        return Varying(abs(self.values), self.path, self.most)

    def __ceil__(self) -> Varying:
        return self._rounded(np.ceil, math.ceil)

    def __floor__(self) -> Varying:
        return self._rounded(np.floor, math.floor)

    def __round__(self, digits: int | None = None) -> Varying:
        if digits is not None:
            return self._each(lambda value: round(value, digits))
        return self._rounded(np.rint, round)

    def bit_length(self) -> Varying:
        """`int.bit_length` at each point."""
        if self.most > _EXACT:
            return self._each(int.bit_length)
        return Varying(np.frexp(abs(self.values))[1].astype(np.int64), self.path, 64)

    # Comparisons.

    def __eq__(self, other: object) -> bool:
        return self._is(operator.eq, other)

    def __ne__(self, other: object) -> bool:
        return self._is(operator.ne, other)

    def __lt__(self, other: Any) -> bool:
        return self._is(operator.lt, other)

    def __le__(self, other: Any) -> bool:
        return self._is(operator.le, other)

    def __gt__(self, other: Any) -> bool:
        return self._is(operator.gt, other)

    def __ge__(self, other: Any) -> bool:
        return self._is(operator.ge, other)

    # Implementation.

    def _is(self, compare: Operation, other: Any) -> bool:
        kind = _type(other)
        if kind is Varying:
            values, most = other.values, other.most
        elif kind is int:
            values, most = other, abs(other)
        elif isinstance(other, _NUMBERS):
            values, most = other, abs(other) if isinstance(other, int) else 0
        else:
            return NotImplemented
        mine = self.values
        if self.most > _EXACT or most > _EXACT:  # Python compares an int with a float exactly
            mine, values = mine.astype(object), _as_objects(values)
        return self.path.truth(np.asarray(compare(mine, values), np.bool_))

    def _with(self, operation: Operation, other: Any, bound: Bound, turned: bool = False) -> Any:
        """One numpy operation, with Python integers if 64 bits may overflow."""
        kind = _type(other)
        if kind is Varying:
            values, most = other.values, other.most
        elif kind is int:
            values, most = other, abs(other)
        elif kind is float:
            values, most = other, 0
        elif isinstance(other, _NUMBERS):
            if isinstance(other, (bool, SCALAR)):
                other = int(other) if isinstance(other, _BOOLS) else other.item()
            values, most = other, abs(other) if isinstance(other, int) else 0
        elif isinstance(other, np.ndarray):
            one = self.one()
            return operation(other, one) if turned else operation(one, other)
        else:
            return NotImplemented
        mine = self.values
        most = bound(most, self.most) if turned else bound(self.most, most)
        if most >= _LONG and not (_real(mine) or _real(values)):
            mine, values = mine.astype(object), _as_objects(values)
            return _shrunk(operation(values, mine) if turned else operation(mine, values), self)
        result = operation(values, mine) if turned else operation(mine, values)
        return Varying(result, self.path, 0 if result.dtype == np.float64 else most)

    def _over(self, operation: Operation, other: Any, bound: Bound, turned: bool = False) -> Any:
        """A division; raises ZeroDivisionError if a point on the path divides by 0."""
        divisor = self if turned else other
        if type(divisor) is Varying:
            zero = divisor.values == 0
            if zero.any():
                if self.path.any(zero):
                    raise ZeroDivisionError("division by zero")
                divisor = Varying(np.where(zero, 1, divisor.values), self.path, divisor.most)
            if turned:
                return divisor._with(operation, other, bound, True)
        elif isinstance(divisor, _NUMBERS) and not divisor:
            raise ZeroDivisionError("division by zero")
        return self._with(operation, divisor, bound)

    def _rounded(self, whole: Callable[[Any], Any], python: Callable[[Any], int]) -> Varying:
        if not _real(self.values):
            return self
        rounded = whole(self.values)
        if not (np.abs(rounded) < _EXACT).all():
            return self._each(python)
        return Varying(rounded.astype(np.int64), self.path)

    def _python(self, operation: Operation, other: Any, turned: bool = False) -> Any:
        """Evaluate in Python point by point."""
        if type(other) is Varying:
            pairs = zip(self.values.tolist(), other.values.tolist(), strict=True)
            return from_python([operation(a, b) for a, b in pairs], self.path)
        if not isinstance(other, _NUMBERS):
            return NotImplemented
        return self._each(lambda a: operation(other, a) if turned else operation(a, other))

    def _each(self, function: Callable[[Any], Any]) -> Varying:
        return from_python([function(value) for value in self.values.tolist()], self.path)


def from_python(values: list[Any], path: Path) -> Varying:
    """A varying number of one Python number per point."""
    plain = np.array(values)
    if plain.dtype == np.int64:
        return Varying(plain, path)
    if any(isinstance(value, float) for value in values):
        return Varying(np.array(values, np.float64), path, 0)
    return _shrunk(np.array(values, object), path)


def _shrunk(values: NDArray[Any], on: Varying | Path) -> Varying:
    """Python numbers as 64-bit integers if they fit."""
    path = on.path if type(on) is Varying else on
    assert isinstance(path, Path)
    if isinstance(values.flat[0], float):
        return Varying(values.astype(np.float64), path, 0)
    plain: list[int] = values.tolist()
    most = max(map(abs, plain), default=0)
    return Varying(values if most >= _LONG else values.astype(np.int64), path, most)


def _most(values: NDArray[Any]) -> int:
    if values.dtype == np.float64:
        return 0
    return max(abs(int(values.max())), abs(int(values.min()))) if values.size else 0


def _real(values: Any) -> bool:
    return isinstance(values, float) or getattr(values, "dtype", None) == np.float64


def _as_objects(values: Any) -> Any:
    return values.astype(object) if isinstance(values, _ARRAY) else values


def _bits(a: int, b: int) -> int:
    return 2 * max(a, b)


def _exact_quotient(a: int, b: int) -> int:
    """A bound that selects division in Python for operands above 2^53, inexact as floats."""
    return _LONG if max(a, b) > _EXACT else 0
