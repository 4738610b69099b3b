"""Make packaged families: fit them, or reuse families that agree with fresh traces."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.records import Trace
from simulator.scenario import trace_source
from simulator.scenario.few_blocks import Tracer as ModuleTracer
from simulator.scenario.packaged.contents import CARDS, line_of, name_of, requests
from simulator.scenario.packaged.index import (
    FOLDER,
    Entry,
    Index,
    python_version,
    read_index,
    stamp,
    torch_version,
    write_index,
)
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.trace_module import trace_module, whole_trace
from simulator.symbols import Symbolic
from simulator.symbols.family_file import load, save, with_dtype
from simulator.symbols.probes import Tracer
from simulator.symbols.templates import ProgramMismatchError

_TORCH_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def current(name: str, network: str) -> bool:
    """Whether the file of this name was made by the current code."""
    entry = read_index().entries.get(name)
    return entry is not None and entry.stamp == _stamp(network)


def make(request: TraceRequest, card: str) -> str:
    """Make the file of a request on a card. Return how it was made: checked, shared with another
    card, counted again, converted from bf16, fitted or refused."""
    gpu, name = find_gpu(card), f"{name_of(request)}.{card}"
    own = FOLDER / f"{name}.families"
    entries = read_index().entries
    for path in _same(request, card):
        its_own = name in entries and path.name == entries[name].file
        if _agrees(path, request, gpu, guessed=not its_own):
            _enter(name, path, request)
            return "checked" if its_own else f"as {path.name}"
    if name in entries and own.is_file():
        with suppress(InputError, ProgramMismatchError):
            _recount(own, request, gpu)
        if _agrees(own, request, gpu, guessed=True):
            _enter(name, own, request)
            return "counted again"
    source = FOLDER / f"{name_of(replace(request, dtype='bf16'))}.{card}.families"
    if request.dtype in ("fp16", "fp32") and source.is_file():
        with_dtype(source, own, _TORCH_DTYPES["bf16"], _TORCH_DTYPES[request.dtype])
        if _agrees(own, request, gpu, guessed=True):
            _enter(name, own, request)
            return f"from {source.name}"
        own.unlink()
    with TemporaryDirectory() as folder:
        trace_source.forget()
        trace_source.keep_on_disk(folder, even_if_off=True)
        line = line_of(request.network)
        trace_source.make(request, gpu, line)
        fitted = trace_source.stored_families(request, gpu, line)
        if not fitted.is_file():
            return "refused: no family agrees with its traces"
        own.write_bytes(fitted.read_bytes())
        trace_source.forget()
    if not _agrees(own, request, gpu, guessed=False, trace=whole_trace):
        own.unlink()
        return "refused: a family differs from the trace of all blocks"
    _enter(name, own, request)
    return "fitted"


def drop_others() -> None:
    """Delete entries that are no longer packaged, and files without an entry."""
    index = read_index()
    names = {f"{name_of(request)}.{card}" for request, card in requests()}
    entries = {name: entry for name, entry in index.entries.items() if name in names}
    if entries != index.entries:
        write_index(replace(index, entries=entries))
    files = {entry.file for entry in entries.values()}
    for path in FOLDER.glob("*.families"):
        if path.name not in files:
            path.unlink()


def _same(request: TraceRequest, card: str) -> Iterator[Path]:
    """Files that may hold the families of a request: its own, then those of other cards."""
    entries = read_index().entries
    for other in (card, *(other for other in CARDS if other != card)):
        entry = entries.get(f"{name_of(request)}.{other}")
        if entry and (FOLDER / entry.file).is_file():
            yield FOLDER / entry.file


def _recount(path: Path, request: TraceRequest, gpu: GPU) -> None:
    """Update the host counts and lines of code in a file's families from fresh traces."""
    families = load(path, _tracer(request, gpu))
    first = {number: cell for cell, number in reversed(families.cells)}
    recounted = {
        number: family.with_counts(families.tracer(*first[number].points(1)[0]))
        for number, family in families.programs.items()
    }
    save(dataclasses.replace(families, programs=recounted), path)


def _agrees(
    path: Path,
    request: TraceRequest,
    gpu: GPU,
    guessed: bool,
    trace: ModuleTracer = trace_module,
) -> bool:
    """Whether the families of a file give the same traces as fresh tracing. Families that other
    code fitted to this request are compared at one point each; `guessed` families are compared at
    two ends of each cell."""
    try:
        families = load(path, _tracer(request, gpu, trace))
        cells = families.families
        if not guessed:
            cells = {id(family): (cell, family) for cell, family in cells}.values()
        points = [point for cell, _ in cells for point in cell.points(2 if guessed else 1)]
        return all(_equal(families, point) for point in points)
    except InputError:
        return False


def _tracer(request: TraceRequest, gpu: GPU, trace: ModuleTracer = trace_module) -> Tracer:
    def traced(batch: int, seq: int) -> Trace:
        has_seq = line_of(request.network)[0] == "both"
        at = replace(request, batch=batch, seq=seq if has_seq else None)
        return trace(at, gpu)[0]

    return traced


def _equal(families: Symbolic, point: tuple[int, int]) -> bool:
    """Whether a family gives the trace of a point. The first trace of a process may include work
    that is done only once, so the point is traced a second time if the first trace differs."""
    batch, seq = point
    ours = families.at(batch, seq if families.has_seq else None)
    for _ in range(2):
        theirs = families.tracer(batch, seq)
        if replace(ours, gpu=theirs.gpu) == theirs:
            return True
    return False


def _enter(name: str, path: Path, request: TraceRequest) -> None:
    """Enter a file into the index under this code's stamp and versions."""
    index = read_index()
    entries = index.entries | {name: Entry(path.name, _stamp(request.network))}
    write_index(Index(torch_version() or "", python_version(), entries))


def _stamp(network: str) -> str:
    return stamp(network, torch_version() or "", python_version())
