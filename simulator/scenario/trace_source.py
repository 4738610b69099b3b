"""The trace of a resolved scenario: from memory, from disk, from a fitted family, or traced now.

Traces are cached in memory. Traces of a network at several batches or sequences come from a family
(`simulator.scenario.traces.families`): a packaged one for networks of the catalogue, or one that
was fitted here. Traces and families are stored on disk after `keep_on_disk`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial, reduce
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from simulator.caches.derived import Derived, share
from simulator.caches.lru import LRUCache
from simulator.errors import InputError, UntracedError
from simulator.formats.present import is_file
from simulator.formats.trace_file import load as read
from simulator.formats.trace_folder import FOLDER_VARIABLE, TRACE_FOLDER
from simulator.hardware.gpu import GPU
from simulator.isolated import ISOLATION
from simulator.isolated.steadiness import EVEN_IF_UNSTEADY, Steadiness
from simulator.networks.catalogue import CATALOGUE
from simulator.networks.loading.loaded import Facts
from simulator.records import Trace
from simulator.scenario import packaged
from simulator.scenario.gpu_class import modified_ns, traced_properties
from simulator.scenario.module import load
from simulator.scenario.resolved import FamilyEdit, ResolvedScenario, TraceRequest, fits
from simulator.scenario.trace_module import trace_module
from simulator.scenario.traces import disk as trace_disk
from simulator.scenario.traces.families import Line, TraceFamilies
from simulator.scenario.traces.mode_queries import ModeQueries
from simulator.scenario.traces.saved_facts import facts_of_file
from simulator.symbols import Symbolic
from simulator.symbols.family import Family
from simulator.symbols.probes import Tracer

__all__ = [
    "FOLDER_VARIABLE", "facts", "family", "forget", "give_up", "keep_on_disk", "make",
    "reason_to_trace", "stored_families", "trace_elsewhere", "trace_key", "trace_resolved",
    "trace_unedited",
]  # fmt: skip

_TRACES: LRUCache[Trace | InputError] = LRUCache(48)
_NAMED: LRUCache[Trace] = LRUCache(96)
_EDITED: LRUCache[Trace] = LRUCache(48)
_EDITED_FAMILIES = Derived[Family]()
_FAMILIES: LRUCache[TraceFamilies] = LRUCache(64)
_FACTS: LRUCache[Facts] = LRUCache(64)
_RUNS = ModeQueries()
_STEADY = Steadiness()
_ANYWHERE = attrgetter(*(f for f in TraceRequest.__struct_fields__ if f not in ("batch", "seq")))
"""A request without its batch and sequence."""
_ELSEWHERE: list[bool] = []
_PROGRESS: ContextVar[Callable[[], None]] = ContextVar("progress", default=lambda: None)
"""Called after each trace while `make` runs."""

keep_on_disk = TRACE_FOLDER.keep


def trace_elsewhere(elsewhere: bool = True) -> None:
    """Trace nothing in this process from now on: a request whose trace is neither in memory nor on
    disk raises UntracedError. Another process calls `make`, and the caller tries again."""
    _ELSEWHERE[:] = [True] if elsewhere else []


def make(
    request: TraceRequest,
    gpu: GPU,
    line: Line | None = None,
    progress: Callable[[], None] = lambda: None,
) -> None:
    """Store the trace of a request on disk, or the families along a line. `progress` is called
    after each trace. Raises InputError if the network cannot be traced."""
    request = _settled(request)
    token, all_stored = _PROGRESS.set(progress), EVEN_IF_UNSTEADY.set(True)
    try:
        if line is None:
            _unedited(request, gpu)
            return
        axis, _ = line  # families along the sequence have batch 1
        batch = 1 if axis == "seq" else request.batch or 8
        seq = None if axis == "batch" else request.seq or 128
        _families(request, gpu).fit(line, batch, seq)
    finally:
        EVEN_IF_UNSTEADY.reset(all_stored)
        _PROGRESS.reset(token)


def stored_families(request: TraceRequest, gpu: GPU, line: Line) -> Path:
    """The file in which `make` stores the families along a line. Raises InputError if no folder
    of traces is open."""
    return trace_disk.families_path(replace(_settled(request), batch=None, seq=None), gpu, line)


def give_up(request: TraceRequest, gpu: GPU, line: Line) -> None:
    """Fit no families along a line: trace its points one by one."""
    _families(_settled(request), gpu).give(line, lambda tracer: None)


def forget() -> None:
    """Drop all traces in memory, and neither read nor write traces on disk from now on."""
    for cache in (_TRACES, _NAMED, _EDITED, _FAMILIES, _FACTS, _RUNS, _STEADY):
        cache.clear()
    TRACE_FOLDER.close()


def trace_resolved(resolved: ResolvedScenario) -> Trace:
    """The trace of a resolved scenario with its edits. The network is traced only if no stored
    trace or family gives the result. Raises InputError if the network cannot be traced or an edit
    cannot be made."""
    trace, edits = trace_unedited(resolved.request, resolved.gpu), resolved.edits
    if not edits:
        return trace
    key = trace_key(resolved)
    edited = _EDITED.get(key, lambda: reduce(lambda traced, edit: edit(traced), edits, trace))
    return edited if resolved.request.saved else _for_gpu(key, edited, resolved.gpu)


def trace_key(resolved: ResolvedScenario) -> tuple[Any, ...]:
    """A key, equal for resolved scenarios whose traces differ at most in the GPU's name."""
    return _key(_served(resolved.request), resolved.gpu), resolved.edits


