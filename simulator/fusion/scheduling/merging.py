"""Traces in which each chosen set of ops is one op, in an order that respects dependencies."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.fusion.dependencies import order
from simulator.fusion.scheduling.chosen import Chosen, Kernel
from simulator.records import Op, Storage, Trace


def merged(chosen: Chosen, kernels: Sequence[Kernel]) -> Trace:
    """The trace with each kernel in the place of its members, and without views of values inside a
    kernel. Raises InputError if two kernels depend on each other."""
    trace, flow = chosen.trace, chosen.flow
    run = order([kernel.members for kernel in kernels], chosen.needed)
    if run is None:
        raise InputError(
            "two of the kernels depend on each other, though each is valid alone; choose fewer ops"
        )
    whole = {kernel.members[-1]: kernel.op for kernel in kernels}
    inside = {value for kernel in kernels for value in kernel.inside}
    stands = {index: kernel.members[-1] for kernel in kernels for index in kernel.members}
    ops: list[Op] = []
    place = [0] * len(trace.ops)
    moved = [False] * len(trace.ops)  # merged into a kernel, or removed with one
    for index in run:
        place[index] = len(ops)
        lost = not flow.computes[index] and inside.intersection(flow.reads[index])
        moved[index] = bool(lost)
        if not lost:
            ops.append(whole.get(index, trace.ops[index]))
    for index, last in stands.items():
        place[index], moved[index] = place[last], True
    return trace.with_ops(ops, _lives(trace, ops, place, moved), place)


def _lives(trace: Trace, ops: list[Op], place: list[int], moved: list[bool]) -> list[Storage]:
    """The storages with new lifetimes. A storage that is only used inside a kernel is never
    allocated. Storages that were freed after their last use are freed after their new last use;
    others are freed at the same place as before."""
    last_use = {storage: index for index, op in enumerate(trace.ops) for storage in op.storages}
    last: dict[int, int] = {}
    for index, op in enumerate(ops):
        for storage in op.storages:
            last[storage] = index
    ends = [0]  # by op, the new end of storages that were freed before it
    for index in range(len(trace.ops)):
        ends.append(ends[-1] if moved[index] else max(ends[-1], place[index] + 1))
    storages: list[Storage] = []
    for number, storage in enumerate(trace.storages):
        if storage.born >= 0 and moved[storage.born] and number not in last:
            storages.append(replace(storage, nbytes=0, born=0, freed=0))
            continue
        freed = storage.freed
        if freed is not None:
            at_once = number in last and last_use.get(number, -1) + 1 == freed
            freed = max(0 if at_once else ends[freed], last.get(number, -1) + 1)
        born = storage.born if storage.born < 0 else place[storage.born]
        storages.append(replace(storage, born=born, freed=freed))
    return storages
