"""Traces of a network for every batch and sequence length, derived from a few traces.

The plane of batches and sequence lengths is split into cells with one program each (`split`), and
each cell gets a family, fitted to its corners and to points in between. A point outside all cells,
or in a cell without a family, is traced when it is needed; `reason_to_retrace` gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.errors import InputError
from simulator.records import Trace
from simulator.symbols.cells import Cell
from simulator.symbols.expressions import Point
from simulator.symbols.family import Family
from simulator.symbols.probes import Probes, Tracer
from simulator.symbols.split import Limits, split
from simulator.symbols.templates import ProgramMismatchError

_CACHED_TRACES = 16
_EXTRA_POINTS = 8  # maximum number of points traced while splitting that a fit includes


class Sizes(NamedTuple):
    """The sizes of one family, `values` [slots, places], at the points with indices `places`."""

    family: Family
    places: NDArray[np.int64]
    values: NDArray[np.int64]


class Evaluated(NamedTuple):
    """All sizes at many points; `retrace` holds the indices of the points without a family."""

    parts: list[Sizes]
    retrace: NDArray[np.int64]


@dataclass(frozen=True)
class Symbolic:
    """The traces at all points; `at` returns one. `cells` name their families by the numbers of
    `programs`; `traced` is the number of traces that the fit needed."""

    tracer: Tracer
    programs: Mapping[int, Family]
    cells: list[tuple[Cell, int]]
    failures: list[tuple[Cell, str]]
    has_seq: bool
    traced: int
    _cached: dict[Point, Trace] = field(default_factory=dict[Point, Trace])

    @staticmethod
    def fit(
        tracer: Tracer,
        *,
        batch: int = 8,
        seq: int | None = 128,
        largest_batch: int | None = None,
        largest_seq: int | None = None,
        progress: Callable[[int], None] = lambda traced: None,
    ) -> Symbolic:
        """Fit around (batch, seq), where the network must be traceable.

        `seq` is None for a network without a sequence, whose `tracer` is called with 1. Traces up
        to `largest_batch` and `largest_seq` are exact; the defaults are 16,384 and 120,960, or the
        network's limit. `progress` receives the number of each trace.
        """
        probes = Probes(tracer, progress)
        limits = Limits(batch, seq, largest_batch, largest_seq)
        programs: dict[int, Family] = {}
        cells: list[tuple[Cell, int]] = []
        failures: list[tuple[Cell, str]] = []
        for cell in split(probes, limits):
            try:
                cells.append((cell, _program(probes, cell, programs)))
            except ProgramMismatchError as error:
                failures.append((cell, str(error)))
            except InputError as error:
                failures.append((cell, f"the network cannot be traced there: {error}"))
        return Symbolic(tracer, programs, cells, failures, seq is not None, probes.count)

    @property
    def families(self) -> list[tuple[Cell, Family]]:
        """The family of each cell."""
        return [(cell, self.programs[number]) for cell, number in self.cells]

    def at(self, batch: int, seq: int | None = None) -> Trace:
        """The trace that `tracer(batch, seq)` returns: instantiated from a family, else traced.

        Raises the errors of the tracer, such as InputError past the last position.
        """
        point = self._point(batch, seq)
        family = self._family(*point)
        if family is not None:
            return family.at(*point)
        if point not in self._cached:
            while len(self._cached) >= _CACHED_TRACES:
                self._cached.pop(next(iter(self._cached)))
            self._cached[point] = self.tracer(*point)
        return self._cached[point]

    def reason_to_retrace(self, batch: int, seq: int | None = None) -> str | None:
        """The reason why `at` must trace at this point; None if a family covers it."""
        point = self._point(batch, seq)
        if self._family(*point) is not None:
            return None
        where = f"batch {batch}" + (f", seq {seq}" if self.has_seq else "")
        for cell, reason in self.failures:
            if cell.holds(*point):
                return f"{where}: {reason}"
        return f"{where} is outside the range that was verified"

    def family(self, batch: int, seq: int | None = None) -> Family | None:
        """The family that `at` uses for a point; None if `at` traces."""
        return self._family(*self._point(batch, seq))

    def verify(self, batch: int, seq: int | None = None) -> bool:
        """Trace this point and compare; if they differ, drop the family and return False."""
        point = self._point(batch, seq)
        for place, (cell, number) in enumerate(self.cells):
            if cell.holds(*point):
                if self.programs[number].at(*point) == self.tracer(*point):
                    return True
                del self.cells[place]
                self.failures.append((cell, "a trace at {} × {} differed".format(*point)))
                return False
        return True

    def evaluate(self, batches: ArrayLike, seqs: ArrayLike = 1) -> Evaluated:
        """Every distinct size at points given as two arrays that broadcast to one axis."""
        pair = np.broadcast_arrays(
            np.atleast_1d(np.asarray(batches, np.int64)), np.asarray(seqs, np.int64)
        )
        batch, seq = pair[0].ravel(), pair[1].ravel()
        open_ = np.ones(batch.size, np.bool_)
        parts: list[Sizes] = []
        for cell, family in self.families:
            low, high = cell.batches
            inside = open_ & (batch >= low) & (batch <= high)
            inside &= (seq >= cell.seqs[0]) & (seq <= cell.seqs[1])
            inside &= (seq % cell.modulus == 0) == cell.aligned
            places = np.flatnonzero(inside)
            if places.size:
                parts.append(Sizes(family, places, family.sizes(batch[places], seq[places])))
            open_ &= ~inside
        return Evaluated(parts, np.flatnonzero(open_))

    def _point(self, batch: int, seq: int | None) -> Point:
        if self.has_seq and seq is None:
            raise InputError("this network has a sequence: expected its length; give seq")
        if not self.has_seq and seq is not None:
            raise InputError("this network has no sequence: expected no seq; leave it out")
        return batch, 1 if seq is None else seq

    def _family(self, batch: int, seq: int) -> Family | None:
        number = next((n for cell, n in self.cells if cell.holds(batch, seq)), None)
        return None if number is None else self.programs[number]


def _program(probes: Probes, cell: Cell, programs: dict[int, Family]) -> int:
    """The number of a cell's family: one of `programs` that reproduces its two ends, or a new one,
    which is added.

    Raises ProgramMismatchError if the cell has too few points. Points of the cell that were traced
    while splitting replace the last of the cell's own points.
    """
    count = _points_needed(cell)
    points = cell.points(count)
    for number, family in programs.items():
        if len(points) > 1 and all(_reproduces(family, probes, point) for point in points[:2]):
            return number
    if len(points) < count:
        raise ProgramMismatchError("it has too few points to fit expressions to")
    traced = [p for p in probes.traced() if cell.holds(*p) and p not in points]
    points = [*points[: count - len(traced[:1])], *traced[:_EXTRA_POINTS]]
    family = Family.fit(points, probes.of_one_program(points))
    while borders := [point for point in _borders(cell, family) if point not in points]:
        points = [*points, *borders]
        family = Family.fit(points, probes.of_one_program(points))
    programs[len(programs)] = family
    return len(programs) - 1


def _borders(cell: Cell, family: Family) -> list[Point]:
    """The points of a cell on both sides of each length beyond which a size no longer grows."""
    return [(cell.batches[0], s) for limit in sorted(family.limits) for s in cell.around(limit)]


def _reproduces(family: Family, probes: Probes, point: Point) -> bool:
    return family.at(*point) == probes.trace(*point)


def _points_needed(cell: Cell) -> int:
    """The number of points: five along the sequence (three unknowns and two to spare), four along
    the batch, seven if both vary."""
    if cell.seqs[0] == cell.seqs[1]:
        return 1 if cell.batches[0] == cell.batches[1] else 4
    return 5 if cell.batches[0] == cell.batches[1] else 7
