"""A network's traces along batch and sequence: made one by one, or by a family that was fitted.

A family costs several traces, so that it is fitted once as many were made along its axis (whoever
asks no further has paid at most double), or at once where many points are announced. Its answers
are those of a trace: it is held against all that were made before, and where it says so the point
is traced.
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
"""Batch and sequence as asked; None leaves it to the network."""
Line = tuple[Literal["batch", "seq", "both"], int | None]
"""What varies, and what the other one is."""

_BATCH, _SEQ = frozenset[Axis](["batch"]), frozenset[Axis](["seq"])
COSTS = {_BATCH: 5, _SEQ: 12, _BATCH | _SEQ: 18}
"""About how many traces a family along these axes takes."""

_PATIENCE: dict[Axis, int] = {"batch": 3, "seq": 8}  # traces along an axis before it is fitted
_ROWS = 2  # families along one axis before the plane is fitted
_ONLY = 1  # what a family along the sequence calls its one batch
_LARGEST = 1 << 20  # batch that a family along it is fitted to, where a network admits it
_CHECKS = 6  # traces that every family is held against
_EXPECTED: ContextVar[frozenset[Axis]] = ContextVar("expected", default=frozenset())


@contextmanager
def expecting(batches: int, seqs: int = 1) -> Generator[None]:
    """While so many different batches and sequences are asked of each network, families are fitted
    at once if that takes fewer traces."""
    found = (_BATCH if batches > 1 else frozenset()) | (_SEQ if seqs > 1 else frozenset())
    pays = batches * seqs > COSTS.get(found, batches * seqs)
    if not pays and batches > COSTS[_BATCH]:
        found, pays = _BATCH, True
    token = _EXPECTED.set(found if pays else frozenset())
    try:
        yield
    finally:
        _EXPECTED.reset(token)


class Store(Protocol):
    """Where families are kept from process to process."""

    def load(self, line: Line, tracer: Tracer) -> Symbolic | None:
        """What is kept of a line; None where nothing is."""
        ...

    def keep(self, line: Line, found: Symbolic) -> None:
        """Keep what was fitted."""
        ...

    def wanted(self, line: Line) -> None:
        """Told before a fit that traces; may raise where this process makes no traces."""
        ...


class Lines:
    """The traces of one network, asked at many points.

    `tracer` takes a batch, a sequence and whether a trace from disk will do: where host counts
    alone differ, a fit asks again, since a process does some things once.
    """

    def __init__(
        self,
        tracer: Callable[[int | None, int | None, bool], Trace],
        store: Store | None = None,
    ) -> None:
        self._tracer = tracer
        self._store = store
        self._asked: set[Point] = set()
        self._checks: dict[Point, Trace] = {}
        self._families: dict[Line, Symbolic | None] = {}
        self._lock = RLock()

    def at(self, batch: int | None, seq: int | None) -> Trace:
        """The trace at a point. InputError where the network has none there."""
        with self._lock:
            found = self._from_families(batch, seq)
            while found is None and self._fitted(batch, seq):
                found = self._from_families(batch, seq)
            return found or self._traced(batch, seq)

    def family(self, batch: int | None, seq: int | None) -> tuple[Family, tuple[int, int]] | None:
        """The family that answers a point, and what it calls the point; None where `at` traces."""
        with self._lock:
            found = self._family(batch, seq)
            while found is None and self._fitted(batch, seq):
                found = self._family(batch, seq)
            return found

    def _family(self, batch: int | None, seq: int | None) -> tuple[Family, tuple[int, int]] | None:
        for each, at in self._answering(batch, seq):
            if family := each.family(*at):
                return family, (at[0], at[1] or 1)
        return None

    def reason_to_trace(self, batch: int | None, seq: int | None) -> str | None:
        """Why a point is traced; None where a family answers it."""
        with self._lock:
            reasons = [f.reason_to_retrace(*at) for f, at in self._answering(batch, seq)]
            tried = any(line in self._families for line, _ in _lines(batch, seq))
        if not reasons and tried:
            return "the family that was fitted here was not what a trace of its own is"
        if not reasons:
            return "too few points were asked of this network for a family to be fitted"
        return None if None in reasons else reasons[0]

    def _from_families(self, batch: int | None, seq: int | None) -> Trace | None:
        for family, at in self._answering(batch, seq):
            if family.reason_to_retrace(*at) is None:
                return family.at(*at)
        return None

    def _answering(
        self, batch: int | None, seq: int | None
    ) -> list[tuple[Symbolic, tuple[int, int | None]]]:
        """Families that may know a point, and what they call it."""
        found: list[tuple[Symbolic, tuple[int, int | None]]] = []
        for line, at in _lines(batch, seq):
            if family := self._families.get(line):
                found.append((family, at))
        return found

    def _fitted(self, batch: int | None, seq: int | None) -> bool:
        """Was a family fitted now that may know this point, since it pays to?"""
        for line, (b, s) in _lines(batch, seq):
            if line in self._families:
                continue
            stored = self._stored(line)
            if stored is None and self._pays(line):
                if self._store:
                    self._store.wanted(line)
                stored = self._families[line] = self._fit(line, b, s)
                if stored and self._store:
                    self._store.keep(line, stored)
            if stored:
                self._families[line] = stored
                return True
        return False

    def give(self, line: Line, load: Callable[[Tracer], Symbolic | None]) -> None:
        """Take families that are known from elsewhere (None: there are none), unless some are
        held already."""
        with self._lock:
            if line not in self._families:
                self._families[line] = load(self._tracer_of(line))

    def fit(self, line: Line, batch: int, seq: int | None) -> None:
        """Fit the families of a line now, unless they are held or stored."""
        with self._lock:
            if line in self._families or self._stored(line):
                return
            found = self._families[line] = self._fit(line, batch, seq)
            if found and self._store:
                self._store.keep(line, found)

    def _stored(self, line: Line) -> Symbolic | None:
        found = self._store.load(line, self._tracer_of(line)) if self._store else None
        return found if found and self._agrees(line, found) else None

    def _pays(self, line: Line) -> bool:
        axis, other = line
        expected = _EXPECTED.get()
        if axis == "both":
            return len(expected) == 2 or len(self._families) >= _ROWS
        place = 1 if axis == "batch" else 0
        return expected == frozenset([axis]) or (
            sum(point[place] == other for point in self._asked) >= _PATIENCE[axis]
        )

    def _fit(self, line: Line, batch: int, seq: int | None) -> Symbolic | None:
        """None where the network cannot be traced, or was another where it was traced before."""
        axis, _ = line
        tracer = self._tracer_of(line)
        largest = {"seq": _ONLY, "batch": _LARGEST}.get(axis)
        try:
            family = Symbolic.fit(tracer, batch=batch, seq=seq, largest_batch=largest)
        except InputError:
            return None
        return family if self._agrees(line, family) else None

    def _tracer_of(self, line: Line) -> Tracer:
        """Traces along a line; a point that is asked for again is traced anew."""
        axis, other = line
        taken: dict[Point, Trace] = {}
        called: set[Point] = set()

        def tracer(b: int, s: int) -> Trace:
            point = (b, other) if axis == "batch" else (other, s) if axis == "seq" else (b, s)
            if point not in taken or (b, s) in called:
                taken[point] = self._tracer(*point, (b, s) not in called)
            called.add((b, s))
            return taken[point]

        return tracer

    def _agrees(self, line: Line, family: Symbolic) -> bool:
        """Does it say what the traces that were made say?"""
        for point, trace in self._checks.items():
            for each, at in _lines(*point):
                known = each == line and family.reason_to_retrace(*at) is None
                if known and not _alike(family.at(*at), trace):
                    return False
        return True

    def _traced(self, batch: int | None, seq: int | None) -> Trace:
        found = self._tracer(batch, seq, True)
        self._asked.add((batch, seq))
        if len(self._checks) < _CHECKS:
            self._checks[batch, seq] = found
        return found


def _lines(batch: int | None, seq: int | None) -> Iterator[tuple[Line, tuple[int, int | None]]]:
    """What a point lies on, and what a family along it calls the point."""
    if batch is not None and seq is not None:
        yield ("both", None), (batch, seq)
    if batch is not None:
        yield ("batch", seq), (batch, None)
    if seq is not None:
        yield ("seq", batch), (_ONLY, seq)


def _alike(one: Trace, other: Trace) -> bool:
    """Equal, but for the host's counts: a process does some things once."""
    return one == other or (
        one.storages == other.storages
        and len(one.ops) == len(other.ops)
        and all(
            a.signature == b.signature and a.storages == b.storages and a.module == b.module
            for a, b in zip(one.ops, other.ops, strict=True)
        )
    )
