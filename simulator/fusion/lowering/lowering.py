"""From ops to loop nests, as Inductor's lowering does it: a value that only loops read is computed
where it is read; one that a library reads, that leaves the graph, or that grew too long is stored.

Rules of torch/_inductor: `StorageBox.should_realize_on_reuse` and `has_exceeded_max_reads` (ir.py),
`realize_reads_threshold`, `realize_acc_reads_threshold`, `realize_opcount_threshold` (config.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from simulator.fusion.dataflow import Dataflow, Value, dataflow
from simulator.fusion.graphs import graphs
from simulator.fusion.kinds import adds, kind
from simulator.fusion.lowering.access import Part, read, relaid, value_of, way
from simulator.fusion.lowering.arithmetic import arithmetic, folded, in_registers
from simulator.fusion.lowering.contraction import contracted
from simulator.fusion.lowering.gradients import accumulated
from simulator.fusion.lowering.library_calls import LibraryCalls
from simulator.fusion.lowering.padding import Seconds
from simulator.fusion.lowering.pieces import accumulate, concatenate, scatter
from simulator.fusion.lowering.recompute import instructions, together
from simulator.fusion.lowering.sectors import sector_bytes
from simulator.fusion.lowering.seeds import drawing, seeds
from simulator.fusion.node import Anew, Key, Node, Pending
from simulator.fusion.offsets import offsets
from simulator.fusion.tangents import is_tangent
from simulator.hardware.gpu import GPU
from simulator.records import Op, Tensor, Trace
from simulator.timing.rates import UNITS_SEEN

_JOINED = 8  # operands at most that one loop joins (config.max_pointwise_cat_inputs)
_READS_IF_SHARED, _READS, _OPS = 4, 8, 30
_SCALAR_BYTES = 8
_SCATTERED = (
    "aten.embedding_dense_backward.default",
    "aten.max_pool2d_with_indices_backward.default",
)


class Lowering:
    """Builds the loop nests of one trace; `nodes` in program order. Of `only` these ops, if they
    are given: all others are calls that read and write memory, as they are in eager mode. Where it
    is not `inductor` that compiles, images lie as they do and products keep their biases."""

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
        self.made: dict[Value, Tensor] = {}  # by loops
        self.maker: dict[Value, int] = {}  # the op of that loop
        self.trace, self.gpu, self.reductions = trace, gpu, reductions
        self.flow: Dataflow = flow or dataflow(trace)
        self.graphs = graphs(trace)
        self.offsets = offsets(trace, self.flow.computes) if self.inductor else []
        self.nodes: list[Node] = []
        self.pending: dict[Key, Pending] = {}
        self.kinds: dict[int, str] = {}
        self.number = count()
        self.calls = LibraryCalls(self, seconds)

    def run(self) -> list[Node]:
        drawn = drawing(self.trace, self.flow.computes) if self.inductor else []
        for index, op in enumerate(self.trace.ops):
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
        """What op `index` becomes."""
        if self.only is not None and index not in self.only:
            return "library"
        if self.only is None and self.graphs.eager(index):
            return "library"
        op = self.trace.ops[index]
        key = id(op.signature)
        if key not in self.kinds:
            found = kind(op.signature)
            if found == "reduction" and not self.reductions:
                found = "library"
            self.kinds[key] = found
        eager = op.phase == "optimizer" or op.name == "aten.ones_like.default" or is_tangent(op)
        return "library" if eager else self.kinds[key]

    def _lower(self, index: int, op: Op) -> None:
        how = self.kind(index)
        if how == "library":
            self.calls.lower(index, op)
        elif how == "pointwise":
            self._loop(index, op)
        elif how == "reduction":
            lower_reduction(self, index, op)

    # -- loops ------------------------------------------------------------------------------------

    def _loop(self, index: int, op: Op) -> None:
        """An op over elements: each output is pending until something must store it."""
        flops, instructions = arithmetic(op.signature)
        instructions -= folded(op.signature) if self.inductor else 0
        reads = self.inputs(index, op)
        if op.name in _SCATTERED:
            scatter(self, index, op, reads)
            return
        if adds(op.signature):
            accumulate(self, index, op)
            return
        many = len(op.inputs) > _JOINED and op.name in ("aten.cat.default", "aten.stack.default")
        if many and self.inductor:
            concatenate(self, index, op)
            return
        if "max_pool2d" in op.name or "avg_pool" in op.name:
            for value in self.flow.reads[index]:
                self.hint(value)
        instructions -= contracted(self.trace, self.flow, index, self._last_of)
        self.make(
            index, reads, zip(self.flow.makes[index], op.outputs, strict=True), flops, instructions
        )

    def _last_of(self, value: Value) -> int:
        """The op that computes a value where it is read, -1 where it is stored."""
        return self.pending[value].ops[-1] if value in self.pending else -1

    def in_registers(self, rows: int, inner: bool, reads: dict[Key, int]) -> int:
        """Elements of a row at most that a kernel which reads this keeps in registers."""
        apart = any(isinstance(key, Part) and key.way for key in self.through(reads)[0])
        return in_registers(rows, inner and apart, self.gpu.units or UNITS_SEEN)

    # -- values -----------------------------------------------------------------------------------

    def inputs(self, index: int, op: Op, *names: str) -> dict[Key, int]:
        """Bytes that reading an op's inputs (those of these names) touches, by value."""
        reads: dict[Key, int] = {}
        rows = op.outputs[0].nbytes if "embedding" in op.name and op.outputs else None
        for place, (value, tensor, name) in enumerate(
            zip(self.flow.reads[index], op.inputs, op.signature.names, strict=True)
        ):
            if (names and name not in names) or tensor.device == "cpu":
                continue
            size = sector_bytes(tensor)
            if rows is not None and name == "weight":
                size = min(size, rows)
            key = self.key(index, op, place, value)
            reads[key] = max(reads.get(key, 0), size)
        return reads

    def key(self, index: int, op: Op, place: int, value: Value) -> Key:
        """How an op reads its input number `place`."""
        if not self.inductor:
            return value
        tensor = op.inputs[place]
        if value in self.made:
            tensor = relaid(tensor, self.made[value])
        how = way(op, place, tensor, self.kind(index) == "pointwise")
        if "batch_norm" in op.name or (self.calls.channels_last and tensor.dense):
            how = ()  # images lie in the order that suits their reader
        elif how and value in self.made and _sizes(tensor) != _sizes(self.made[value]):
            how = (("view", tensor.shape), *how)  # no order of the loops makes these the same
        return read(value, self.offsets[index][place], how)

    def make(
        self,
        index: int,
        reads: dict[Key, int],
        results: Iterable[tuple[Value, Tensor]],
        flops: int,
        instructions: int,
    ) -> None:
        """Values of one loop over elements; each is stored now where it must be."""
        shared, ops = self.through(reads)
        stored: dict[Value, int] = {}
        numel = 0
        held = self._held(reads)
        flops += sum(each.flops for each in held)
        anew = together(held)
        ops = (*ops, index)
        for value, tensor in results:
            users = self.flow.users.get(value, [])
            if not users and value not in self.flow.kept:
                continue
            self.made[value] = tensor
            whole = anew | {index: Anew(instructions, tensor.shape)}
            self.maker[value] = index
            self.pending[value] = Pending(shared, ops, flops, whole)
            numel = max(numel, tensor.numel)
            if self._must_store(value, users, shared, ops):
                stored[value] = tensor.nbytes
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
                anew=anew,
            )
            self.nodes.append(node)

    def _must_store(
        self, value: Value, users: list[int], reads: dict[Key, int], ops: tuple[int, ...]
    ) -> bool:
        if value in self.flow.kept or len(reads) > _READS:
            return True
        if self.only is None and self.graphs.cross(ops[-1], users):
            return True
        kinds = [self._reader(user, value) for user in users]
        if "library" in kinds:
            return True
        parts = sum(self._parts(user, value) for user in users)
        often = parts > 1 or "reduction" in kinds
        return often and (len(reads) > _READS_IF_SHARED or len(ops) > _OPS)

    def _reader(self, user: int, value: Value) -> str:
        """What reads a value: of a convolution's bias it is a loop."""
        op = self.trace.ops[user]
        if self.inductor and op.name == "aten.convolution.default" and "bias" in op.signature.names:
            reads = self.flow.reads[user]
            if reads[op.signature.names.index("bias")] == value and reads.count(value) == 1:
                return "pointwise"
        if self.inductor and self.calls.pads(user, value):
            return "pointwise"
        return self.kind(user)

    def _parts(self, user: int, value: Value) -> int:
        """In how many ways an op reads a value."""
        places = [i for i, read in enumerate(self.flow.reads[user]) if read == value]
        if len(places) < 2 or not self.inductor:
            return 1
        op = self.trace.ops[user]
        return len({(self.offsets[user][i], op.inputs[i].shape) for i in places})

    def store(self, value: Key) -> None:
        """Store a value that was to be computed where it is read."""
        held = self.pending.pop(value, None)
        if held is None:
            return
        tensor = self.made[value]
        slots = instructions([Node("pointwise", tensor.numel, anew=held.anew)])
        self.nodes.append(
            Node(
                "pointwise",
                tensor.numel,
                1,
                True,
                dict(held.reads),
                {value: tensor.nbytes},
                held.ops,
                held.flops,
                slots,
            )
        )

    def hint(self, value: Value) -> None:
        """Store a value whose elements are read many times, unless that costs no more than to read
        what it is made of (`StorageBox.realize_hint`)."""
        held = self.pending.get(value)
        if held is not None and (
            not self.inductor or sum(size > _SCALAR_BYTES for size in held.reads.values()) > 1
        ):
            self.store(value)

    def through(self, reads: dict[Key, int]) -> tuple[dict[Key, int], tuple[int, ...]]:
        """What is read from memory for these values, and the ops computed on the way."""
        found: dict[Key, int] = {}
        ops: dict[int, None] = {}
        for value, size in reads.items():
            held = self.pending.get(value_of(value))
            for inner, amount in ({value: size} if held is None else held.reads).items():
                through = held is not None and isinstance(value, Part)
                key = read(inner, 0, (value.offset, *value.way)) if through else inner
                part = self._part(value, size) if through else 1.0
                found[key] = max(found.get(key, 0), round(amount * part))
            ops |= dict.fromkeys(held.ops if held else ())
        return found, tuple(ops)

    def _part(self, key: Part, size: int) -> float:
        """How much of a value that is computed where it is read a reader of so many bytes wants."""
        whole = self.made.get((key.storage, key.version))
        return min(size / whole.nbytes, 1.0) if whole is not None and whole.nbytes else 1.0

    def _held(self, reads: Iterable[Key]) -> list[Pending]:
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
        held = self._held(reads)
        return Node(
            "reduction" if how == "reduction" else "pointwise",
            rows,
            cols,
            inner,
            shared,
            {},
            (*before, *ops),
            flops + sum(h.flops for h in held),
            slots,
            anew=together(held),
            looped=how == "reduction" and cols > self.in_registers(rows, inner, reads),
        )


def _sizes(tensor: Tensor) -> list[int]:
    return sorted(size for size in tensor.shape if size > 1)


def lower_reduction(made: Lowering, index: int, op: Op) -> None:
    """An op with a reduction in it, as Inductor decomposes it."""
    from simulator.fusion.lowering.decompositions import decompose

    decompose(made, index, op)
