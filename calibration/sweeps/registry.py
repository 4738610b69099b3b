"""The registry of timed calls: one decorated function per kind of call, with the points of its
sweep."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["library", "cuda", "triton", "chain", "generated", "blind"]
Call = Callable[[], object]
Params = dict[str, Any]
HELD_OUT = 0.2


@dataclass(frozen=True)
class Point:
    """One call to time: an operation and its arguments, which are plain JSON."""

    operation: str
    params: Params

    @property
    def name(self) -> str:
        """A unique name, such as `softmax(dtype=bf16,rows=4096,cols=512)`."""
        return f"{self.operation}({','.join(f'{k}={v}' for k, v in self.params.items())})"

    @property
    def held_out(self) -> bool:
        """Whether the point is held out from every fit. The hash of the name selects a fifth of the
        points."""
        digest = hashlib.sha256(self.name.encode()).digest()
        return digest[0] < 256 * HELD_OUT

    def make(self) -> Call:
        """Allocate operands on torch's default device and return the call to time."""
        return OPERATIONS[self.operation].make(**self.params)


@dataclass(frozen=True)
class Operation:
    """A kind of call. `make(**params)` allocates random operands on torch's default device and
    returns the call. Calls of the kinds "library", "blind" (not used in any fit) and "chain"
    (replaced by a fused kernel) also run on meta tensors, so that they can be traced."""

    name: str
    kind: Kind
    make: Callable[..., Call]
    points: tuple[Point, ...]
    draw: Callable[[int, str], list[Params]] | None = None

    def further(self, times: float, word: str = "further") -> tuple[Point, ...]:
        """Further points that are drawn like those of the sweep: `times` as many, and different
        ones for each `word`. Empty if the points of the sweep were not drawn at random."""
        drawn = self.draw(round(times * len(self.points)), word) if self.draw else []
        return tuple(Point(self.name, params) for params in drawn)

    def quick(self, most: int) -> tuple[Point, ...]:
        """At most `most` points, spread evenly over the sweep."""
        step = max(1, -(-len(self.points) // most))
        return self.points[::step]


OPERATIONS: dict[str, Operation] = {}


def operation(
    points: Callable[[], Iterable[Params]], kind: Kind = "library"
) -> Callable[[Callable[..., Call]], Callable[..., Call]]:
    """Register a kind of call under its function's name. Raises an error for a name that is taken,
    and for a point that is repeated or not plain JSON."""

    def decorate(make: Callable[..., Call]) -> Callable[..., Call]:
        name = make.__name__
        if name in OPERATIONS:
            raise ValueError(f"{name} is already an operation")
        registered = tuple(Point(name, params) for params in points())
        if len({p.name for p in registered}) != len(registered):
            raise ValueError(f"{name} has a point twice")
        json.dumps([p.params for p in registered])
        draw = getattr(points, "further", None)
        OPERATIONS[name] = Operation(name, kind, make, registered, draw)
        return make

    return decorate


def points(kind: Kind | None = None) -> Iterator[Point]:
    """Every registered point, operation after operation."""
    for each in OPERATIONS.values():
        if kind in (None, each.kind):
            yield from each.points
