"""Running plain code for many points: along each path, or at each distinct choice of arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.varying.number import Varying, made
from simulator.varying.path import Path

Ints = NDArray[np.int64]
T = TypeVar("T")

_FEW = 6  # points that are as quickly asked one by one
_RUNS = 12  # after so many, paths of a few points each are given up


class Walked(NamedTuple):
    """What some code returned on one path, and the points on it. Every number in it that varies is
    a `Varying` of these points, in this order."""

    found: Any
    points: Ints


def walked(ask: Callable[[list[Any]], Any], columns: Ints) -> list[Walked]:
    """What `ask` returns for each point's numbers, [numbers, points], path by path.

    It may return tuples, lists, dicts and records of numbers and anything else. It must be a pure
    function: it is asked again and again. What splits into a path for every few points, since it
    needs plain numbers, is asked point by point.
    """
    found: list[Walked] = []
    waiting = [np.arange(columns.shape[1])]
    runs = done = 0
    while waiting:
        points = waiting.pop()
        if points.size <= _FEW or (runs >= _RUNS and done < _FEW * runs):
            found += [
                Walked(ask(columns[:, p].tolist()), points[i : i + 1])
                for i, p in enumerate(points.tolist())
            ]
            continue
        path = Path(points.size)
        numbers = [_number(column[points], path) for column in columns]
        with np.errstate(all="ignore"):  # of points that left the path
            answer = ask(numbers)
        path.end()
        waiting += [points[left] for left in path.left]
        whole = bool(path.on.all())
        kept = points if whole else points[path.on]
        found.append(Walked(answer if whole else _of(answer, path.on), kept))
        runs, done = runs + 1, done + kept.size
    return found


def _number(values: Ints, path: Path) -> Any:
    first = int(values[0])
    return Varying(values, path) if (values != first).any() else first


def _of(found: Any, on: NDArray[np.bool_]) -> Any:
    """The same with each number's values at these points."""
    kind = type(found)
    if kind is Varying:
        return Varying(found.values[on], found.path, found.most)
    if kind is tuple or kind is list:
        return kind([_of(part, on) for part in found])
    if kind is dict:
        return {name: _of(part, on) for name, part in found.items()}
    if isinstance(found, msgspec.Struct):
        parts = {name: _of(getattr(found, name), on) for name in found.__struct_fields__}
        return kind(**parts)
    if isinstance(found, tuple):
        return kind(*(_of(part, on) for part in found))
    return found


def at_each(function: Callable[..., T]) -> Callable[..., T]:
    """A function of plain numbers (and anything else), asked at each distinct choice of those that
    vary, rather than split the path; it returns a number or a tuple of them."""

    @wraps(function)
    def asked(*arguments: Any) -> Any:
        varying = [a for a in arguments if type(a) is Varying]
        if not varying:
            return function(*arguments)
        places = [i for i, a in enumerate(arguments) if type(a) is Varying]
        rows = list(zip(*(v.values.tolist() for v in varying), strict=True))
        known: dict[Any, Any] = {}
        full = list(arguments)
        for row, on in zip(rows, varying[0].path.on.tolist(), strict=True):
            if on and row not in known:
                for place, value in zip(places, row, strict=True):
                    full[place] = value
                known[row] = function(*full)
        some = next(iter(known.values()))
        every = [known.get(row, some) for row in rows]
        if isinstance(some, tuple):
            return tuple(_gathered(part, varying[0].path) for part in zip(*every, strict=True))
        return _gathered(every, varying[0].path)

    return asked


def _gathered(values: Sequence[Any], path: Path) -> Any:
    first = values[0]
    if all(value is first or value == first for value in values):
        return first
    return made(list(values), path)


def in_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose numbers may be arrays [points], which then returns an array."""

    @wraps(function)
    def asked(*arguments: Any) -> Any:
        path = next((a.path for a in arguments if type(a) is Varying), None)
        if path is None:
            return function(*arguments)
        found = function(*(a.values if type(a) is Varying else a for a in arguments))
        return Varying(np.asarray(found), path)

    return asked
