"""Lower ops to loop nests, as Inductor does. A value that only loops read is computed where it is
read; a value that a library reads, that leaves the graph, or that takes too many ops is stored
(`realizing`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from simulator.caches.cancelling import check_cancelled
from simulator.fusion.dataflow import Dataflow, Value, begins_backward, dataflow, reads_no_input
from simulator.fusion.graphs import graphs
from simulator.fusion.kinds import kind, needs_hopper
from simulator.fusion.lowering.access import Part, read, value_of
from simulator.fusion.lowering.arithmetic import arithmetic, folded, in_registers
from simulator.fusion.lowering.contraction import contracted
from simulator.fusion.lowering.decompositions import decompose
from simulator.fusion.lowering.library.calls import LibraryCalls
from simulator.fusion.lowering.library.gradients import accumulated
from simulator.fusion.lowering.library.padded_products import PaddedProducts
from simulator.fusion.lowering.library.padding import Seconds
from simulator.fusion.lowering.pieces import in_pieces, joins
from simulator.fusion.lowering.pooling import is_pool, pool
from simulator.fusion.lowering.read_keys import read_key
from simulator.fusion.lowering.realizing import must_store, widened
from simulator.fusion.lowering.recompute import instructions, merge_recomputed
from simulator.fusion.lowering.sectors import sector_bytes
from simulator.fusion.lowering.seeds import drawing, seeds
from simulator.fusion.node import Key, Node, Pending, Recomputed
from simulator.fusion.offsets import offsets
from simulator.fusion.tangents import is_tangent
from simulator.hardware.gpu import GPU
from simulator.records import Op, Tensor, Trace
from simulator.timing.rates import UNITS_SEEN

_SCALAR_BYTES = 8
_HOPPER = 9, 0


class Lowering:
    """Builds the loop nests of one trace; `nodes` are in program order. With `only`, all ops except
    these are calls that read and write memory, as in eager mode. If the compiler is not `inductor`,
    images keep their layout, and products keep their biases."""

    def __init__(
        self,
        trace: Trace,
        gpu: GPU,
        reductions: bool = True,
        seconds: Seconds | None = None,
        only: frozenset[int] | None = None,
        flow: Dataflow | None = None,
        inductor: bool = True,
    ) -> None:
        self.only = only
        self.inductor = inductor and only is None
        self.computed: dict[Value, Tensor] = {}  # values of loops, stored or pending
        self.computed_by: dict[Value, int] = {}  # the op of each value
        self.trace, self.gpu, self.reductions = trace, gpu, reductions
        self.flow: Dataflow = flow or dataflow(trace, only is None)
        self.graphs = graphs(trace)
        self.offsets = offsets(trace, self.flow.computes) if self.inductor else []
        self.nodes: list[Node] = []
        self.pending: dict[Key, Pending] = {}
        self.widened: dict[Value, int] = {}  # bytes of stored values over those of their dtype
        self.parts: dict[int, int] = {}  # parts of inputs that are overwritten, by storage
        self.kinds: dict[int, str] = {}
        self.number = count()
        self.products = PaddedProducts(self, seconds)
        self.calls = LibraryCalls(self, self.products)

    def run(self) -> list[Node]:
        drawn = drawing(self.trace, self.flow.computes) if self.inductor else []
        for index, op in enumerate(self.trace.ops):
            if index % 64 == 0:
                check_cancelled()
            if index in drawn[:1]:
                self.nodes.append(seeds(op, index, len(drawn), next(self.number)))
            runs = self.flow.computes[index] or self.graphs.eager(index)
            if runs and op.phase != "optimizer":
                self._lower(index, op)
        if self.calls.channels_last:
            accumulated(self)
        return self.nodes

    def of(self, members: Iterable[int]) -> list[Node]:
        """The loop nests of these ops alone."""
        for index in members:
            self._lower(index, self.trace.ops[index])
        return self.nodes

    def kind(self, index: int) -> str:
        """The kind of node that op `index` becomes."""
        if self.only is not None and index not in self.only:
            return "library"
        if self.only is None and self.graphs.eager(index):
            return "library"
        op = self.trace.ops[index]
        key = id(op.signature)
        if key not in self.kinds:
            node_kind = kind(op.signature)
            old = (self.gpu.compute_capability or _HOPPER) < _HOPPER
            if (node_kind == "reduction" and not self.reductions) or (
                old and needs_hopper(op.signature)
            ):
                node_kind = "library"
            self.kinds[key] = node_kind
        eager = op.phase == "optimizer" or begins_backward(op) or is_tangent(op)
        return "library" if eager else self.kinds[key]

    def _lower(self, index: int, op: Op) -> None:
        node_kind = self.kind(index)
        if node_kind == "library":
            self.calls.lower(index, op)
        elif node_kind == "pointwise":
            self._loop(index, op)
        elif node_kind == "reduction":
            lower_reduction(self, index, op)

    # -- loops ------------------------------------------------------------------------------------

    def _loop(self, index: int, op: Op) -> None:
        """Lower an op over elements: each output is pending until it must be stored."""
        flops, instructions = arithmetic(op.signature)
        instructions -= folded(op.signature) if self.inductor else 0
        reads = self.inputs(index, op)
        if in_pieces(self, index, op, reads):
            return
        if is_pool(op):
            pool(self, index, op)
            return
        instructions -= contracted(self.trace, self.flow, index, self._last_of)
        self.make(
            index, reads, zip(self.flow.makes[index], op.outputs, strict=True), flops, instructions
        )

    def _last_of(self, value: Value) -> int:
        """The op that computes a value where it is read; -1 if the value is stored."""
        return self.pending[value].ops[-1] if value in self.pending else -1

    def in_registers(self, rows: int, inner: bool, reads: dict[Key, int]) -> int:
        """Maximum number of elements of a row that a kernel with these reads holds in registers."""
        apart = any(isinstance(key, Part) and key.way for key in self.through(reads)[0])
        return in_registers(rows, inner and apart, self.gpu.units or UNITS_SEEN)

    # -- values -----------------------------------------------------------------------------------

    def inputs(self, index: int, op: Op, *names: str) -> dict[Key, int]:
        """Bytes that an op touches to read its inputs, by value; only inputs with these names, if
        names are given."""
        reads: dict[Key, int] = {}
        if self.inductor and reads_no_input(op):
            return reads
        rows = op.outputs[0].nbytes if "embedding" in op.name and op.outputs else None
        for place, (value, tensor, name) in enumerate(
            zip(self.flow.reads[index], op.inputs, op.signature.names, strict=True)
        ):
            if (names and name not in names) or tensor.device == "cpu":
                continue
            size = sector_bytes(tensor) * self.widened.get(value, 1)
            if rows is not None and name == "weight":
                size = min(size, rows)
            key = read_key(self, index, op, place, value)
            reads[key] = max(reads.get(key, 0), size)
        return reads

    def make(
        self,
        index: int,
        reads: dict[Key, int],
        results: Iterable[tuple[Value, Tensor]],
        flops: int,
        instructions: int,
    ) -> None:
        """Lower one loop over elements: keep its results pending, and store those that must be
        stored."""
        shared, ops = self.through(reads)
        stored: dict[Value, int] = {}
        numel = 0
        pending = self._pending_values(reads)
        flops += sum(each.flops for each in pending)
        recomputed = merge_recomputed(pending, apart=joins(self.trace.ops[index]))
        ops = (*ops, index)
        for value, tensor in results:
            users = self.flow.users.get(value, [])
            if not users and value not in self.flow.stored:
                continue
            self.computed[value] = tensor
            whole = recomputed | {index: Recomputed(instructions, tensor.shape)}
            self.computed_by[value] = index
            self.pending[value] = Pending(shared, ops, flops, whole)
            numel = max(numel, tensor.numel)
            if must_store(self, value, users, shared, ops):
                self.widened[value] = widened(self, value, tensor, users)
                stored[value] = tensor.nbytes * self.widened[value]
        if stored:
            for value in stored:
                del self.pending[value]
            node = Node(
                "pointwise",
                numel,
                1,
                True,
                dict(shared),
                stored,
                ops,
                flops,
                instructions,
                recomputed=recomputed,
            )
            self.nodes.append(node)

    def store(self, value: Key) -> None:
        """Store a pending value."""
        pending = self.pending.pop(value, None)
        if pending is None:
            return
        tensor = self.computed[value]
        slots = instructions([Node("pointwise", tensor.numel, recomputed=pending.recomputed)])
        self.nodes.append(
            Node(
                "pointwise",
                tensor.numel,
                1,
                True,
                dict(pending.reads),
                {value: tensor.nbytes},
                pending.ops,
                pending.flops,
                slots,
            )
        )

    def hint(self, value: Value) -> None:
        """Store a value whose elements are read many times, unless it is computed from one input
        (`StorageBox.realize_hint`)."""
        pending = self.pending.get(value)
        if pending is not None and (
            not self.inductor or sum(size > _SCALAR_BYTES for size in pending.reads.values()) > 1
        ):
            self.store(value)

    def through(self, reads: dict[Key, int]) -> tuple[dict[Key, int], tuple[int, ...]]:
        """The reads from memory that these values need, and the ops that compute them."""
        read_keys: dict[Key, int] = {}
        ops: dict[int, None] = {}
        for value, size in reads.items():
            pending = self.pending.get(value_of(value))
            for inner, amount in ({value: size} if pending is None else pending.reads).items():
                through = pending is not None and isinstance(value, Part)
                key = read(inner, 0, (value.offset, *value.way)) if through else inner
                part = self._part(value, size) if through else 1.0
                read_keys[key] = max(read_keys.get(key, 0), round(amount * part))
            ops |= dict.fromkeys(pending.ops if pending else ())
        return read_keys, tuple(ops)

    def _part(self, key: Part, size: int) -> float:
        """The share of a pending value that a read of `size` bytes needs."""
        whole = self.computed.get((key.storage, key.version))
        return min(size / whole.nbytes, 1.0) if whole is not None and whole.nbytes else 1.0

    def _pending_values(self, reads: Iterable[Key]) -> list[Pending]:
        values = dict.fromkeys(map(value_of, reads))
        return [self.pending[value] for value in values if value in self.pending]

    def node(
        self,
        how: str,
        rows: int,
        cols: int,
        inner: bool,
        reads: dict[Key, int],
        ops: tuple[int, ...],
        flops: int,
        slots: int,
    ) -> Node:
        shared, before = self.through(reads)
        pending = self._pending_values(reads)
        return Node(
            "reduction" if how == "reduction" else "pointwise",
            rows,
            cols,
            inner,
            shared,
            {},
            (*before, *ops),
            flops + sum(h.flops for h in pending),
            slots,
            recomputed=merge_recomputed(pending),
            looped=how == "reduction" and cols > self.in_registers(rows, inner, reads),
        )


def lower_reduction(lowering: Lowering, index: int, op: Op) -> None:
    """Lower an op with a reduction in it, as Inductor decomposes it."""
    decompose(lowering, index, op)
