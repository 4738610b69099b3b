"""Which calls are timed: one decorated function a kind of call, with the points of its sweep."""

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
    """One call to be timed: the arguments, plain JSON, of an operation."""

    operation: str
    params: Params

    @property
    def name(self) -> str:
        """A unique name, such as `softmax(dtype=bf16,rows=4096,cols=512)`."""
        return f"{self.operation}({','.join(f'{k}={v}' for k, v in self.params.items())})"

    @property
    def held_out(self) -> bool:
        """Is the point kept from every fit? A fifth is, chosen by the name's hash."""
        digest = hashlib.sha256(self.name.encode()).digest()
        return digest[0] < 256 * HELD_OUT

    def make(self) -> Call:
        """Operands on torch's default device, and the call that is timed."""
        return OPERATIONS[self.operation].make(**self.params)


@dataclass(frozen=True)
class Operation:
    """A kind of call. `make(**params)` allocates random operands on torch's default device and
    returns the call; "library" ones, "blind" ones, which no fit sees, and a "chain" of them, which
    a fused kernel replaces, also run on meta tensors, so that they can be traced."""

    name: str
    kind: Kind
    make: Callable[..., Call]
    points: tuple[Point, ...]
    draw: Callable[[int, str], list[Params]] | None = None

    def further(self, times: float, word: str = "further") -> tuple[Point, ...]:
        """So many times as many other points, drawn like its own, others for each word; none where
        its own were not drawn."""
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
    """Register a kind of call under its function's name; a second one of the name raises, and so
    does a point that is there twice or is no plain JSON."""

    def decorate(make: Callable[..., Call]) -> Callable[..., Call]:
        name = make.__name__
        if name in OPERATIONS:
            raise ValueError(f"{name} is an operation already")
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
