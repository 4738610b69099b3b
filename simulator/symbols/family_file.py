"""Fitted families on disk: msgpack, compressed, versioned, validated, read back without torch."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from simulator.errors import InputError
from simulator.records import COUNTED, ITEM_BYTES
from simulator.symbols.cells import Cell
from simulator.symbols.expressions import Atom, Expression
from simulator.symbols.family import Family, SignatureTemplate
from simulator.symbols.probes import Tracer
from simulator.symbols.symbolic import Symbolic

VERSION = 2
_MAX_BYTES = 64 * 2**20


class _Columns(msgspec.Struct, frozen=True, array_like=True):
    """The columns of a family that hold no size: of ops, then of storages."""

    module: list[str]
    phase: list[str]
    storages: list[tuple[int, ...]]
    counts: list[list[int]]
    born: list[int]
    freed: list[int | None]
    role: list[str]
    device: list[str]


class _Family(msgspec.Struct, frozen=True, array_like=True):
    """A family; `expressions` are sums of a coefficient and its atoms, each an axis and a
    divisor."""

    expressions: list[list[tuple[int, list[tuple[int, int]]]]]
    tensors: list[tuple[tuple[int, ...], tuple[int, ...], str, str]]
    signatures: list[SignatureTemplate]
    rows: list[int]
    storages: list[int]
    header: tuple[str, Any]
    assumptions: list[tuple[int, str, tuple[str, Any]]]
    columns: _Columns


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every distinct family once; cells name theirs by place."""

    format: Literal["ridgepoint-families"]
    version: int
    families: list[_Family]
    cells: list[tuple[Cell, int]]
    failures: list[tuple[Cell, str]]
    has_seq: bool
    traced: int


def save(found: Symbolic, path: Path | str) -> None:
    """Write what was fitted; the file appears whole or not. InputError where it cannot be."""
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(zlib.compress(msgspec.msgpack.encode(_packed(found)), 9))
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"cannot write the families {path}: {error.strerror}") from error


def load(path: Path | str, tracer: Tracer) -> Symbolic:
    """Read what was fitted; `tracer` answers where no family does. InputError for a file that is
    none, is torn, or is of another version."""
    path = Path(path)
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(path.read_bytes(), _MAX_BYTES)
        if unpack.unconsumed_tail or not unpack.eof:
            raise ValueError(f"it holds over {_MAX_BYTES >> 20} MiB, or is torn")
        file = msgspec.msgpack.decode(data, type=_File)
        if file.version != VERSION:
            raise ValueError(f"it has version {file.version}, expected {VERSION}")
        families = [_family(each) for each in file.families]
        cells = [(cell, families[_place(number, families)]) for cell, number in file.cells]
    except OSError as error:
        raise InputError(f"cannot read the families {path}: {error.strerror}") from error
    except (zlib.error, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path} holds no families of traces: {error}; remove it, and they are fitted again"
        ) from error
    return Symbolic(tracer, cells, list(file.failures), file.has_seq, file.traced)


def _packed(found: Symbolic) -> _File:
    places: dict[int, int] = {}
    families: list[_Family] = []
    for _, family in found.families:
        if id(family) not in places:
            module, phase, storages, *counts = family.op_columns
            born, freed, role, device = family.lives
            places[id(family)] = len(families)
            families.append(
                _Family(
                    [
                        [(c, [(a.axis, a.divisor) for a in atoms]) for c, atoms in e.terms]
                        for e in family.expressions
                    ],
                    family.tensors,
                    family.signatures,
                    family.rows,
                    family.storages,
                    family.header,
                    family.assumptions,
                    _Columns(module, phase, storages, counts, born, freed, role, device),
                )
            )
    cells = [(cell, places[id(family)]) for cell, family in found.families]
    return _File(
        "ridgepoint-families",
        VERSION,
        families,
        cells,
        found.failures,
        found.has_seq,
        found.traced,
    )


def _family(each: _Family) -> Family:
    expressions = [
        Expression(tuple((c, tuple(Atom(*atom) for atom in atoms)) for c, atoms in terms))
        for terms in each.expressions
    ]
    c = each.columns
    if len(c.counts) != len(COUNTED):
        raise ValueError(f"it has {len(c.counts)} counts of each op, expected {len(COUNTED)}")
    ops = (c.module, c.phase, c.storages, *c.counts)
    lives = (c.born, c.freed, c.role, c.device)
    for columns, length in ((ops, len(each.rows)), (lives, len(each.storages))):
        if any(len(column) != length for column in columns):
            raise ValueError("its columns are of different lengths")
    for shape, stride, dtype, _ in each.tensors:
        _within((*shape, *stride), expressions)
        if dtype not in ITEM_BYTES or len(shape) != len(stride):
            raise ValueError("a tensor has an unknown dtype, or sizes without strides")
    for form in each.signatures:
        _within((*form.inputs, *form.outputs), each.tensors)
    _within(each.rows, each.signatures)
    _within(each.storages, expressions)
    for held in c.storages:
        _within(held, each.storages)
    return Family(
        expressions,
        each.tensors,
        each.signatures,
        each.rows,
        each.storages,
        each.header,
        each.assumptions,
        (*ops, *lives),
    )


def _within(places: Sequence[int], held: Sequence[Any]) -> None:
    if places and not 0 <= min(places) <= max(places) < len(held):
        raise ValueError("a place in it leads nowhere")


def _place(number: int, held: Sequence[Any]) -> int:
    _within([number], held)
    return number
