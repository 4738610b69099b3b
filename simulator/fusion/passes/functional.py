"""A trace in which no loop writes its operands: AOTAutograd makes a graph functional before the
partition, so a loop that overwrites a whole activation writes a new tensor instead."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.fusion.costed import costed
from simulator.fusion.graphs import graphs
from simulator.fusion.kinds import kind
from simulator.records import Op, Signature, Storage, Trace


def functional(trace: Trace) -> Trace:
    """The trace in which an out-of-place loop replaces each in-place loop that overwrites a whole
    activation; later ops read its result."""
    stands: dict[int, int] = {}  # for each storage, the new storage of its contents
    fresh: list[tuple[int, int]] = []  # the old storage, and the op that writes the new one
    plain: dict[int, Signature | None] = {}
    ops: list[Op] = []
    parts = graphs(trace)
    for index, op in enumerate(trace.ops):
        reads = tuple(stands.get(s, s) for s in op.storages[: len(op.inputs)])
        functional_op = None if parts.eager(index) else _out_of_place(op, trace.storages, plain)
        if functional_op is not None:
            stands[op.storages[-1]] = len(trace.storages) + len(fresh)
            fresh.append((op.storages[-1], index))
        makes = tuple(stands.get(s, s) for s in op.storages[len(op.inputs) :])
        storages = reads + makes
        if functional_op is not None or storages != op.storages:
            op = replace(op, signature=functional_op or op.signature, storages=storages)
        ops.append(op)
    if not fresh:
        return trace
    return replace(trace, ops=ops, storages=_lives(trace, ops, fresh))


def _out_of_place(
    op: Op, storages: list[Storage], known: dict[int, Signature | None]
) -> Signature | None:
    """The signature of the out-of-place loop; None if the loop stays in place."""
    name = op.name.split(".")[1]
    if not name.endswith("_") or len(op.outputs) != 1 or op.phase == "optimizer":
        return None
    place = op.storages[-1]
    storage = storages[place]
    own = storage.role == "activation" and storage.born >= 0
    whole = op.outputs[0].nbytes == storage.nbytes and place in op.storages[: len(op.inputs)]
    if not (own and whole):
        return None
    if id(op.signature) not in known:
        old = op.signature
        regions = old.aliases[: len(old.inputs)] or tuple(range(len(old.inputs)))
        functional = replace(
            old,
            name=old.name.replace(f".{name}.", f".{name[:-1]}."),
            aliases=(*regions, max(regions, default=-1) + 1),
        )
        fits = kind(old) == kind(functional) == "pointwise" and costed(functional) is not None
        known[id(op.signature)] = functional if fits else None
    return known[id(op.signature)]


def _lives(trace: Trace, ops: list[Op], fresh: list[tuple[int, int]]) -> list[Storage]:
    """The storages' lifetimes: a replaced storage ends with its last use, and the last replacement
    ends where the storage did."""
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
