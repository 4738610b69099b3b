"""The optimizer's step compiled alone (torch.compile(optimizer.step)), as Inductor groups it.

An update over lists becomes one loop per weight, whose arithmetic stays in registers, and a kernel
takes the loops of many weights. `ForeachKernelSchedulerNode` (torch/_inductor/scheduler.py) fuses
list by list; `ComboKernel` (codegen/triton_combo_kernel.py) splits the loops after 250 buffers that
they read and write. The step counters move to the GPU (`move_step_if_cpu` of torch/_dynamo/
variables/optimizer.py), where separate kernels increment them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from simulator.errors import InputError
from simulator.fusion.host.compiled_host import compiled_host
from simulator.fusion.lowering.arithmetic import arithmetic
from simulator.hardware.host import host
from simulator.records import Op, Signature, Tensor, Trace
from simulator.scenario.resolved import Selective
from simulator.whatif.edits.rewriting import Rewriting, dense

_ARGUMENTS = 250  # maximum arguments of one kernel (config.combo_kernel_max_num_args)


@dataclass
class _Loop:
    """The update of one weight: the bytes that it reads and writes by storage, and its
    arithmetic."""

    elements: int
    reads: dict[int, int] = field(default_factory=dict[int, int])
    writes: dict[int, int] = field(default_factory=dict[int, int])
    flops: int = 0
    instructions: int = 0

    @property
    def arguments(self) -> int:
        """Arguments as Inductor counts them: one for each buffer read. Each buffer written counts
        as two, the write and its ordering after the reads, and all except the last one count as one
        more, a value that is read later."""
        return len(self.reads) + 3 * len(self.writes) - 1


@dataclass(frozen=True)
class CompiledUpdate(Selective[list[int]]):
    """The optimizer's ops as generated kernels."""

    rank: int = 1

    def chosen(self, trace: Trace) -> list[int]:
        """The indices of the ops over lists; [] if they are compiled already. Raises InputError if
        no optimizer works on lists of tensors."""
        own = [i for i, op in enumerate(trace.ops) if op.phase == "optimizer"]
        if any(op.name.startswith("fused.") for op in (trace.ops[i] for i in own)):
            return []
        listed = [i for i in own if "._foreach_" in trace.ops[i].name]
        if not listed or any("._fused_" in trace.ops[i].name for i in own):
            raise InputError(
                f"compiled_optimizer: nothing to fuse in optimizer {trace.optimizer}: expected "
                "adamw or sgd, whose ops work on lists of tensors; choose one of them"
            )
        return listed

    def rewritten(self, trace: Trace, chosen: list[int]) -> Trace:
        """The trace with generated kernels instead of all ops of the optimizer."""
        if not chosen:
            return trace
        own = [i for i, op in enumerate(trace.ops) if op.phase == "optimizer"]
        change = Rewriting(trace)
        loops, counters = _loops(trace, chosen, change)
        kernels = [
            _kernel(part, trace.ops[own[0]]) for group in (counters, loops) for part in _cut(group)
        ]
        inputs = sum(len(loop.reads) for loop in loops)
        kernels[0] = Op(
            kernels[0].signature,
            "",
            "optimizer",
            kernels[0].storages,
            python_calls=_entry_calls(inputs),
        )
        for index in own:
            change.put(index, ())
        change.put(own[-1], kernels)
        return change.done()


def _entry_calls(inputs: int) -> int:
    """The number of Python calls that take as long as entering compiled code with this many input
    tensors. A trace does not depend on a host, and both times scale with the host's speed."""
    costs = compiled_host().launched
    return round((costs.call_s + costs.input_s * inputs) / host().seconds["python_call"])


