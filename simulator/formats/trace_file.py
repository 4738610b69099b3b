"""A trace on disk: JSON or msgpack, versioned, validated, read back without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

from simulator.errors import InputError
from simulator.formats.atomic import write_whole
from simulator.formats.limited import absence
from simulator.records import (
    COUNTED,
    ITEM_BYTES,
    TAIL,
    Assumption,
    Break,
    Op,
    Phase,
    Role,
    Signature,
    Storage,
    Tensor,
    Trace,
)

VERSION = 2
_MAX_BYTES = 512 * 2**20
_PHASES: tuple[Phase, ...] = get_args(Phase)
_ROLES: tuple[Role, ...] = get_args(Role)
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Device = Annotated[str, msgspec.Meta(pattern="^(cuda|cpu)$")]
_Born = Annotated[int, msgspec.Meta(ge=-1)]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file's content: rows instead of objects. Each distinct tensor, signature and module path
    is stored once.

    op row:       [signature, module, phase, counts as in COUNTED…, storages…]
    storage row:  [bytes, born, freed or null, role, device]
    """

    format: Literal["ridgepoint-trace"]
    version: int
    tensors: list[Tensor]
    signatures: list[tuple[str, list[int], list[int], list[str], dict[str, Any], list[int]]]
    modules: list[str]
    ops: list[list[int]]
    storages: list[tuple[_Count, _Born, _Count | None, int, _Device]]
    phase: Literal["inference", "training"]
    optimizer: str | None
    samples: _Count
    tokens: _Count | None
    parameters: _Count
    weight_bytes: _Count
    assumptions: list[Assumption]
    torch_version: str
    gpu: str
    tail_python_calls: int
    tail_module_calls: int
    tail_instructions: int = 0  # older versions lack these four
    tail_cold_instructions: int = 0
    tail_attributes: int = 0
    tail_c_calls: int = 0
    breaks: list[Break] = []
    code: dict[str, str] = {}
    run: Literal["eager", "captured", "compiled"] = "eager"
    asked: list[str] = []
    workspace_configured: bool = False


def save(trace: Trace, path: Path | str) -> None:
    """Write a trace atomically, as JSON if the suffix is `.json`, else as msgpack."""
    path = Path(path)
    check_savable(trace)
    data = msgspec.json.encode(_rows(trace)) if path.suffix == ".json" else encoded(trace)
    try:
        write_whole(path, data)
    except OSError as error:
        raise InputError(
            f"cannot write the trace {path}: {error.strerror}: expected a writable path; name "
            "another"
        ) from error


def check_savable(trace: Trace) -> None:
    """Raise InputError if the trace cannot be stored in a file."""
    if any(op.collective is not None or op.stream for op in trace.ops):
        raise InputError(
            "cannot save a trace with collectives or several streams: expected a trace of one GPU; "
            "keep the program and predict it again"
        )


def encoded(trace: Trace) -> bytes:
    """A trace of one GPU as the content of a file, in msgpack."""
    return msgspec.msgpack.encode(_rows(trace))


def load(path: Path | str) -> Trace:
    """Read a trace. Raises InputError if the file is not a trace, is damaged, or has another
    version."""
    path = Path(path)
    try:
        size = path.stat().st_size
        if not (path.is_file() or path.is_dir()):  # reading a pipe would block
            raise InputError(
                f"cannot read the trace {path}: {absence(path)}: expected a saved trace; check "
                "the path"
            )
        data = path.read_bytes() if size <= _MAX_BYTES else b""
    except OSError as error:
        raise InputError(
            f"cannot read the trace {path}: {error.strerror}: expected a saved trace; check the "
            "path"
        ) from error
    if size > _MAX_BYTES:
        raise InputError(f"{path} is {size >> 20} MiB: expected a trace of at most 512 MiB")
    try:
        return decoded(data, str(path))
    except InputError as error:
        if use := _OTHER_FILES.get(path.suffix.lower()):
            raise InputError(f"{path} is not a Ridgepoint trace; {use}") from error
        raise


_OTHER_FILES = {
    ".toml": "give a scenario's file as --scenario FILE",
    ".ridge": "open a session with `ridgepoint explore FILE`",
}
"""By suffix, how to use a file that is not a trace."""