def trace_unedited(request: TraceRequest, gpu: GPU) -> Trace:
    """The trace of a request on a GPU, before any edit. Raises InputError if the network cannot be
    traced, with the same text each time."""
    served = _served(request)
    trace = _unedited(served, gpu)
    _RUNS.learn(served, trace)
    if trace.asked and served.run != request.run:  # the network queries its mode at this size only
        return trace_unedited(request, gpu)
    return trace


def _unedited(request: TraceRequest, gpu: GPU) -> Trace:
    key = _key(request, gpu)
    trace = _TRACES.get(key, lambda: _trace_or_error(request, gpu))
    if isinstance(trace, InputError):
        raise InputError(*trace.args)
    return trace if request.saved else _for_gpu(key, trace, gpu)


def family(resolved: ResolvedScenario) -> tuple[Family, tuple[int, int]] | None:
    """The family of a resolved scenario and its point (batch, sequence) in it, or None without a
    family and for edits of single traces. Raises InputError as `trace_resolved` does."""
    if resolved.request.saved or resolved.fusion:
        return None
    if not all(fits(type(edit), FamilyEdit) for edit in resolved.edits):
        return None
    request = _served(resolved.request)
    unedited = _families(request, resolved.gpu).family(request.batch, request.seq)
    if unedited is None or not resolved.edits:
        return unedited
    unedited_family, point = unedited

    def edited() -> Family:
        family = unedited_family
        for edit in resolved.edits:
            family = cast("FamilyEdit", edit).of_family(family)
        return family

    return _EDITED_FAMILIES.get(unedited_family, edited, resolved.edits), point


def _for_gpu(key: tuple[Any, ...], trace: Trace, gpu: GPU) -> Trace:
    """A copy of a trace that names another GPU with the same trace."""
    if trace.gpu == gpu.id:
        return trace
    return _NAMED.get((key, gpu.id), lambda: _named(trace, gpu.id))


def facts(request: TraceRequest, gpu: GPU) -> Facts:
    """The display name of a network, and the batch and sequence of its inputs."""
    trace = trace_unedited(request, gpu)
    if request.saved:
        return facts_of_file(request.network, trace)
    request = _served(request)
    if request.network in CATALOGUE:
        return Facts(request.network, request.batch, request.seq)

    def loaded() -> Facts:
        if stored := trace_disk.facts(request, gpu):
            return stored
        child = ISOLATION.process_for(request.network)
        work = partial(module_facts, request)
        name, batch, seq = child.facts(request.network, work) if child else work()
        return Facts(name, batch or trace.samples, seq)

    return _FACTS.get(_key(request, gpu), loaded)


