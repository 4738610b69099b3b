"""Traces, facts and families of traces on disk, each under a key of all its inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from simulator.errors import InputError
from simulator.formats.present import is_file
from simulator.formats.trace_folder import TRACE_FOLDER
from simulator.hardware.gpu import GPU
from simulator.isolated.steadiness import EVEN_IF_UNSTEADY
from simulator.networks.loading.loaded import Facts
from simulator.records import Trace
from simulator.scenario import module, trace_module
from simulator.scenario.gpu_class import gpu_as_traced
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.traces.families import Line
from simulator.symbols import Symbolic, TraceCache
from simulator.symbols.cache import key as disk_key
from simulator.symbols.family_file import load as load_families
from simulator.symbols.probes import Tracer


def trace(request: TraceRequest, gpu: GPU, make: Callable[[], Trace]) -> Trace:
    """The stored trace of a request; else the result of `make`, which is then stored."""
    store = _store()
    if store is None:
        return make()
    return store.get(_name(request, gpu), make, lambda: _is_stored(request))


def facts(request: TraceRequest, gpu: GPU) -> Facts | None:
    """The stored facts of a request's network, or None."""
    store = _store()
    stored = store.record(_name(request, gpu), Facts) if store else None
    return stored


def save_facts(request: TraceRequest, gpu: GPU, network: Facts) -> None:
    """Store the facts of a request's network, if a folder is open."""
    if (store := _store()) and _is_stored(request):
        store.put_record(_name(request, gpu), network)


def families_path(request: TraceRequest, gpu: GPU, line: Line) -> Path:
    """The file of the families along a line. Raises InputError if no folder is open."""
    return TraceCache(TRACE_FOLDER.opened()).families(_name(request, gpu, line=line))


def stored_families(request: TraceRequest, gpu: GPU, line: Line, tracer: Tracer) -> Symbolic | None:
    """The stored families along a line; None if the file is missing or cannot be read."""
    if TRACE_FOLDER.path is None:
        return None
    path = families_path(request, gpu, line)
    if not is_file(path):
        return None
    try:
        stored = load_families(path, tracer)
        _ = stored.families  # validates all of them
    except InputError:
        TRACE_FOLDER.report(path)
        return None
    return stored


def save_families(request: TraceRequest, gpu: GPU, line: Line, families: Symbolic) -> None:
    """Store families along a line, if a folder is open."""
    if (store := _store()) and _is_stored(request):
        store.put_families(_name(request, gpu, line=line), families)


def _is_stored(request: TraceRequest) -> bool:
    return EVEN_IF_UNSTEADY.get() or not TRACE_FOLDER.leaves_out(request.network)


def _store() -> TraceCache | None:
    folder = TRACE_FOLDER.path
    return None if folder is None else TraceCache(folder, damaged=TRACE_FOLDER.report)


def _name(request: TraceRequest, gpu: GPU, **more: Any) -> str:
    fields = {
        name: getattr(request, name) for name in TraceRequest.__struct_fields__ if name != "network"
    }
    network = request.network
    return disk_key(network, gpu_as_traced(network, gpu), by=_sources(), **fields, **more)


@cache
def _sources() -> str:
    """A digest of the files that load and trace a network."""
    paths = (module.__file__, trace_module.__file__)
    return sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()
