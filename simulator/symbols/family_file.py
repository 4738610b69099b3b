"""Files of fitted families: compressed msgpack with a version. A family is decoded and validated at
its first use, because a prediction needs only one family of a file."""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from simulator.errors import InputError
from simulator.formats.atomic import write_whole
from simulator.records import COUNTED, ITEM_BYTES
from simulator.symbols.cells import Cell
from simulator.symbols.expressions import TOKENS, Atom, Expression
from simulator.symbols.family import Family, SignatureTemplate
from simulator.symbols.probes import Tracer
from simulator.symbols.symbolic import Symbolic

VERSION = 4
_READABLE = (3, 4)
"""In version 3 no atom is limited or rounded."""
_MAX_BYTES = 64 * 2**20


class _Columns(msgspec.Struct, frozen=True, array_like=True):
    """The columns of a family without sizes: those of ops, then of storages."""

    module: list[str]
    phase: list[str]
    storages: list[tuple[int, ...]]
    counts: list[list[int]]
    born: list[int]
    freed: list[int | None]
    role: list[str]
    device: list[str]


class _Atom(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """`expressions.Atom`, as the file stores it."""

    axis: Annotated[int, msgspec.Meta(ge=0, le=TOKENS)]
    divisor: Annotated[int, msgspec.Meta(ge=1)]
    most: Annotated[int, msgspec.Meta(ge=0)] = 0


class _Family(msgspec.Struct, frozen=True, array_like=True):
    """A family; each expression is a list of terms, a coefficient with atoms."""

    expressions: list[list[tuple[int, list[_Atom]]]]
    tensors: list[tuple[tuple[int, ...], tuple[int, ...], str, str]]
    signatures: list[SignatureTemplate]
    rows: list[int]
    storages: list[int]
    header: tuple[str, Any]
    assumptions: list[tuple[int, str, tuple[str, Any]]]
    columns: _Columns


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Each distinct family once; cells refer to families by index."""

    format: Literal["ridgepoint-families"]
    version: int
    families: list[msgspec.Raw]
    cells: list[tuple[Cell, int]]
    failures: list[tuple[Cell, str]]
    has_seq: bool
    traced: int


def save(symbolic: Symbolic, path: Path | str) -> None:
    """Write families; the file is complete or absent. Raises InputError if writing fails."""
    path = Path(path)
    try:
        write_whole(path, lzma.compress(msgspec.msgpack.encode(_to_file(symbolic)), preset=6))
    except OSError as error:
        raise InputError(f"cannot write the families {path}: {error.strerror}") from error


def load(path: Path | str, tracer: Tracer, half: str = "") -> Symbolic:
    """Read families; `tracer` traces points without a family. With `half` "float16", tensors are of
    that dtype where the file has bfloat16.

    Raises InputError if the file cannot be read, is invalid, truncated or of another version. An
    invalid family raises it at its first use.
    """
    path = Path(path)
    try:
        data = as_half(unpacked(path.read_bytes()), half)
        file = msgspec.msgpack.decode(data, type=_File)
        if file.version not in _READABLE:
            raise ValueError(f"it has version {file.version}, expected {VERSION}")
        _check_indices([number for _, number in file.cells], file.families)
    except OSError as error:
        raise InputError(f"cannot read the families {path}: {error.strerror}") from error
    except (lzma.LZMAError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _invalid(path, error) from error
    programs = _Programs(path, file.families)
    return Symbolic(tracer, programs, file.cells, file.failures, file.has_seq, file.traced)


def unpacked(data: bytes) -> bytes:
    """The content of a compressed file. Raises ValueError or LZMAError if it is damaged."""
    unpack = lzma.LZMADecompressor(memlimit=_MAX_BYTES)
    content = unpack.decompress(data, _MAX_BYTES)
    if not unpack.eof:
        raise ValueError(f"it is larger than {_MAX_BYTES >> 20} MiB, or truncated")
    return content


def as_half(content: bytes, half: str) -> bytes:
    """The msgpack of a file with the 16-bit dtype `half` in place of bfloat16, in texts "bfloat16"
    and "torch.bfloat16"; unchanged if `half` is empty. The result is a guess, to be compared with
    traces."""
    for prefix in ("", "torch.") if half else ():
        content = content.replace(_text(prefix + "bfloat16"), _text(prefix + half))
    return content


def _text(value: str) -> bytes:
    return msgspec.msgpack.encode(value)


class _Programs(Mapping[int, Family]):
    """The families of a file by number. Raises InputError for one that is invalid."""

    def __init__(self, path: Path, encoded: Sequence[msgspec.Raw]) -> None:
        self._path, self._encoded = path, encoded
        self._decoded: dict[int, Family] = {}

    def __getitem__(self, number: int) -> Family:
        if number not in self._decoded:
            try:
                packed = msgspec.msgpack.decode(self._encoded[number], type=_Family)
                self._decoded[number] = _to_family(packed)
            except (msgspec.MsgspecError, ValueError, RecursionError) as error:
                raise _invalid(self._path, error) from error
        return self._decoded[number]

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._encoded)))

    def __len__(self) -> int:
        return len(self._encoded)


def _invalid(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path} is not a valid file of trace families: {error}; delete it to fit them again"
    )


def _to_file(symbolic: Symbolic) -> _File:
    return _File(
        format="ridgepoint-families",
        version=VERSION,
        families=[
            msgspec.Raw(msgspec.msgpack.encode(_packed(symbolic.programs[number])))
            for number in range(len(symbolic.programs))
        ],
        cells=symbolic.cells,
        failures=symbolic.failures,
        has_seq=symbolic.has_seq,
        traced=symbolic.traced,
    )


def _packed(family: Family) -> _Family:
    module, phase, storages, *counts = family.op_columns
    born, freed, role, device = family.lives
    return _Family(
        expressions=[
            [(c, [_Atom(*a) for a in atoms]) for c, atoms in e.terms] for e in family.expressions
        ],
        tensors=family.tensors,
        signatures=family.signatures,
        rows=family.rows,
        storages=family.storages,
        header=family.header,
        assumptions=family.assumptions,
        columns=_Columns(module, phase, storages, counts, born, freed, role, device),
    )


def _to_family(packed: _Family) -> Family:
    expressions = [
        Expression(
            tuple((c, tuple(Atom(a.axis, a.divisor, a.most) for a in atoms)) for c, atoms in terms)
        )
        for terms in packed.expressions
    ]
    c = packed.columns
    if len(c.counts) != len(COUNTED):
        raise ValueError(f"it has {len(c.counts)} counts for each op, expected {len(COUNTED)}")
    ops = (c.module, c.phase, c.storages, *c.counts)
    lives = (c.born, c.freed, c.role, c.device)
    for columns, length in ((ops, len(packed.rows)), (lives, len(packed.storages))):
        if any(len(column) != length for column in columns):
            raise ValueError("its columns differ in length")
    for shape, stride, dtype, _ in packed.tensors:
        if dtype not in ITEM_BYTES or len(shape) != len(stride):
            raise ValueError("a tensor has an unknown dtype, or not one stride for each size")
    sizes = [each for shape, stride, *_ in packed.tensors for each in (shape, stride)]
    operands = [each for form in packed.signatures for each in (form.inputs, form.outputs)]
    _check_indices([*chain.from_iterable(sizes)], expressions)
    _check_indices([*chain.from_iterable(operands)], packed.tensors)
    _check_indices(packed.rows, packed.signatures)
    _check_indices(packed.storages, expressions)
    _check_indices([*chain.from_iterable(c.storages)], packed.storages)
    return Family(
        expressions=expressions,
        tensors=packed.tensors,
        signatures=packed.signatures,
        rows=packed.rows,
        storages=packed.storages,
        header=packed.header,
        assumptions=packed.assumptions,
        _columns=(*ops, *lives),
    )


def _check_indices(indices: Sequence[int], items: Sequence[Any]) -> None:
    if indices and not 0 <= min(indices) <= max(indices) < len(items):
        raise ValueError("an index in it is out of range")