def module_facts(request: TraceRequest) -> Facts:
    """The facts of a network. It is loaded, but not traced."""
    return load(request).facts


def reason_to_trace(request: TraceRequest, gpu: GPU) -> str | None:
    """The reason why a request is traced; None if a family of its network holds it."""
    if request.saved:
        return "it is a saved trace"
    request = _served(request)
    return _families(request, gpu).reason_to_trace(request.batch, request.seq)


def _served(request: TraceRequest) -> TraceRequest:
    """The request with its defaults, in the run under which its trace is stored."""
    return _RUNS.served(_settled(request))


def _settled(request: TraceRequest) -> TraceRequest:
    """The request with the default batch and sequence of a network of the catalogue."""
    entry = CATALOGUE.get(request.network)
    if request.saved or entry is None or (request.batch and (request.seq or entry.seq is None)):
        return request
    return replace(request, batch=request.batch or entry.batch, seq=request.seq or entry.seq)


def _trace_or_error(request: TraceRequest, gpu: GPU) -> Trace | InputError:
    if request.saved:
        return read(request.network)
    try:
        return _families(request, gpu).at(request.batch, request.seq)
    except InputError as error:
        if request.network not in CATALOGUE:  # the user may correct their network
            raise
        return InputError(*error.args)


def _families(request: TraceRequest, gpu: GPU) -> TraceFamilies:
    key = _ANYWHERE(request), traced_properties(request.network, gpu), modified_ns(request.network)

    def tracer(batch: int | None, seq: int | None, from_disk: bool) -> Trace:
        at = replace(request, batch=batch, seq=seq)
        if not from_disk:
            return _run(at, gpu)
        return trace_disk.trace(at, gpu, lambda: _run(at, gpu))

    def families() -> TraceFamilies:
        return TraceFamilies(tracer, _Stored(replace(request, batch=None, seq=None), gpu))

    return _FAMILIES.get(key, families)


class _Stored:
    """The families of a request that are packaged or on disk."""

    def __init__(self, request: TraceRequest, gpu: GPU) -> None:
        self.request, self.gpu = request, gpu

    def load(self, line: Line, tracer: Tracer) -> Symbolic | None:
        key = self.request, self.gpu, line, tracer
        return packaged.families(*key) or trace_disk.stored_families(*key)

    def save(self, line: Line, families: Symbolic) -> None:
        trace_disk.save_families(self.request, self.gpu, line, families)

    def before_fit(self, line: Line) -> None:
        if _ELSEWHERE:
            raise UntracedError(self.request, self.gpu, line)


def _named(trace: Trace, gpu: str) -> Trace:
    """The same trace under the name of another GPU; the two share their derived values."""
    other = replace(trace, gpu=gpu)
    cast("dict[str, Any]", other.__dict__)["signatures"] = trace.signatures
    share(trace, other)
    return other


def _key(request: TraceRequest, gpu: GPU) -> tuple[Any, ...]:
    """A key of all inputs of a trace."""
    if request.saved:
        stat = Path(request.network).stat() if is_file(request.network) else None
        return request, stat and (stat.st_mtime_ns, stat.st_size)
    return request, traced_properties(request.network, gpu), modified_ns(request.network)


def _run(request: TraceRequest, gpu: GPU) -> Trace:
    if _ELSEWHERE:
        raise UntracedError(request, gpu)
    child = ISOLATION.process_for(request.network)
    work = partial(trace_module, request, gpu)
    run = partial(child.trace, request.network, work) if child else work
    trace, network_facts = _STEADY.traced(request.network, modified_ns(request.network), run, child)
    _FACTS.get(_key(request, gpu), lambda: network_facts)
    if request.network not in CATALOGUE:
        trace_disk.save_facts(request, gpu, network_facts)
    _PROGRESS.get()()
    return trace