def _loops(
    trace: Trace, listed: Sequence[int], change: Rewriting
) -> tuple[list[_Loop], list[_Loop]]:
    """One loop for each weight, and one for each step counter."""
    loops: dict[int, _Loop] = {}  # by storage, the loop that touches it
    counters: list[_Loop] = []
    inside: set[int] = set()
    for index in listed:
        op = trace.ops[index]
        rows = list(_by_place(op))
        flops, instructions = arithmetic(op.signature)
        elements = sum(tensors[0].numel for tensors, _ in rows)
        for tensors, storages in rows:
            if tensors[0].device == "cpu":
                counter = change.storage(4, "optimizer", permanent=True)
                counters.append(_Loop(1, {counter: 4}, {counter: 4}, 1, 1))
                continue
            loop = _joined(loops, storages) or _Loop(tensors[0].numel)
            for tensor, storage in zip(tensors, storages, strict=True):
                loops[storage] = loop
                life = trace.storages[storage]
                if life.role == "activation" and life.born >= listed[0]:
                    inside.add(storage)
                else:
                    loop.reads[storage] = tensor.nbytes
            if op.name.split(".")[1].endswith("_") and storages[0] not in inside:
                loop.writes[storages[0]] = tensors[0].nbytes
            share = tensors[0].numel / max(elements, 1)
            loop.flops += round(flops * share)
            loop.instructions += round(instructions * share)
    for storage in inside:
        change.resize(storage, 0)
    distinct = list({id(loop): loop for loop in loops.values()}.values())
    for loop, counter in zip(distinct, counters, strict=False):
        loop.reads |= counter.reads
    return distinct, counters


def _joined(loops: dict[int, _Loop], storages: Sequence[int]) -> _Loop | None:
    """The loop that touches one of these storages; several such loops are merged into one."""
    touching = list({id(loops[s]): loops[s] for s in storages if s in loops}.values())
    for other in touching[1:]:
        first = touching[0]
        first.reads |= other.reads
        first.writes |= other.writes
        first.flops += other.flops
        first.instructions += other.instructions
        loops |= {s: first for s, loop in loops.items() if loop is other}
    return touching[0] if touching else None


def _by_place(op: Op) -> Iterator[tuple[list[Tensor], list[int]]]:
    """The tensors at each place of an op's input lists and outputs, with their storages."""
    names = list(dict.fromkeys(op.signature.names))
    places_of = {name: [i for i, n in enumerate(op.signature.names) if n == name] for name in names}
    lists = [places_of[name] for name in names if len(places_of[name]) == len(places_of["self"])]
    if op.outputs:
        lists.append(list(range(len(op.inputs), len(op.inputs) + len(op.outputs))))
    tensors = (*op.inputs, *op.outputs)
    for places in zip(*lists, strict=True):
        yield [tensors[i] for i in places], [op.storages[i] for i in places]


def _cut(loops: Sequence[_Loop]) -> Iterator[list[_Loop]]:
    """Split loops, in order, into groups that each fit in one kernel."""
    part: list[_Loop] = []
    count = 0
    for loop in loops:
        if part and count + loop.arguments > _ARGUMENTS:
            yield part
            part, count = [], 0
        part.append(loop)
        count += loop.arguments
    if part:
        yield part


def _kernel(loops: Sequence[_Loop], like: Op) -> Op:
    """The loops as one launch."""
    reads = [(s, size) for loop in loops for s, size in loop.reads.items()]
    writes = [(s, size) for loop in loops for s, size in loop.writes.items()]
    elements = sum(loop.elements for loop in loops)
    operands = max(len(loop.reads) + len(loop.writes) for loop in loops)
    moves = sum((len(loop.reads) + len(loop.writes)) * loop.elements for loop in loops)
    ins, outs = (tuple(dense((size,), "uint8") for _, size in side) for side in (reads, writes))
    args = {
        "flops": sum(loop.flops for loop in loops),
        "instructions": sum(loop.instructions for loop in loops) + moves,
        "rows": 0,
        "ops": f"update of {len(loops)}",
        "elements": elements,
        "cols": 0,
        "operands": operands,
        "generated": True,
    }
    signature = Signature("fused.pointwise.default", ins, outs, ("reads",) * len(ins), args)
    return Op(signature, "", like.phase, tuple(s for s, _ in (*reads, *writes)))
