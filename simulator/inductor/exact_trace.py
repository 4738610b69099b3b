"""A schedule of Inductor as a trace whose ops are its launches, linked to the eager trace of the
same step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from simulator.fusion.dataflow import dataflow
from simulator.fusion.fused import Fused
from simulator.fusion.group import Group
from simulator.fusion.node import Node
from simulator.fusion.scheduling.fused_trace import in_bytes
from simulator.inductor.schedule import Launch, Schedule
from simulator.records import Op, Phase, Signature, Storage, Trace, touches

_CAST = "aten._to_copy.default"
Known = dict[tuple[str, str, str], list[int]]
"""Ops by name, module and phase, in order."""


def exact_trace(schedule: Schedule, origin: Trace) -> Fused:
    """The launches in order, then the eager ops of the optimizer. The `groups` name the ops of
    `origin` that each launch computes, if they can be identified."""
    ops_of = eager_ops(schedule, origin)
    storages, number = _storages(schedule, origin)
    grouped = list(launches(schedule, ("forward", "backward"), ops_of, number, True, _ones(origin)))
    groups, ops = [group for group, _ in grouped], [op for _, op in grouped]
    rest = [op for op in origin.ops if op.phase == "optimizer"]
    ops += rest
    exact = replace(origin, ops=ops, storages=lives(storages, ops), assumptions=[], breaks=[])
    by = f"Inductor of torch {schedule.torch_version} itself (triton {schedule.triton_version})"
    note = f"scheduled and written as source code by {by}; the optimizer stays eager"
    notes = note, *schedule.notes
    return Fused(exact, groups, origin, notes)


def launches(
    schedule: Schedule,
    phases: Sequence[Phase],
    ops_of: list[list[int]],
    number: list[int],
    filled: bool,
    ones: tuple[int, ...] = (),
) -> Iterator[tuple[Group, Op]]:
    """The launches of some phases as ops, with the eager ops that each computes.

    If `filled`, the gradients that autograd passes to the backward pass are filled before it; the
    smallest of them, that of the loss, is computed by the eager ops `ones`.
    """
    gradients = iter(
        sorted(_incoming_gradients(schedule), key=lambda b: schedule.buffers[b].nbytes)
    )
    for place, launch in enumerate(schedule.launches):
        if launch.phase not in phases:
            continue
        if launch.phase == "backward" and filled:
            for buffer in gradients:
                group = Group([Node("library", 1, ops=ones)], place, place)
                yield group, _filled(schedule, buffer, number)
                ones = ()
        mine = tuple(sorted({op for each in launch.origins for op in ops_of[each]}))
        node = Node(
            launch.kind,
            max(launch.rows, 1),
            ops=mine,
            flops=launch.flops,
            instructions=launch.instructions,
        )
        module = schedule.origins[launch.origins[0]].module if launch.origins else ""
        names = [schedule.origins[each].op.split(".")[1] for each in launch.origins]
        yield Group([node], place, place), _op(launch, module, names, number)


def eager_ops(schedule: Schedule, origin: Trace) -> list[list[int]]:
    """The indices of the eager ops of each origin of a schedule: the op with its name and number in
    its module and phase. For ops that only this compiler decomposes, all ops of the module that
    belong to no other origin."""
    flow = dataflow(origin)
    exactly: Known = defaultdict(list)
    of_module: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, op in enumerate(origin.ops):
        exactly[op.name, op.module, op.phase].append(index)
        if flow.computes[index]:
            of_module[op.module, op.phase].append(index)
    turned = _turned(schedule, origin, exactly)
    products = {op.module for op in origin.ops if "mm." in op.name or "convolution." in op.name}
    ops_of: list[list[int]] = []
    for each in schedule.origins:
        same = exactly.get((each.op, each.module, each.phase), [])
        last = each.op == _CAST and each.phase in turned and each.module in products
        place = -1 - each.number if last else each.number
        ops_of.append([same[place]] if each.number < len(same) else [])
    _swap_by_bytes(schedule, origin, ops_of)
    assigned = {*_ones(origin), *(op for ops in ops_of for op in ops)}
    for place, each in enumerate(schedule.origins):
        if not ops_of[place] and (each.op, each.module, each.phase) not in exactly:
            left = of_module[each.module, each.phase]
            ops_of[place] = [op for op in left if op not in assigned]
    return ops_of


def _ones(origin: Trace) -> tuple[int, ...]:
    """The op that creates the gradient of the loss."""
    first = next(((i, op) for i, op in enumerate(origin.ops) if op.phase == "backward"), None)
    return (first[0],) if first and first[1].name == "aten.ones_like.default" else ()


def _turned(schedule: Schedule, origin: Trace, known: Known) -> set[str]:
    """The phases in which the casts of a product are numbered in reverse. Autocast casts the
    operands of a call from the last to the first in eager mode, and from the first to the last when
    a compiler traces it. The bytes of casts that are separate launches show the order."""
    matches = Counter[tuple[str, bool]]()
    for launch in schedule.launches:
        each = schedule.origins[launch.origins[0]] if len(launch.origins) == 1 else None
        if each is None or each.op != _CAST or len(launch.reads) != 1:
            continue
        same = known.get((each.op, each.module, each.phase), [])
        if each.number < len(same):
            nbytes = launch.reads[0][1]
            for turned, op in ((False, same[each.number]), (True, same[-1 - each.number])):
                matches[each.phase, turned] += origin.ops[op].inputs[0].nbytes == nbytes
    return {
        phase for phase in ("forward", "backward") if matches[phase, True] > matches[phase, False]
    }


def _swap_by_bytes(schedule: Schedule, origin: Trace, ops_of: list[list[int]]) -> None:
    """Swap casts whose order still differs, as their bytes show."""
    for launch in schedule.launches:
        if len(launch.origins) != 1 or len(launch.reads) != 1:
            continue
        place, nbytes = launch.origins[0], launch.reads[0][1]
        each = schedule.origins[place]
        if each.op != _CAST or not ops_of[place]:
            continue
        if origin.ops[ops_of[place][0]].inputs[0].nbytes == nbytes:
            continue
        for other, ops in enumerate(ops_of):
            alike = schedule.origins[other]
            same = (alike.op, alike.module, alike.phase) == (each.op, each.module, each.phase)
            if same and ops and origin.ops[ops[0]].inputs[0].nbytes == nbytes:
                ops_of[place], ops_of[other] = ops_of[other], ops_of[place]
                break


def _op(launch: Launch, module: str, names: list[str], number: list[int]) -> Op:
    if launch.call is not None:
        tensors = len(launch.call.inputs) + len(launch.call.outputs)
        operands = launch.operands or tuple(b for b, _ in (*launch.reads, *launch.writes))
        operands = (*operands, *(operands[-1:] * tensors))[:tensors]
        return Op(launch.call, module, launch.phase, tuple(number[b] for b in operands))
    args = {
        "flops": launch.flops,
        "instructions": launch.instructions,
        "rows": launch.rows,
        "ops": ", ".join(dict.fromkeys(names)),
        "elements": launch.elements,
        "cols": launch.cols,
        "operands": len(launch.reads) + len(launch.writes),
        "generated": True,
    }
    reads, writes = (tuple(in_bytes(n) for _, n in each) for each in (launch.reads, launch.writes))
    signature = Signature(
        f"fused.{launch.kind}.default", reads, writes, ("reads",) * len(reads), args
    )
    touched = tuple(number[b] for b, _ in (*launch.reads, *launch.writes))
    return Op(signature, module, launch.phase, touched)


def _incoming_gradients(schedule: Schedule) -> list[int]:
    """The buffers of the gradients that the backward graph receives. These are gradients of the
    loss and other outputs, which autograd fills in every step. No forward launch touches them, and
    none writes them."""
    known = {b for each in schedule.launches for b, _ in each.writes}
    gradients: dict[int, None] = {}
    for launch in schedule.launches:
        if launch.phase == "backward":
            gradients |= dict.fromkeys(b for b, _ in launch.reads if b not in known)
        else:
            known.update(b for b, _ in launch.reads)
    return [b for b in gradients if schedule.buffers[b].role == "input"]


def _filled(schedule: Schedule, buffer: int, number: list[int]) -> Op:
    out = in_bytes(schedule.buffers[buffer].nbytes)
    return Op(
        Signature("aten.zeros.default", (), (out,), (), {}), "", "backward", (number[buffer],)
    )


def _storages(schedule: Schedule, origin: Trace) -> tuple[list[Storage], list[int]]:
    """The storages of the schedule and the eager trace, and the number of each buffer's storage.
    Weights, inputs and gradients are storages of the eager trace, matched by size."""
    own: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, storage in reversed(list(enumerate(origin.storages))):
        if storage.role != "activation":
            own[storage.role, storage.nbytes].append(index)
    storages = list(origin.storages)
    number: list[int] = []
    for buffer in schedule.buffers:
        known = own[buffer.role, buffer.nbytes] if buffer.role != "activation" else []
        if known:
            number.append(known.pop())
            continue
        number.append(len(storages))
        outlives = buffer.role != "activation"
        storages.append(
            Storage(buffer.nbytes, -1 if outlives else 0, None if outlives else 0, buffer.role)
        )
    return storages, number


def lives(storages: list[Storage], ops: list[Op]) -> list[Storage]:
    """Storages alive from the first op that touches them to the last; 0 bytes if no op does."""
    first, last = touches(ops)
    buffers: list[Storage] = []
    for number, storage in enumerate(storages):
        if storage.born < 0:
            freed = None if storage.freed is None else last.get(number, 0) + 1
            buffers.append(replace(storage, freed=freed))
        elif number in first:
            lasts = storage.freed is None or storage.role == "gradient"
            freed = None if lasts else last[number] + 1
            buffers.append(replace(storage, born=first[number], freed=freed))
        else:
            buffers.append(replace(storage, nbytes=0, born=0, freed=0))
    return buffers
