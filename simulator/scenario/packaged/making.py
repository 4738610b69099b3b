"""Make packaged families: fit them, or reuse families that agree with fresh traces."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.hardware.gpu import gpu as find_gpu
from simulator.scenario import trace_source
from simulator.scenario.packaged.contents import CARDS, UPDATES_OF, line_of, name_of, requests
from simulator.scenario.packaged.fresh import Fresh, calls_attention
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
from simulator.scenario.trace_module import whole_trace
from simulator.symbols import Symbolic
from simulator.symbols.family_file import load, save
from simulator.symbols.refusals import Refusal
from simulator.symbols.templates import ProgramMismatchError
from simulator.symbols.updates import load_update, save_update, update_of, with_update

_HALF = {"fp16": "float16"}
"""Dtypes whose families are those of bf16 with another dtype of tensors."""


class _Candidate(NamedTuple):
    """A file that may hold the families of a request; `half` as in `Entry`."""

    file: str
    half: str = ""


def current(name: str, network: str) -> bool:
    """Whether the file of this name was made by the current code."""
    entry = read_index().entries.get(name)
    return entry is not None and entry.stamp == _stamp(network)


def make(request: TraceRequest, card: str) -> str:
    """Make the file of a request on a card. Return how it was made: checked, shared with another
    request, counted again, fitted or refused."""
    if request.training and request.optimizer != "adamw":
        return _make_update(request, card)
    if request.sdpa is not None:
        return _make_variant(request, card)
    fresh = Fresh(request, find_gpu(card))
    return _make(request, card, fresh, calls_attention(request, fresh.gpu))


def _make(request: TraceRequest, card: str, fresh: Fresh, attention: bool = True) -> str:
    name = f"{name_of(request)}.{card}"
    own = FOLDER / f"{name}.families"
    before = read_index().entries.get(name)
    for each in _candidates(request, card):
        its_own = before is not None and each == _Candidate(before.file, before.half)
        if _agrees(each, fresh, ends=0 if its_own else 1):
            _enter(name, request, Entry(each.file, "", each.half, attention))
            return "checked" if its_own else f"as {each.file}"
    if before and own.is_file():
        with suppress(InputError, ProgramMismatchError):
            _recount(own, fresh)
        if _agrees(_Candidate(own.name), fresh, ends=2):
            _enter(name, request, Entry(own.name, "", attention=attention))
            return "counted again"
    with TemporaryDirectory() as folder:
        trace_source.forget()
        trace_source.keep_on_disk(folder, even_if_off=True)
        line = line_of(request.network)
        trace_source.make(request, fresh.gpu, line)
        fitted = trace_source.stored_families(request, fresh.gpu, line)
        if not fitted.is_file():
            return "refused: no family agrees with its traces"
        own.write_bytes(fitted.read_bytes())
        trace_source.forget()
    if not _agrees(_Candidate(own.name), Fresh(request, fresh.gpu, whole_trace), ends=0):
        own.unlink()
        return "refused: a family differs from the trace of all blocks"
    _enter(name, request, Entry(own.name, "", attention=attention))
    return "fitted"


def _make_variant(request: TraceRequest, card: str) -> str:
    """Make the families of another attention kernel, or its error."""
    plain = read_index().entries.get(f"{name_of(replace(request, sdpa=None))}.{card}")
    if plain is None:
        return "refused: the default kernel is not packaged"
    if not plain.attention:
        return "without attention"
    fresh = Fresh(request, find_gpu(card))
    families = load(FOLDER / plain.file, fresh)
    if fresh.error(*families.cells[0][0].points(1)[0]) is None:
        return _make(request, card, fresh)
    points: list[tuple[int, int]] = []
    texts: list[str] = []
    refusing: list[int] = []
    for place, (cell, _) in enumerate(families.cells):
        own = cell.points(5)
        known = [text for text in (fresh.error(*point) for point in own) if text is not None]
        if len(known) == len(own):
            points, texts = points + own, texts + known
            refusing.append(place)
        elif known:
            return "refused: a cell has points with and without an error"
    try:
        refusal = Refusal.fit(points, texts)
    except ProgramMismatchError:
        return "refused: its errors differ in more than sizes"
    limited = tuple(refusing) if len(refusing) < len(families.cells) else ()
    name = f"{name_of(request)}.{card}"
    _enter(name, request, Entry(plain.file, "", plain.half, refusal=refusal, refusing=limited))
    return f"error: {refusal.at(*points[0])}"


def _make_update(request: TraceRequest, card: str) -> str:
    """Make the update of an optimizer, which completes the families of AdamW, or separate families
    if no update does."""
    name = f"{name_of(request)}.{card}"
    base = read_index().entries.get(f"{name_of(replace(request, optimizer='adamw'))}.{card}")
    if base is None:
        return "refused: no families of AdamW are packaged"
    fresh = Fresh(request, find_gpu(card))
    families = load(FOLDER / base.file, fresh, base.half)
    points = _first_points(families)
    own = FOLDER / f"{name}.update"
    try:
        update = update_of(fresh.again(*points[0]))
        if not _all_equal(with_update(families, update, fresh), fresh, points):
            return _make(request, card, fresh)
    except ProgramMismatchError:
        return _make(request, card, fresh)
    for each in _updates(request):
        if load_update(FOLDER / each.file, each.half) == update:
            break
    else:
        each = _Candidate(own.name)
        save_update(update, own)
    _enter(name, request, Entry(each.file, "", each.half))
    return "update" if each.file == own.name else f"as {each.file}"


def drop_others() -> None:
    """Delete entries that are no longer packaged, and files without an entry."""
    index = read_index()
    names = {f"{name_of(request)}.{card}" for request, card in requests()}
    entries = {name: entry for name, entry in index.entries.items() if name in names}
    if entries != index.entries:
        write_index(replace(index, entries=entries))
    files = {entry.file for entry in entries.values()}
    for path in FOLDER.iterdir():
        if path.name not in files:
            path.unlink()


def _candidates(request: TraceRequest, card: str) -> Iterator[_Candidate]:
    """Files that may hold the families of a request: its own, that of bf16 with another dtype, then
    those of other cards and other attention kernels."""
    entries = read_index().entries
    before = entries.get(f"{name_of(request)}.{card}")
    files = [_Candidate(before.file, before.half)] if before else []
    if half := _HALF.get(request.dtype):
        twin = entries.get(f"{name_of(replace(request, dtype='bf16'))}.{card}")
        files += [_Candidate(twin.file, half)] if twin and not twin.refusal else []
    for other in (card, *(other for other in CARDS if other != card)):
        for kernel in (None, "cudnn", "flash", "efficient"):
            entry = entries.get(f"{name_of(replace(request, sdpa=kernel))}.{other}")
            if entry and not entry.refusal:
                files.append(_Candidate(entry.file, entry.half))
    return (each for each in dict.fromkeys(files) if (FOLDER / each.file).is_file())


def _updates(request: TraceRequest) -> Iterator[_Candidate]:
    """Files that may hold the update of a request: those of other dtypes."""
    entries = read_index().entries
    for dtype in ("bf16", "fp32", "autocast", "fp16"):
        entry = entries.get(f"{name_of(replace(request, dtype=dtype))}.{UPDATES_OF}")
        if entry and entry.is_update and (FOLDER / entry.file).is_file():
            yield _Candidate(entry.file, entry.half)
            if half := _HALF.get(request.dtype):
                yield _Candidate(entry.file, half)


def _recount(path: Path, fresh: Fresh) -> None:
    """Update the host counts and lines of code in a file's families from fresh traces."""
    families = load(path, fresh)
    first = {number: cell for cell, number in reversed(families.cells)}
    recounted = {
        number: family.with_counts(fresh.again(*first[number].points(1)[0]))
        for number, family in families.programs.items()
    }
    save(dataclasses.replace(families, programs=recounted), path)


