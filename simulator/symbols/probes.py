"""Traces taken while a family is fitted: each point once, and their programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simulator.records import Trace
from simulator.symbols.expressions import Point
from simulator.symbols.program import Program, program
from simulator.symbols.templates import UnlikeError

Tracer = Callable[[int, int], Trace]


class Probes:
    """Points traced so far. `count` says how often the tracer was called."""

    def __init__(self, tracer: Tracer, progress: Callable[[int], None]) -> None:
        self.tracer = tracer
        self.progress = progress
        self.count = 0
        self._traces: dict[Point, Trace] = {}
        self._programs: dict[Point, Program] = {}

    def trace(self, batch: int, seq: int) -> Trace:
        """The trace at a point."""
        point = batch, seq
        if point not in self._traces:
            self._traces[point] = self._trace(point)
        return self._traces[point]

    def taken(self) -> list[Point]:
        """The points traced so far."""
        return list(self._traces)

    def program(self, batch: int, seq: int) -> Program:
        """The program at a point."""
        point = batch, seq
        if point not in self._programs:
            self._programs[point] = program(self.trace(*point))
        return self._programs[point]

    def same(self, one: Point, other: Point) -> bool:
        """Have two points one program?

        Where only the host's counts differ, both are traced again: a process does some things once
        (imports, caches), and the first trace counts them.
        """
        if self.program(*one).differs_in_counts_alone(self.program(*other)):
            for point in (one, other):
                self._traces[point] = self._trace(point)
                self._programs[point] = program(self._traces[point])
        return self.program(*one) == self.program(*other)

    def alike(self, points: Sequence[Point]) -> list[Trace]:
        """The traces of points with one program; UnlikeError where there are two."""
        for point in points[1:]:
            if not self.same(points[0], point):
                raise UnlikeError(
                    "its ops at batch {} × seq {} are others than at {} × {}".format(
                        *points[0], *point
                    )
                )
        return [self.trace(*point) for point in points]

    def _trace(self, point: Point) -> Trace:
        self.count += 1
        self.progress(self.count)
        return self.tracer(*point)