def decoded(data: bytes, source: str) -> Trace:
    """Decode a trace from a file's content. Raises InputError as `load` does, naming `source`."""
    decode = msgspec.json.decode if data[:1] in (b"{", b" ", b"\n") else msgspec.msgpack.decode
    try:
        rows = decode(data, type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{source} is not a Ridgepoint trace: {error}; expected a file written by "
            "`ridgepoint predict … --save-trace FILE`"
        ) from error
    if rows.version != VERSION:
        raise InputError(
            f"{source} has trace version {rows.version}: expected {VERSION}; trace the network "
            "again"
        )
    try:
        return _trace(rows)
    except (IndexError, ValueError) as error:
        raise InputError(f"{source} is damaged: {error}; trace the network again") from error


def _rows(trace: Trace) -> _File:
    signatures, rows = trace.signatures
    tensors: dict[Tensor, int] = {}
    modules: dict[str, int] = {}

    def tensor_rows(operands: tuple[Tensor, ...]) -> list[int]:
        return [tensors.setdefault(t, len(tensors)) for t in operands]

    packed = [
        (
            s.name,
            tensor_rows(s.inputs),
            tensor_rows(s.outputs),
            list(s.names),
            s.args,
            list(s.aliases),
        )
        for s in signatures
    ]
    ops = [
        [
            row,
            modules.setdefault(op.module, len(modules)),
            _PHASES.index(op.phase),
            *(getattr(op, name) for name in COUNTED),
            *op.storages,
        ]
        for op, row in zip(trace.ops, rows, strict=True)
    ]
    plain = (
        "phase",
        "optimizer",
        "samples",
        "tokens",
        "parameters",
        "weight_bytes",
        "assumptions",
        "torch_version",
        "gpu",
        *TAIL,
        "breaks",
        "code",
        "run",
        "asked",
        "workspace_configured",
    )
    return _File(
        format="ridgepoint-trace",
        version=VERSION,
        tensors=list(tensors),
        signatures=packed,
        modules=list(modules),
        ops=ops,
        storages=[
            (s.nbytes, s.born, s.freed, _ROLES.index(s.role), s.device) for s in trace.storages
        ],
        **{name: getattr(trace, name) for name in plain},
    )


def _trace(rows: _File) -> Trace:
    for t in rows.tensors:
        if any(n < 0 for n in (*t.shape, *t.stride)):
            raise ValueError("a tensor has a negative size or stride")
        if len(t.shape) != len(t.stride):
            raise ValueError(f"a tensor of {len(t.shape)} sizes has {len(t.stride)} strides")
        if t.dtype not in ITEM_BYTES:
            raise ValueError(f"unknown dtype {t.dtype!r}")
    tensors = rows.tensors
    signatures = [
        Signature(
            name,
            tuple(tensors[_at(i)] for i in inputs),
            tuple(tensors[_at(i)] for i in outputs),
            tuple(names),
            args,
            tuple(aliases),
        )
        for name, inputs, outputs, names, args, aliases in rows.signatures
    ]
    for s in signatures:
        if len(s.names) != len(s.inputs) or len(s.aliases) != len(s.inputs) + len(s.outputs):
            raise ValueError(f"{s.name} has names or aliases that do not match its tensors")
    ops: list[Op] = []
    for signature, module, phase, *numbers in rows.ops:
        counts, storages = numbers[: len(COUNTED)], numbers[len(COUNTED) :]
        calls, modules, nodes, instructions, cold, attributes, c_calls = counts
        if min(counts) < 0:
            raise ValueError("an op has negative counts")
        if any(not 0 <= s < len(rows.storages) for s in storages):
            raise ValueError("an op refers to a missing storage")
        kind = signatures[_at(signature)]
        if len(storages) != len(kind.inputs) + len(kind.outputs):
            raise ValueError(f"{kind.name} has {len(storages)} storages")
        ops.append(
            Op(
                kind,
                rows.modules[_at(module)],
                _PHASES[_at(phase)],
                tuple(storages),
                calls,
                modules,
                nodes,
                instructions,
                cold,
                attributes,
                c_calls,
            )
        )
    plain = {f: getattr(rows, f) for f in Trace.__struct_fields__ if f not in ("ops", "storages")}
    storages = [
        Storage(nbytes, born, freed, _ROLES[_at(role)], device)
        for nbytes, born, freed, role, device in rows.storages
    ]
    return Trace(ops=ops, storages=storages, **plain)


def _at(index: int) -> int:
    if index < 0:
        raise IndexError(f"a negative index {index}")
    return index
