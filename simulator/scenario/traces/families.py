"""The traces of one network along batch and sequence: traced one by one, or from a fitted family.

A family costs several traces. It is fitted after a number of traces along its axis, so that it at
most doubles the cost; within `expecting` it is fitted at once. A family gives the same traces as
tracing does: it is compared with earlier traces, and points outside its validity are traced.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Literal, Protocol

from simulator.errors import InputError
from simulator.records import Trace
from simulator.symbols import Symbolic
from simulator.symbols.family import Family
from simulator.symbols.probes import Tracer

Axis = Literal["batch", "seq"]
Point = tuple[int | None, int | None]
"""Batch and sequence of a request; None leaves it to the network."""
Line = tuple[Literal["batch", "seq", "both"], int | None]
"""The axis that varies, and the value of the other one."""

_BATCH, _SEQ = frozenset[Axis](["batch"]), frozenset[Axis](["seq"])
COSTS = {_BATCH: 5, _SEQ: 12, _BATCH | _SEQ: 18}
"""The approximate number of traces needed to fit a family along these axes."""

_TRACES_BEFORE_FIT: dict[Axis, int] = {"batch": 3, "seq": 8}  # traces along an axis before a fit
_ROWS = 2  # families along one axis before one along both is fitted
_ONLY = 1  # the fixed batch of a family along the sequence
_LARGEST = 1 << 20  # the largest batch of a family along the batch, unless the network has a limit
_CHECKS = 6  # traces that every family is compared with
_EXPECTED: ContextVar[frozenset[Axis]] = ContextVar("expected", default=frozenset())


@contextmanager
def expecting(batches: int, seqs: int = 1) -> Generator[None]:
    """Announce the number of distinct batches and sequences of each network: within this context,
    families are fitted at once if that takes fewer traces. A context inside another one adds to
    it."""
    no_axes = frozenset[Axis]()
    axes = (_BATCH if batches > 1 else no_axes) | (_SEQ if seqs > 1 else no_axes)
    pays = batches * seqs > COSTS.get(axes, batches * seqs)
    if not pays and batches > COSTS[_BATCH]:
        axes, pays = _BATCH, True
    token = _EXPECTED.set(_EXPECTED.get() | (axes if pays else no_axes))
    try:
        yield
    finally:
        _EXPECTED.reset(token)


@contextmanager
def without_fits() -> Generator[None]:
    """Within this context, nothing announced outside of it leads to a fit."""
    token = _EXPECTED.set(frozenset())
    try:
        yield
    finally:
        _EXPECTED.reset(token)


class Store(Protocol):
    """Storage of families that outlives a process."""

    def load(self, line: Line, tracer: Tracer) -> Symbolic | None:
        """The stored families along a line, or None."""
        ...

    def save(self, line: Line, families: Symbolic) -> None:
        """Store fitted families."""
        ...

    def before_fit(self, line: Line) -> None:
        """Called before a fit; may raise if this process makes no traces."""
        ...


class TraceFamilies:
    """The traces of one network at many points.

    `tracer` takes a batch, a sequence and whether a trace from disk is accepted: a fit traces a
    point again if only host counts differ, since a process does some work only once.
    """

    def __init__(
        self,
        tracer: Callable[[int | None, int | None, bool], Trace],
        store: Store | None = None,
    ) -> None:
        self._tracer = tracer
        self._store = store
        self._traced_points: set[Point] = set()
        self._checks: dict[Point, Trace] = {}
        self._families: dict[Line, Symbolic | None] = {}
        self._lock = RLock()

    def at(self, batch: int | None, seq: int | None) -> Trace:
        """The trace at a point. Raises InputError if the network cannot be traced there."""
        with self._lock:
            trace = self._from_families(batch, seq)
            while trace is None and self._loads_or_fits(batch, seq):
                trace = self._from_families(batch, seq)
            return trace or self._traced(batch, seq)

    def family(self, batch: int | None, seq: int | None) -> tuple[Family, tuple[int, int]] | None:
        """The family that holds a point, and the point in the family; None if `at` traces it."""
        with self._lock:
            family = self._family(batch, seq)
            while family is None and self._loads_or_fits(batch, seq):
                family = self._family(batch, seq)
            return family

    def _family(self, batch: int | None, seq: int | None) -> tuple[Family, tuple[int, int]] | None:
        for line, at in _lines(batch, seq):
            families = self._families.get(line)
            if families and (family := families.family(*at)):
                return family, (at[0], at[1] or 1)
        return None

    def reason_to_trace(self, batch: int | None, seq: int | None) -> str | None:
        """The reason why a point is traced; None if a family holds it."""
        with self._lock:
            reasons = [f.reason_to_retrace(*at) for f, at in self._candidates(batch, seq)]
            tried = any(line in self._families for line, _ in _lines(batch, seq))
        if not reasons and tried:
            return "the family that was fitted here differs from a trace"
        if not reasons:
            return "too few points of this network were traced to fit a family"
        return None if None in reasons else reasons[0]

    def _from_families(self, batch: int | None, seq: int | None) -> Trace | None:
        for family, at in self._candidates(batch, seq):
            if family.reason_to_retrace(*at) is None:
                return family.at(*at)
        return None

    def _candidates(
        self, batch: int | None, seq: int | None
    ) -> list[tuple[Symbolic, tuple[int, int | None]]]:
        """Families that may hold a point, and the point in each."""
        candidates: list[tuple[Symbolic, tuple[int, int | None]]] = []
        for line, at in _lines(batch, seq):
            if families := self._families.get(line):
                candidates.append((families, at))
        return candidates

    def _loads_or_fits(self, batch: int | None, seq: int | None) -> bool:
        """Load families that may hold this point, or fit them if that takes fewer traces. Return
        True if any are new."""
        for line, (b, s) in _lines(batch, seq):
            if line in self._families:
                continue
            stored = self._stored(line)
            if stored is None and self._pays(line):
                if self._store:
                    self._store.before_fit(line)
                stored = self._families[line] = self._fit(line, b, s)
                if stored and self._store:
                    self._store.save(line, stored)
            if stored:
                self._families[line] = stored
                return True
        return False

    def give(self, line: Line, load: Callable[[Tracer], Symbolic | None]) -> None:
        """Use the families that `load` returns (None: trace points one by one), unless the line
        already has families."""
        with self._lock:
            if line not in self._families:
                self._families[line] = load(self._tracer_of(line))

    def fit(self, line: Line, batch: int, seq: int | None) -> None:
        """Fit the families of a line now, unless the line has families or they are stored."""
        with self._lock:
            if line in self._families or self._stored(line):
                return
            fitted = self._families[line] = self._fit(line, batch, seq)
            if fitted and self._store:
                self._store.save(line, fitted)

    def _stored(self, line: Line) -> Symbolic | None:
        families = self._store.load(line, self._tracer_of(line)) if self._store else None
        return families if families and self._agrees(line, families) else None

    def _pays(self, line: Line) -> bool:
        axis, other = line
        expected = _EXPECTED.get()
        if axis == "both":
            return len(expected) == 2 or len(self._families) >= _ROWS
        place = 1 if axis == "batch" else 0
        return expected == frozenset([axis]) or (
            sum(point[place] == other for point in self._traced_points) >= _TRACES_BEFORE_FIT[axis]
        )

    def _fit(self, line: Line, batch: int, seq: int | None) -> Symbolic | None:
        """Fit families; None if the network cannot be traced, or differs from earlier traces."""
        axis, _ = line
        tracer = self._tracer_of(line)
        largest = {"seq": _ONLY, "batch": _LARGEST}.get(axis)
        try:
            family = Symbolic.fit(tracer, batch=batch, seq=seq, largest_batch=largest)
        except InputError:
            return None
        return family if self._agrees(line, family) else None

    def _tracer_of(self, line: Line) -> Tracer:
        """The tracer along a line. A second request for a point traces it again, without the
        disk."""
        axis, other = line
        traces: dict[Point, Trace] = {}
        requested: set[Point] = set()

        def tracer(b: int, s: int) -> Trace:
            point = (b, other) if axis == "batch" else (other, s) if axis == "seq" else (b, s)
            if point not in traces or (b, s) in requested:
                traces[point] = self._tracer(*point, (b, s) not in requested)
            requested.add((b, s))
            return traces[point]

        return tracer

    def _agrees(self, line: Line, family: Symbolic) -> bool:
        """Whether a family gives the traces that were made before."""
        for point, trace in self._checks.items():
            for own_line, at in _lines(*point):
                holds = own_line == line and family.reason_to_retrace(*at) is None
                if holds and not _equal_ops(family.at(*at), trace):
                    return False
        return True

    def _traced(self, batch: int | None, seq: int | None) -> Trace:
        trace = self._tracer(batch, seq, True)
        self._traced_points.add((batch, seq))
        if len(self._checks) < _CHECKS:
            self._checks[batch, seq] = trace
        return trace


def _lines(batch: int | None, seq: int | None) -> Iterator[tuple[Line, tuple[int, int | None]]]:
    """The lines through a point, and the point in a family along each."""
    if batch is not None and seq is not None:
        yield ("both", None), (batch, seq)
    if batch is not None:
        yield ("batch", seq), (batch, None)
    if seq is not None:
        yield ("seq", batch), (_ONLY, seq)


def _equal_ops(ours: Trace, theirs: Trace) -> bool:
    """Whether two traces are equal except for host counts, which include work that a process does
    once."""
    return ours == theirs or (
        ours.storages == theirs.storages
        and len(ours.ops) == len(theirs.ops)
        and all(
            a.signature == b.signature and a.storages == b.storages and a.module == b.module
            for a, b in zip(ours.ops, theirs.ops, strict=True)
        )
    )
