"""Run plain code for many points: once per path, or once per distinct set of arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.varying.number import Varying, from_python
from simulator.varying.path import Path

Ints = NDArray[np.int64]
T = TypeVar("T")
_type: Callable[[Any], Any] = type
_TUPLE: type[Any] = tuple
_PLAIN: tuple[type[Any], ...] = (tuple, list)

_FEW = 6  # points up to which evaluation one by one is as fast
_RUNS = 12  # number of runs after which short paths are evaluated point by point


class Walked(NamedTuple):
    """The result of code on one path, and the points on the path. Each varying number in the result
    is a `Varying` over these points, in this order."""

    result: Any
    points: Ints


def walked(function: Callable[[list[Any]], Any], columns: Ints) -> list[Walked]:
    """Results of `function` for the numbers of each point, [numbers, points], path by path.

    It may return tuples, lists, dicts and records of numbers and other values. It must be pure,
    since it runs many times. If it splits into paths of a few points each, because it needs plain
    numbers, it runs point by point.
    """
    walks: list[Walked] = []
    waiting: list[Ints] = [np.arange(columns.shape[1])]
    runs = done = 0
    while waiting:
        points = waiting.pop()
        if points.size <= _FEW or (runs >= _RUNS and done < _FEW * runs):
            walks += [
                Walked(function(columns[:, p].tolist()), points[i : i + 1])
                for i, p in enumerate(points.tolist())
            ]
            continue
        path = Path(points.size)
        numbers = [_number(column[points], path) for column in columns]
        with np.errstate(all="ignore"):  # errors of points that left the path
            result = function(numbers)
        path.end()
        waiting += [points[left] for left in path.left]
        whole = bool(path.on.all())
        on_path = points if whole else points[path.on]
        walks.append(Walked(result if whole else _at_points(result, path.on), on_path))
        runs, done = runs + 1, done + on_path.size
    return walks


def _number(values: Ints, path: Path) -> Any:
    first = int(values[0])
    return Varying(values, path) if (values != first).any() else first


def _at_points(value: Any, on: NDArray[np.bool_]) -> Any:
    """The value with every varying number restricted to these points."""
    kind = _type(value)
    if kind is Varying:
        return Varying(value.values[on], value.path, value.most)
    if kind in _PLAIN:
        return kind([_at_points(part, on) for part in value])
    if kind is dict:
        return {name: _at_points(part, on) for name, part in value.items()}
    if isinstance(value, msgspec.Struct):
        parts = {name: _at_points(getattr(value, name), on) for name in value.__struct_fields__}
        return kind(**parts)
    if isinstance(value, _TUPLE):
        return kind(*(_at_points(part, on) for part in value))
    return value


def at_each(function: Callable[..., T]) -> Callable[..., T]:
    """Evaluate a function of plain numbers at each distinct set of its varying arguments instead of
    splitting the path; it returns a number or a tuple of numbers."""

    @wraps(function)
    def evaluate(*arguments: Any) -> Any:
        varying = [a for a in arguments if type(a) is Varying]
        if not varying:
            return function(*arguments)
        places = [i for i, a in enumerate(arguments) if type(a) is Varying]
        rows = list(zip(*(v.values.tolist() for v in varying), strict=True))
        results: dict[Any, Any] = {}
        full = list(arguments)
        for row, on in zip(rows, varying[0].path.on.tolist(), strict=True):
            if on and row not in results:
                for place, value in zip(places, row, strict=True):
                    full[place] = value
                results[row] = function(*full)
        default = next(iter(results.values()))
        values = [results.get(row, default) for row in rows]
        if isinstance(default, tuple):
            return tuple(_gathered(part, varying[0].path) for part in zip(*values, strict=True))
        return _gathered(values, varying[0].path)

    return evaluate


def _gathered(values: Sequence[Any], path: Path) -> Any:
    first = values[0]
    if all(value is first or value == first for value in values):
        return first
    return from_python(list(values), path)


def in_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Call a function with arrays [points] for its varying arguments; it returns an array. If all
    arguments are plain and the result is one number, it is returned as a plain number."""

    @wraps(function)
    def evaluate(*arguments: Any) -> Any:
        path = next((a.path for a in arguments if type(a) is Varying), None)
        if path is None:
            result = function(*arguments)
            return result.item() if np.ndim(result) == 0 and hasattr(result, "item") else result
        result = function(*(a.values if type(a) is Varying else a for a in arguments))
        return Varying(np.asarray(result), path)

    return evaluate
