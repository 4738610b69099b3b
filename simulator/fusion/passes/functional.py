"""A trace in which no loop writes its operands: AOTAutograd makes a graph functional before the
partition, so a loop that overwrites an activation writes a new tensor instead. If it overwrites a
part of a tensor, the new tensor replaces the whole one, and is computed again where it is read
(`should_reinplace_scatter` of torch/_inductor/fx_passes/reinplace.py, without its exception for two
tensors that are stored in any case)."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.caches.cancelling import check_cancelled
from simulator.fusion.costed import costed
from simulator.fusion.graphs import graphs
from simulator.fusion.kinds import kind
from simulator.records import Op, Signature, Storage, Tensor, Trace


def functional(trace: Trace, parts_only: bool = False) -> Trace:
    """The trace in which an out-of-place loop replaces each in-place loop that overwrites an
    activation or a part of it; later ops read its result. With `parts_only`, a trace is unchanged
    if no loop overwrites a part: versions of whole values need no new storages."""
    stands: dict[int, int] = {}  # for each storage, the new storage that now holds its contents
    fresh: list[tuple[int, int]] = []  # the old storage, and the op that writes the new one
    plain: dict[tuple[int, Tensor], Signature | None] = {}
    whole: dict[int, Tensor] = {}
    ops: list[Op] = []
    parts = graphs(trace)
    any_part = not parts_only
    for index, op in enumerate(trace.ops):
        if index % 128 == 0:
            check_cancelled()
        reads = tuple(stands.get(s, s) for s in op.storages[: len(op.inputs)])
        for storage, tensor in zip(op.storages, (*op.inputs, *op.outputs), strict=True):
            if tensor.nbytes == trace.storages[storage].nbytes and tensor.dense:
                whole.setdefault(storage, tensor)
        base = whole.get(op.storages[-1]) if op.storages else None
        functional_op = None
        if base is not None and not parts.eager(index):
            functional_op = _out_of_place(op, trace.storages, base, plain)
        if functional_op is not None:
            stands[op.storages[-1]] = len(trace.storages) + len(fresh)
            fresh.append((op.storages[-1], index))
            any_part |= functional_op.out != op.outputs[0]
        makes = tuple(stands.get(s, s) for s in op.storages[len(op.inputs) :])
        storages = reads + makes
        if functional_op is not None or storages != op.storages:
            op = replace(op, signature=functional_op or op.signature, storages=storages)
        ops.append(op)
    if not fresh or not any_part:
        return trace
    return replace(trace, ops=ops, storages=_lives(trace, ops, fresh))


_RENAMED = {
    "aten.pow_.Scalar": "aten.pow.Tensor_Scalar",
    "aten.pow_.Tensor": "aten.pow.Tensor_Tensor",
}
"""Out-of-place overloads whose names are not those of the ops in place."""


def _out_of_place(
    op: Op,
    storages: list[Storage],
    base: Tensor,
    known: dict[tuple[int, Tensor], Signature | None],
) -> Signature | None:
    """The signature of the out-of-place loop over the whole tensor `base` of the storage that an op
    overwrites; None if the loop stays in place."""
    name = op.name.split(".")[1]
    if not name.endswith("_") or len(op.outputs) != 1 or op.phase == "optimizer":
        return None
    place = op.storages[-1]
    storage = storages[place]
    own = storage.role == "activation" and storage.born >= 0
    if not own or op.storages[0] != place or op.inputs[0].dtype != base.dtype:
        return None
    key = id(op.signature), base
    if key not in known:
        old = op.signature
        regions = old.aliases[: len(old.inputs)] or tuple(range(len(old.inputs)))
        part = old.out.nbytes < storage.nbytes
        functional = replace(
            old,
            name=_RENAMED.get(old.name) or old.name.replace(f".{name}.", f".{name[:-1]}."),
            inputs=(base, *old.inputs[1:]) if part else old.inputs,
            outputs=(base,) if part else old.outputs,
            aliases=(*regions, max(regions, default=-1) + 1),
        )
        fits = kind(old) == kind(functional) == "pointwise" and costed(functional) is not None
        known[key] = functional if fits else None
    return known[key]


def _lives(trace: Trace, ops: list[Op], fresh: list[tuple[int, int]]) -> list[Storage]:
    """The storages' lifetimes: a replaced storage is freed after its last use, and the last
    replacement where the storage was freed."""
    last: dict[int, int] = {}
    for index, op in enumerate(ops):
        for storage in op.storages:
            last[storage] = index
    storages = list(trace.storages)
    newest = {old: len(trace.storages) + at for at, (old, _) in enumerate(fresh)}
    for at, (old, born) in enumerate(fresh):
        number = len(trace.storages) + at
        freed = trace.storages[old].freed if newest[old] == number else last[number] + 1
        storages.append(replace(trace.storages[old], born=born, freed=freed))
    for old in newest:
        storages[old] = replace(storages[old], freed=last[old] + 1)
    return storages
