"""A network's traces for every batch and sequence length, from a few that were really taken.

The plane of batches and sequence lengths is split into cells with one program each (`split`), and
each cell gets a family, fitted to its corners and to points between. What no cell holds, and what
no family could be fitted to, is traced when it is asked for; `reason_to_retrace` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
from simulator.symbols.templates import UnlikeError

_KEPT = 16
_KNOWN = 8  # points traced on the way that a fit looks at


class Sizes(NamedTuple):
    """What one family makes of some of the points: `places` are theirs, `values` [slots, places]
    the family's sizes."""

    family: Family
    places: NDArray[np.int64]
    values: NDArray[np.int64]


class Evaluated(NamedTuple):
    """All sizes at many points at once; `retrace` are the places that no family answers."""

    parts: list[Sizes]
    retrace: NDArray[np.int64]


@dataclass(frozen=True)
class Symbolic:
    """Answers `at` for every point; `traced` counts the traces that the fit took."""

    tracer: Tracer
    families: list[tuple[Cell, Family]]
    failures: list[tuple[Cell, str]]
    has_seq: bool
    traced: int
    _kept: dict[Point, Trace] = field(default_factory=dict)

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
        """Fit around (batch, seq), where the network must be traceable; seq None: it has none.

        `tracer` takes the batch and the sequence, 1 for a network without. Up to `largest_batch`
        and `largest_seq` the answers are exact without a trace; by default up to 16,384 and
        120,960, or what the network admits. `progress` is told of each trace.
        """
        probes = Probes(tracer, progress)
        limits = Limits(batch, seq, largest_batch, largest_seq)
        families: list[tuple[Cell, Family]] = []
        failures: list[tuple[Cell, str]] = []
        for cell in split(probes, limits):
            try:
                families.append((cell, _family(probes, cell, [f for _, f in families])))
            except UnlikeError as error:
                failures.append((cell, str(error)))
            except InputError as error:
                failures.append((cell, f"the network cannot be traced there: {error}"))
        return Symbolic(tracer, families, failures, seq is not None, probes.count)

    def at(self, batch: int, seq: int | None = None) -> Trace:
        """What `tracer(batch, seq)` returns: instantiated where a family holds, else traced.

        Raises what the tracer raises, such as InputError past the last position.
        """
        point = self._point(batch, seq)
        family = self._family(*point)
        if family is not None:
            return family.at(*point)
        if point not in self._kept:
            while len(self._kept) >= _KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[point] = self.tracer(*point)
        return self._kept[point]

    def reason_to_retrace(self, batch: int, seq: int | None = None) -> str | None:
        """Why `at` has to trace at this point; None where it need not."""
        point = self._point(batch, seq)
        if self._family(*point) is not None:
            return None
        where = f"batch {batch}" + (f", seq {seq}" if self.has_seq else "")
        for cell, why in self.failures:
            if cell.holds(*point):
                return f"{where}: {why}"
        return f"{where} is outside of what was verified"

    def family(self, batch: int, seq: int | None = None) -> Family | None:
        """The family that answers a point, as `at` would; None where `at` traces."""
        return self._family(*self._point(batch, seq))

    def verify(self, batch: int, seq: int | None = None) -> bool:
        """Trace this point and compare. A family that is wrong here answers no more."""
        point = self._point(batch, seq)
        for place, (cell, family) in enumerate(self.families):
            if cell.holds(*point):
                if family.at(*point) == self.tracer(*point):
                    return True
                del self.families[place]
                self.failures.append((cell, "a trace at {} × {} was another".format(*point)))
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
            held = open_ & (batch >= low) & (batch <= high)
            held &= (seq >= cell.seqs[0]) & (seq <= cell.seqs[1])
            held &= (seq % cell.modulus == 0) == cell.aligned
            places = np.flatnonzero(held)
            if places.size:
                parts.append(Sizes(family, places, family.sizes(batch[places], seq[places])))
            open_ &= ~held
        return Evaluated(parts, np.flatnonzero(open_))

    def _point(self, batch: int, seq: int | None) -> Point:
        if self.has_seq and seq is None:
            raise InputError("this network has a sequence: give its length as seq")
        if not self.has_seq and seq is not None:
            raise InputError("this network has no sequence: leave seq out")
        return batch, 1 if seq is None else seq

    def _family(self, batch: int, seq: int) -> Family | None:
        return next((f for cell, f in self.families if cell.holds(batch, seq)), None)


def _family(probes: Probes, cell: Cell, others: Iterable[Family]) -> Family:
    """The family of a cell: one that answers its two ends already, or one of its own.

    Points that were traced on the way to the cell stand in for the last of its own.
    """
    wanted = _wanted(cell)
    points = cell.points(wanted)
    for family in others:
        if len(points) > 1 and all(_answers(family, probes, point) for point in points[:2]):
            return family
    if len(points) < wanted:
        raise UnlikeError("it has too few points to fit expressions to")
    known = [p for p in probes.taken() if cell.holds(*p) and p not in points]
    points = [*points[: wanted - len(known[:1])], *known[:_KNOWN]]
    return Family.fit(points, probes.alike(points))


def _answers(family: Family, probes: Probes, point: Point) -> bool:
    return family.at(*point) == probes.trace(*point)


def _wanted(cell: Cell) -> int:
    """Points for three unknowns with two to spare along the sequence, two along the batch alone,
    and two more where both vary."""
    if cell.seqs[0] == cell.seqs[1]:
        return 1 if cell.batches[0] == cell.batches[1] else 4
    return 5 if cell.batches[0] == cell.batches[1] else 7
