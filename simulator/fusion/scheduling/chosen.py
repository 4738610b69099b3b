"""A chosen set of ops as one kernel: the memory that it reads and writes, or the reason why it
cannot be one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from simulator.caches.derived import Derived
from simulator.errors import InputError
from simulator.fusion.costed import costed
from simulator.fusion.dataflow import Dataflow, Value, dataflow
from simulator.fusion.dependencies import Needs, detour, needs
from simulator.fusion.group import Group
from simulator.fusion.kinds import kind, why_not
from simulator.fusion.lowering.arithmetic import arithmetic
from simulator.fusion.lowering.contraction import contracted
from simulator.fusion.lowering.epilogue import is_product, with_epilogue
from simulator.fusion.lowering.lowering import Lowering
from simulator.fusion.node import Node
from simulator.fusion.scheduling import by_hand
from simulator.fusion.scheduling.fused_trace import external
from simulator.fusion.scheduling.scheduling import can_share_kernel
from simulator.fusion.scheduling.work import arguments
from simulator.hardware.gpu import GPU
from simulator.hardware.waits import syncs
from simulator.records import Op, Signature, Tensor, Trace

REFERENCE = GPU(
    id="132 units", name="132 units", memory_bytes=1, bandwidth_bytes_per_s=1.0, units=132
)
"""Reductions are split as on this GPU, because an edit of a trace is the same for every GPU."""


@dataclass(frozen=True)
class Kernel:
    """A kernel in the place of ops `members` (indices in order). `op` replaces the members, and
    only the members touch the values `inside`."""

    members: tuple[int, ...]
    op: Op
    inside: frozenset[Value]


_NEEDS = Derived[Needs]()


class Chosen:
    """Builds kernels from sets of ops of one trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.flow: Dataflow = dataflow(trace)
        self._signatures: dict[str, Signature] = {}
        self._known: dict[tuple[int, ...], Kernel] = {}

    @cached_property
    def needed(self) -> Needs:
        return _NEEDS.get(self.trace, lambda: needs(self.trace, self.flow))

    @cached_property
    def _fetched(self) -> set[Value]:
        """Values that the host reads."""
        return {
            value
            for index, op in enumerate(self.trace.ops)
            if not self.flow.computes[index] and syncs(op.signature)
            for value in self.flow.reads[index]
        }

    def computing(self, indices: Iterable[int]) -> tuple[int, ...]:
        """The ops that launch a kernel, in order."""
        return tuple(sorted(i for i in set(indices) if self.flow.computes[i]))

    def kernel(self, indices: Iterable[int]) -> Kernel:
        """The kernel of a set of ops. Raises InputError if it cannot be one kernel."""
        members = self.computing(indices)
        if members not in self._known:
            self._known[members] = self._checked(members)
        return self._known[members]

    def _checked(self, members: tuple[int, ...]) -> Kernel:
        if len(members) < 2:
            only = f" {self.label(members[0])}" if members else ""
            raise InputError(
                f"{'one op alone' if members else 'no op that launches'}{only}: expected two or "
                "more; choose others as well"
            )
        product = self._product(members)
        loops = tuple(index for index in members if index != product)
        nodes = Lowering(self.trace, REFERENCE, only=frozenset(members), flow=self.flow).of(loops)
        self._check_space(nodes, product)
        if cycle := detour(members, self.needed):
            first, outside, second = map(self.label, cycle)
            raise InputError(
                f"a cycle: {outside} is not chosen, but needs {first}, and {second} needs "
                f"{outside}; choose {outside} too, or a shorter chain"
            )
        return self._kernel_of(members, nodes, product)

    def label(self, index: int) -> str:
        """An op's name and number."""
        return f"{self.trace.ops[index].name.split('.')[1]} (op {index})"

    def _product(self, members: Sequence[int]) -> int | None:
        """The matrix product among the members, whose epilogue the other ops are; None if no member
        is a product."""
        product: int | None = None
        phases = {self.trace.ops[index].phase for index in members}
        if len(phases) > 1:
            raise InputError(
                f"the ops belong to {' and '.join(sorted(phases))}, with the loss between them: "
                "expected ops of one phase; choose one with phase="
            )
        for index in members:
            op = self.trace.ops[index]
            if syncs(op.signature) or (costed(op.signature) and "nonzero" in op.name):
                raise InputError(
                    f"{self.label(index)} depends on data: the host waits for the sizes of later "
                    "ops; leave it out"
                )
            if op.phase == "optimizer" or (kind(op.signature) == "library" and not is_product(op)):
                raise InputError(
                    f"{self.label(index)} cannot be fused: {why_not(op.signature)}; leave it out"
                )
            if kind(op.signature) != "library":
                continue
            if product is not None:
                raise InputError(
                    f"two library kernels, {self.label(product)} and {self.label(index)}: expected "
                    "one at most, followed by loops over its result; leave one out"
                )
            product = index
        if product is not None:
            self._check_epilogue(product, members)
        return product

    def _check_epilogue(self, product: int, members: Sequence[int]) -> None:
        produced = {
            value for index in members if index != product for value in self.flow.makes[index]
        }
        if produced & set(self.flow.reads[product]):
            raise InputError(
                f"{self.label(product)} reads the result of another chosen op: a library kernel "
                "takes its operands from memory; choose ops that follow it"
            )
        reading = {
            value for index in members if index != product for value in self.flow.reads[index]
        }
        if not reading & set(self.flow.makes[product]):
            raise InputError(
                f"no chosen op reads the result of {self.label(product)}: expected a loop that "
                "reads it; choose such a loop too, or leave the product out"
            )

    def _check_space(self, nodes: Sequence[Node], product: int | None) -> None:
        """Raise InputError unless all loops go over the same elements, in one launch."""
        for at, node in enumerate(nodes):
            if node.partial:
                raise InputError(
                    f"the sums of {self._of(node)} are split over the GPU's units, and a "
                    "second launch adds them up; leave it out"
                )
            if product is not None:
                out = self.trace.ops[product].outputs[0].numel
                if node.kind == "reduction" or node.rows != out:
                    raise InputError(
                        f"{self._of(node)} {_space(node)}, {self.label(product)} makes {out:,} "
                        "elements: an epilogue loops over the product's elements; leave it out"
                    )
            for other in nodes[:at]:
                if not can_share_kernel(other, node):
                    raise InputError(
                        f"different shapes: {self._of(other)} {_space(other)}, {self._of(node)} "
                        f"{_space(node)}; leave one out"
                    )

    def _of(self, node: Node) -> str:
        return self.label(node.ops[-1])

    def _kernel_of(
        self, members: tuple[int, ...], nodes: list[Node], product: int | None
    ) -> Kernel:
        first, last = self.trace.ops[members[0]], self.trace.ops[members[-1]]
        inside = set(members)
        produced = {value for index in members for value in self.flow.makes[index]}
        needed = {value for value in produced if self._leaves(value, inside)}
        group = Group(nodes, 0, 0)
        reads, writes = external(group)
        reads = {
            k: min(size, self._eager_reads(k, members))
            for k, size in reads.items()
            if k not in produced
        }
        own = self.trace.ops[members[0] if product is None else product]
        if product is not None:
            reads = {k: v for k, v in reads.items() if k not in self.flow.reads[product]}
            sizes = zip(self.flow.makes[product], own.outputs, strict=True)
            writes |= {value: tensor.nbytes for value, tensor in sizes}
        writes = {k: size for k, size in writes.items() if k in needed}
        loops = [index for index in members if index != product]
        each = [arithmetic(self.trace.ops[i].signature, by_hand=True) for i in loops]
        of = {value: index for index in loops for value in self.flow.makes[index]}
        saved = sum(contracted(self.trace, self.flow, i, lambda v: of.get(v, -1)) for i in loops)
        work = sum(flops for flops, _ in each), sum(count for _, count in each) - saved
        names = ", ".join(dict.fromkeys(self.trace.ops[i].name.split(".")[1] for i in members))
        ins, outs = tuple(map(_bytes, reads.values())), tuple(map(_bytes, writes.values()))
        storages = (*(key[0] for key in reads), *(key[0] for key in writes))
        if product is not None:
            signature = with_epilogue(own, ins, outs, work, names)
            storages = (*own.storages[: len(own.inputs)], *storages)
        else:
            sums = next((node for node in nodes if node.kind == "reduction"), None)
            rows = by_hand.sums(self.trace.ops[i].signature for i in loops)
            args = arguments(nodes, len(ins) + len(outs), work, names, generated=False, sums=rows)
            signature = Signature(
                f"fused.{'pointwise' if sums is None else 'reduction'}.default",
                ins,
                outs,
                ("reads",) * len(ins),
                args,
            )
        signature = self._signatures.setdefault(repr(signature), signature)
        nodes_run = min(1, sum(self.trace.ops[i].autograd_nodes for i in members))
        op = Op(
            signature,
            last.module,
            first.phase,
            storages,
            first.python_calls,
            first.module_calls,
            nodes_run,
        )
        return Kernel(members, op, frozenset(produced - needed))

    def _leaves(self, value: Value, inside: set[int]) -> bool:
        """Whether ops outside a set need a value."""
        outside = any(user not in inside for user in self.flow.users.get(value, ()))
        return outside or value in self.flow.stored or value in self._fetched

    def _eager_reads(self, value: Value, members: Sequence[int]) -> int:
        """Bytes of this value that the members read; for a table, only those of the rows looked
        up."""
        return sum(
            work.read_bytes
            for index in members
            if value in self.flow.reads[index]
            for work in costed(self.trace.ops[index].signature) or ()
        )


def _space(node: Node) -> str:
    if node.kind == "reduction":
        return f"reduces {node.rows:,} times {node.cols:,} elements"
    return f"loops over {node.rows:,} elements"


def _bytes(size: int) -> Tensor:
    return Tensor((size,), "uint8", (1,))
