"""The trace of an ask: the one place where what-ifs meet the tracer.

Traces are kept in memory; those of a network that is asked at several batches or sequences come
from a family that was fitted (`simulator.scenario.trace_families`), and plain ones from disk where
`keep_on_disk` was called.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import replace as replaced
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any, cast

from msgspec.structs import replace

from simulator.caches.derived import Derived, share
from simulator.caches.lru import LRUCache
from simulator.errors import InputError, UntracedError
from simulator.formats.trace_file import load as read
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import CATALOGUE
from simulator.networks.loaded import Facts
from simulator.networks.watching import watched
from simulator.records import Trace
from simulator.scenario.gpu_class import as_seen, content, seen
from simulator.scenario.module import AUTOCAST, forced_attention, load, loaded
from simulator.scenario.resolved import Edit, FamilyEdit, ResolvedScenario, TraceRequest
from simulator.scenario.runs_asked import RunsAsked
from simulator.scenario.trace_families import Line, Lines
from simulator.symbols import Symbolic, TraceCache
from simulator.symbols.cache import key as disk_key
from simulator.symbols.family import Family
from simulator.symbols.family_file import load as load_families
from simulator.symbols.probes import Tracer

_TRACES: LRUCache[Trace | InputError] = LRUCache(48)
_NAMED: LRUCache[Trace] = LRUCache(96)
_EDITED: LRUCache[Trace] = LRUCache(48)
_EDITED_FAMILIES = Derived[Family]()
_LINES: LRUCache[Lines] = LRUCache(64)
_FACTS: LRUCache[Facts] = LRUCache(64)
_RUNS = RunsAsked()
_LOCK = RLock()
_DISK: list[TraceCache] = []
_ELSEWHERE: list[bool] = []
_PROGRESS: ContextVar[Callable[[], None]] = ContextVar("progress", default=lambda: None)
"""Told of each trace that is made while `make` runs."""

FOLDER_VARIABLE = "RIDGEPOINT_TRACES"


def keep_on_disk(folder: Path | str | None = None, even_if_off: bool = False) -> None:
    """From now on keep plain traces in this folder, or the user's cache. RIDGEPOINT_TRACES names
    another folder, or switches it off where it is "off" (unless `even_if_off`)."""
    told = os.environ.get(FOLDER_VARIABLE, "")
    off = told == "off"
    told = "" if off and even_if_off else told
    _DISK[:] = [] if off and not even_if_off else [TraceCache(told or folder)]


def trace_elsewhere(elsewhere: bool = True) -> None:
    """From now on make no trace here: what is neither in memory nor on disk is an UntracedError,
    and whoever catches it lets another process call `make`, then asks again."""
    _ELSEWHERE[:] = [True] if elsewhere else []


def make(
    ask: TraceRequest,
    gpu: GPU,
    line: Line | None = None,
    progress: Callable[[], None] = lambda: None,
) -> None:
    """Leave the trace of an ask on disk, or the families along a line; `progress` is called after
    each trace that is made. InputError where there is no trace."""
    ask = _settled(ask)
    token = _PROGRESS.set(progress)
    try:
        if line is None:
            _plain(ask, gpu)
            return
        axis, _ = line  # along one size no other is known: its one batch is 1, its sequence None
        batch = 1 if axis == "seq" else ask.batch or 8
        seq = None if axis == "batch" else ask.seq or 128
        _lines(ask, gpu).fit(line, batch, seq)
    finally:
        _PROGRESS.reset(token)


def stored_families(ask: TraceRequest, gpu: GPU, line: Line) -> Path:
    """Where `make` leaves the families along a line. InputError where nothing is kept on disk."""
    if not _DISK:
        raise InputError("no families on disk: expected a folder of traces; call keep_on_disk")
    return _DISK[0].families(
        _disk_name(replaced(_settled(ask), batch=None, seq=None), gpu, line=line)
    )


def give(ask: TraceRequest, gpu: GPU, line: Line, path: Path) -> None:
    """Take the families of a file for an ask, unless better ones are held. InputError for a file
    that holds none."""
    _lines(_settled(ask), gpu).give(line, lambda tracer: load_families(path, tracer))


def give_up(ask: TraceRequest, gpu: GPU, line: Line) -> None:
    """Hold that there are no families along a line: its points are traced one by one."""
    _lines(_settled(ask), gpu).give(line, lambda tracer: None)


def forget() -> None:
    """Hold no trace in memory, and none on disk from now on."""
    for held in (_TRACES, _NAMED, _EDITED, _LINES, _FACTS, _RUNS):
        held.clear()
    _DISK.clear()


def traced(found: ResolvedScenario) -> Trace:
    """The trace of a setting, its edits made. Kept in memory: only what is new is traced."""
    trace, edits = plain(found.ask, found.gpu), found.edits
    if not edits:
        return trace
    key = trace_key(found)
    edited = _EDITED.get(key, lambda: _edited(trace, edits))
    return edited if found.ask.saved else _for_card(key, edited, found.gpu)


def trace_key(found: ResolvedScenario) -> tuple[Any, ...]:
    """Equal for settings whose traces are equal, but for the name of the GPU."""
    return _key(_served(found.ask), found.gpu), found.edits


def plain(ask: TraceRequest, gpu: GPU) -> Trace:
    """The trace of an ask on a GPU, before any edit. InputError where there is none, the same one
    when it is asked again."""
    served = _served(ask)
    found = _plain(served, gpu)
    _RUNS.learn(served, found)
    if found.asked and served.run != ask.run:  # it did not at another size
        return plain(ask, gpu)
    return found


def _plain(ask: TraceRequest, gpu: GPU) -> Trace:
    key = _key(ask, gpu)
    found = _TRACES.get(key, lambda: _made(ask, gpu))
    if isinstance(found, InputError):
        raise InputError(*found.args)
    return found if ask.saved else _for_card(key, found, gpu)


def family(found: ResolvedScenario) -> tuple[Family, tuple[int, int]] | None:
    """The family that answers a setting without a trace, and what it calls the point; None where
    there is none, or an edit is made to traces alone. InputError as `traced` raises it."""
    if found.ask.saved or found.fusion:
        return None
    if not all(isinstance(edit, FamilyEdit) for edit in found.edits):
        return None
    ask = _served(found.ask)
    known = _lines(ask, found.gpu).family(ask.batch, ask.seq)
    if known is None or not found.edits:
        return known
    plain_family, point = known

    def edited() -> Family:
        each = plain_family
        for edit in found.edits:
            each = cast("FamilyEdit", edit).of_family(each)
        return each

    return _EDITED_FAMILIES.get(plain_family, edited, found.edits), point


def _for_card(key: tuple[Any, ...], found: Trace, gpu: GPU) -> Trace:
    """A trace under the name of a card that looks like its own to it."""
    if found.gpu == gpu.id:
        return found
    return _NAMED.get((key, gpu.id), lambda: _named(found, gpu.id))


def facts(ask: TraceRequest, gpu: GPU) -> Facts:
    """A name to show, and batch and sequence as the network took them."""
    trace = plain(ask, gpu)
    if ask.saved:
        return _read_facts(ask, trace)
    ask = _served(ask)

    def loaded() -> Facts:
        name, batch, seq = load(ask).facts
        return Facts(name, batch or trace.samples, seq)

    return _FACTS.get(_key(ask, gpu), loaded)


def reason_to_trace(ask: TraceRequest, gpu: GPU) -> str | None:
    """Why an ask is traced; None where a family of its network answers it."""
    if ask.saved:
        return "it is a saved trace"
    ask = _served(ask)
    return _lines(ask, gpu).reason_to_trace(ask.batch, ask.seq)


def _served(ask: TraceRequest) -> TraceRequest:
    """Settled, and run as the trace was that serves it."""
    return _RUNS.served(_settled(ask))


def _settled(ask: TraceRequest) -> TraceRequest:
    """With the batch and sequence that a network of the catalogue takes of itself."""
    entry = CATALOGUE.get(ask.network)
    if ask.saved or entry is None or (ask.batch and (ask.seq or entry.seq is None)):
        return ask
    return replaced(ask, batch=ask.batch or entry.batch, seq=ask.seq or entry.seq)


def _made(ask: TraceRequest, gpu: GPU) -> Trace | InputError:
    if ask.saved:
        return _read(ask.network)
    try:
        return _lines(ask, gpu).at(ask.batch, ask.seq)
    except InputError as error:
        if ask.network not in CATALOGUE:  # of a user's network the cause may be gone next time
            raise
        return InputError(*error.args)


def _lines(ask: TraceRequest, gpu: GPU) -> Lines:
    anywhere = replaced(ask, batch=None, seq=None)

    def tracer(batch: int | None, seq: int | None, from_disk: bool) -> Trace:
        return _from_disk(replaced(ask, batch=batch, seq=seq), gpu, from_disk)

    return _LINES.get(_key(anywhere, gpu), lambda: Lines(tracer, _Stored(anywhere, gpu)))


class _Stored:
    """The families of an ask on disk."""

    def __init__(self, anywhere: TraceRequest, gpu: GPU) -> None:
        self.anywhere, self.gpu = anywhere, gpu

    def load(self, line: Line, tracer: Tracer) -> Symbolic | None:
        if not _DISK or not (path := _DISK[0].families(self._name(line))).is_file():
            return None

        try:
            return load_families(path, tracer)
        except InputError:
            return None

    def keep(self, line: Line, found: Symbolic) -> None:
        if _DISK:
            _DISK[0].keep_families(self._name(line), found)

    def wanted(self, line: Line) -> None:
        if _ELSEWHERE:
            raise UntracedError(self.anywhere, self.gpu, line)

    def _name(self, line: Line) -> str:
        return _disk_name(self.anywhere, self.gpu, line=line)


def _from_disk(ask: TraceRequest, gpu: GPU, allowed: bool) -> Trace:
    if not (_DISK and allowed):
        return _run(ask, gpu)
    return _DISK[0].get(_disk_name(ask, gpu), lambda: _run(ask, gpu))


def _disk_name(ask: TraceRequest, gpu: GPU, **more: Any) -> str:
    asked = {
        name: getattr(ask, name) for name in TraceRequest.__dataclass_fields__ if name != "network"
    }
    return disk_key(ask.network, as_seen(ask.network, gpu), by=_own_source(), **asked, **more)


@cache
def _own_source() -> str:
    """A digest of this file, which has a part in what is traced."""
    return sha256(Path(__file__).read_bytes()).hexdigest()


def _named(found: Trace, gpu: str) -> Trace:
    """The same trace for another card that looks like its own; what was made of it is shared."""
    other = replace(found, gpu=gpu)
    cast("dict[str, Any]", other.__dict__)["signatures"] = found.signatures
    share(found, other)
    return other


def _edited(trace: Trace, edits: tuple[Edit, ...]) -> Trace:
    for edit in edits:
        trace = edit(trace)
    return trace


def _key(ask: TraceRequest, gpu: GPU) -> tuple[Any, ...]:
    """What a trace depends on."""
    if ask.saved:
        stat = Path(ask.network).stat() if Path(ask.network).is_file() else None
        return ask, stat and (stat.st_mtime_ns, stat.st_size)
    return ask, seen(ask.network, gpu), content(ask.network)


def _run(ask: TraceRequest, gpu: GPU) -> Trace:
    if _ELSEWHERE:
        raise UntracedError(ask, gpu)
    from simulator.tracing import trace
    from simulator.tracing.whose_code import place_of

    with (
        _LOCK,
        watched(f"tracing {ask.network}", place_of),
        forced_attention(ask.sdpa) if ask.sdpa else nullcontext(),
    ):
        found = loaded(ask)
        made = trace(
            found.module,
            found.args,
            found.kwargs,
            gpu=gpu,
            autocast=AUTOCAST.get(ask.dtype),
            phase="training" if ask.training else "inference",
            sizes=dict(ask.data_sizes),
            optimizer=ask.optimizer,
            run=ask.run,
        )
    name, batch, seq = found.facts
    _FACTS.get(_key(ask, gpu), lambda: Facts(name, batch or made.samples, seq))
    _PROGRESS.get()()
    return made


def _read(network: str) -> Trace:
    return read(network)


def _read_facts(ask: TraceRequest, trace: Trace) -> Facts:
    name = Path(ask.network).name
    for suffix in (".json", ".msgpack", ".rpt"):
        name = name.removesuffix(suffix)
    each = divmod(trace.tokens, trace.samples) if trace.tokens and trace.samples else (0, 1)
    return Facts(name, trace.samples, each[0] if each[1] == 0 else None)