def _first_points(families: Symbolic) -> list[tuple[int, int]]:
    """One point of each program."""
    first = {number: cell for cell, number in reversed(families.cells)}
    return [cell.points(1)[0] for cell in first.values()]


def _agrees(each: _Candidate, fresh: Fresh, ends: int) -> bool:
    """Whether the families of a file give the same traces as fresh tracing. `ends` is the number of
    ends of each cell that are compared, the far end first; if it is 0, for families that an earlier
    version of the code fitted to this request, one point of each program is compared."""
    try:
        families = load(FOLDER / each.file, fresh, each.half)
        points = [point for cell, _ in families.cells for point in cell.points(2)[-ends:]]
        return _all_equal(families, fresh, points if ends else _first_points(families))
    except InputError:
        return False


def _all_equal(families: Symbolic, fresh: Fresh, points: list[tuple[int, int]]) -> bool:
    return all(
        fresh.equals(families.at(batch, seq if families.has_seq else None), batch, seq)
        for batch, seq in points
    )


def _enter(name: str, request: TraceRequest, entry: Entry) -> None:
    """Enter a file into the index under this code's stamp and versions."""
    index = read_index()
    entries = index.entries | {name: replace(entry, stamp=_stamp(request.network))}
    write_index(Index(torch_version() or "", python_version(), entries))


def _stamp(network: str) -> str:
    return stamp(network, torch_version() or "", python_version())
