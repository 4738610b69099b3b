"""Traces and programs of the points that a fit needs, each traced once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simulator.records import Trace
from simulator.symbols.expressions import Point
from simulator.symbols.program import Program, program
from simulator.symbols.templates import ProgramMismatchError

Tracer = Callable[[int, int], Trace]


class Probes:
    """Points traced so far; `count` is the number of calls of the tracer."""

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

    def traced(self) -> list[Point]:
        """The points traced so far."""
        return list(self._traces)

    def program(self, batch: int, seq: int) -> Program:
        """The program at a point."""
        point = batch, seq
        if point not in self._programs:
            self._programs[point] = program(self.trace(*point))
        return self._programs[point]

    def same_program(self, first: Point, second: Point) -> bool:
        """Whether two points have the same program.

        If only the host's counts differ, both are traced again: a process does some work once
        (imports, caches), and the first trace counts it.
        """
        if self.program(*first).differs_in_counts_only(self.program(*second)):
            for point in (first, second):
                self._traces[point] = self._trace(point)
                self._programs[point] = program(self._traces[point])
        return self.program(*first) == self.program(*second)

    def of_one_program(self, points: Sequence[Point]) -> list[Trace]:
        """The traces of points with one program.

        Raises ProgramMismatchError if their programs differ.
        """
        for point in points[1:]:
            if not self.same_program(points[0], point):
                raise ProgramMismatchError(_difference(points[0], point))
        return [self.trace(*point) for point in points]

    def _trace(self, point: Point) -> Trace:
        self.count += 1
        self.progress(self.count)
        return self.tracer(*point)


def _difference(first: Point, second: Point) -> str:
    """The error text for two points whose ops differ; a size that is equal in both is left out."""
    (batch, seq), (other_batch, other_seq) = first, second
    if seq == other_seq:
        return f"its ops at batch {batch} differ from those at batch {other_batch}"
    if batch == other_batch:
        return f"its ops at seq {seq} differ from those at seq {other_seq}"
    return (
        f"its ops at batch {batch} × seq {seq} differ from those at "
        f"batch {other_batch} × seq {other_seq}"
    )
