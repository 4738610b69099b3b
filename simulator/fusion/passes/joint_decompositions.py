"""Ops that Inductor decomposes before torch's partitioner sees them
(torch/_inductor/decomposition.py, torch/_decomp/decompositions.py). A softmax becomes the maximum
and the sum of each row, and loops that the backward pass recomputes; a batch norm in training
becomes its moments and a loop. The backward of a ReLU reads a mask of zeros; the backward of a
clamp compares in full precision.
"""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.fusion.dataflow import Value, dataflow
from simulator.fusion.passes.decomposing import DecomposedTrace, GraphBuilder, Operand
from simulator.fusion.tangents import gradient_of, returned
from simulator.records import Op, Tensor, Trace, row_major

_SOFTMAXES = ("aten._softmax.default", "aten._log_softmax.default")
_WIDENING = (
    "aten.native_batch_norm_backward.default",
    "aten.native_layer_norm_backward.default",
    "aten._fused_rms_norm_backward.default",
    "aten.native_group_norm_backward.default",
)
_WIDE_BYTES = 4  # bytes per element in full precision
_WINDOW = 25  # largest window whose index is stored in a byte


def decompose(trace: Trace) -> DecomposedTrace:
    """The step in which decompositions replace these ops."""
    graph, flow = GraphBuilder(trace), dataflow(trace, whole=True)
    relus: dict[Value, int] = {}
    pools: dict[Value, int] = {}
    for index, op in enumerate(trace.ops):
        if op.name in _SOFTMAXES and op.phase == "forward":
            graph.parts[index] = _softmax(graph, op)
        elif op.name in ("aten.relu.default", "aten.relu_.default") and op.phase == "forward":
            relus[flow.makes[index][0]] = index
        elif op.name == "aten.threshold_backward.default" and not op.signature.arg("threshold", 0):
            forward = relus.get(flow.reads[index][1])
            if forward is not None and forward not in graph.parts:
                _relu(graph, forward, index)
        elif op.name == "aten.native_batch_norm.default" and op.signature.arg("training", False):
            graph.parts[index] = _batch_norm(graph, op)
        elif op.name == "aten.hardtanh_backward.default":
            graph.parts[index] = _hardtanh(graph, op)
        elif op.name in _WIDENING and op.inputs[0].itemsize < _WIDE_BYTES:
            graph.parts[index] = _widened(graph, op, flow.reads[index][0])
        elif op.name == "aten.max_pool2d_with_indices_backward.default":
            indices = flow.reads[index][op.signature.names.index("indices")]
            if indices in pools and _low_memory(trace.ops[pools[indices]]):
                _max_pool(graph, pools[indices], index)
        elif op.name == "aten.max_pool2d_with_indices.default" and op.phase == "forward":
            pools[flow.makes[index][1]] = index
        elif op.name == "aten.detach.default" and op.phase == "backward":
            graph.parts[index] = ()  # detaches a saved tensor; it reads no memory
    for producer, out in returned(trace, flow):
        gradient = gradient_of(trace, flow, producer, out)
        if gradient is not None:
            _tangent(graph, gradient)
    return graph.build()


class _RowOps:
    """The ops of one softmax, in full precision; each reads the result of the previous one."""

    def __init__(self, graph: GraphBuilder, op: Op) -> None:
        self.graph, self.op = graph, op
        source = op.inputs[0]
        dim = int(op.signature.arg("dim", -1)) % max(len(source.shape), 1)
        shape = tuple(1 if d == dim else size for d, size in enumerate(source.shape))
        self.over = {"dim": [dim], "keepdim": True}
        self.rows = Tensor(shape, "float32", row_major(shape), source.device)
        self.wide = replace(op.outputs[0], dtype="float32")
        self.given: Operand = ("self", source, op.storages[0])
        self.parts: list[Op] = []

    def make(self, name: str, like: Tensor, *inputs: Operand, **args: object) -> Operand:
        place = self.graph.storage(like)
        self.parts.append(self.graph.op(self.op, name, inputs, (like, place), **args))
        return "self", like, place

    def minus(self, one: Operand, other: Operand) -> Operand:
        return self.make("aten.sub.Tensor", self.wide, one, ("other", *other[1:]))

    def done(self, last: Operand) -> tuple[Op, ...]:
        """The ops of the softmax. Its result is that of the last op, or the cast of it."""
        tensor = last[1]
        result = self.op.outputs[0], self.op.storages[1]
        if result[0].dtype == tensor.dtype:
            op = self.parts[-1]
            self.graph.fresh.pop()
            self.parts[-1] = replace(op, storages=(*op.storages[:-1], result[1]))
        else:
            self.parts.append(
                self.graph.op(
                    self.op, "aten._to_copy.default", [last], result, dtype=result[0].dtype
                )
            )
        return tuple(self.parts)


def _softmax(graph: GraphBuilder, op: Op) -> tuple[Op, ...]:
    """exp(x − largest) / sum, or x − largest − log(sum). A step may keep x and the two numbers of
    each row, and recompute the rest."""
    a = _RowOps(graph, op)
    moved = a.minus(a.given, a.make("aten.amax.default", a.rows, a.given, **a.over))
    grown = a.make("aten.exp.default", a.wide, moved)
    sums = a.make("aten.sum.dim_IntList", a.rows, grown, **a.over)
    if "_log_" in op.name:
        return a.done(a.minus(moved, a.make("aten.log.default", a.rows, sums)))
    return a.done(a.make("aten.div.Tensor", a.wide, grown, ("other", *sums[1:])))


def _batch_norm(graph: GraphBuilder, op: Op) -> tuple[Op, Op]:
    """Mean and reciprocal deviation of each channel; then (x − mean)·rstd·weight + bias."""
    operands = dict(zip(op.signature.names, zip(op.inputs, op.storages, strict=False), strict=True))
    out, *moments = zip(op.outputs, op.storages[len(op.inputs) :], strict=True)
    read = ("input", *operands["input"])
    statistics = graph.op(
        op, "aten.batch_norm_stats.default", [read], *moments, eps=op.signature.arg("eps", 0.0)
    )
    affine = [(name, *operands[name]) for name in ("weight", "bias") if name in operands]
    known = [(n, *m) for n, m in zip(("mean", "invstd"), moments, strict=True)]
    return statistics, graph.op(op, "aten.batch_norm_elemt.default", [read, *affine, *known], out)


def _hardtanh(graph: GraphBuilder, op: Op) -> tuple[Op, ...]:
    """The gradient where the input was within bounds; the comparison is in full precision."""
    parts: list[Op] = []
    like, signature = op.inputs[1], op.signature

    def loop(name: str, result_dtype: str, *inputs: Operand, **args: object) -> Operand:
        result = replace(like, dtype=result_dtype)
        place = graph.storage(result)
        parts.append(graph.op(op, name, inputs, (result, place), **args))
        return "self", result, place

    read: Operand = "self", like, op.storages[1]
    if like.itemsize < _WIDE_BYTES:
        read = loop("aten._to_copy.default", "float32", read, dtype="float32")
    low = loop("aten.le.Scalar", "bool", read, other=signature.arg("min_val", -1.0))
    high = loop("aten.ge.Scalar", "bool", read, other=signature.arg("max_val", 1.0))
    _, outside, place = loop("aten.bitwise_or.Tensor", "bool", low, ("other", *high[1:]))
    gradient = ("self", op.inputs[0], op.storages[0])
    masked = graph.op(
        op,
        "aten.masked_fill.Scalar",
        [gradient, ("mask", outside, place)],
        (op.outputs[0], op.storages[-1]),
        value=0,
    )
    return (*parts, masked)


def _widened(graph: GraphBuilder, op: Op, value: Value) -> tuple[Op, ...]:
    """The backward op of a norm, which reads its gradient in full precision after a cast; norms
    that read the same gradient share the cast."""
    gradient = op.inputs[0]
    wide = replace(gradient, dtype="float32")
    parts: list[Op] = []
    place = graph.wide.get((value, wide))
    if place is None:
        place = graph.wide[value, wide] = graph.storage(wide)
        parts = [
            graph.op(
                op,
                "aten._to_copy.default",
                [("self", gradient, op.storages[0])],
                (wide, place),
                dtype="float32",
            )
        ]
    key = "wide", id(op.signature)
    signature = replace(op.signature, inputs=(wide, *op.inputs[1:]), aliases=())
    signature = graph.signatures.setdefault(repr(key), signature)
    return *parts, replace(op, signature=signature, storages=(place, *op.storages[1:]))


def _low_memory(pool: Op) -> bool:
    """Whether indices of maxima are stored as bytes, relative to their windows
    (`should_fallback_max_pool_with_indices` of torch/_inductor/lowering.py)."""
    window = pool.signature.arg("kernel_size", ())
    dilation = pool.signature.arg("dilation", 1)
    plain = dilation == 1 or all(step == 1 for step in dilation)
    return plain and prod(window) ** (2 if len(window) == 1 else 1) <= _WINDOW


def _max_pool(graph: GraphBuilder, forward_index: int, backward_index: int) -> None:
    """Store one byte per element for the indices of a pooling, which the backward pass reads."""
    forward, backward = graph.trace.ops[forward_index], graph.trace.ops[backward_index]
    places = replace(forward.outputs[1], dtype="int8")
    indices_storage = graph.storage(places)
    source = ("self", forward.inputs[0], forward.storages[0])
    out = forward.outputs[0], forward.storages[1]
    graph.parts[forward_index] = (
        graph.op(
            forward,
            forward.name,
            [source],
            out,
            (places, indices_storage),
            **forward.signature.args,
        ),
    )
    gradient = ("grad_output", backward.inputs[0], backward.storages[0])
    result = backward.outputs[0], backward.storages[-1]
    graph.parts[backward_index] = (
        graph.op(
            backward,
            backward.name,
            [gradient, ("indices", places, indices_storage)],
            result,
            **backward.signature.args,
        ),
    )


def _tangent(graph: GraphBuilder, index: int) -> None:
    """Add an op that writes zeros at the beginning of the backward pass, and one that adds them to
    the gradient of op `index`."""
    op = graph.trace.ops[index]
    *before, last = graph.parts.get(index, (op,))
    out = replace(last.outputs[0], stride=row_major(last.outputs[0].shape))
    zeros, alone = graph.storage(out), graph.storage(out)
    begin = next(i for i, each in enumerate(graph.trace.ops) if each.phase == "backward")
    filled = graph.op(graph.trace.ops[begin], "aten.zeros.default", [], (out, zeros), tangent=True)
    graph.parts[begin] = (
        filled,
        *graph.parts.get(begin, (graph.trace.ops[begin],)),
    )
    written = replace(last, storages=(*last.storages[:-1], alone))
    both = ("self", last.outputs[0], alone), ("other", out, zeros)
    added = graph.op(last, "aten.add.Tensor", both, (last.outputs[0], last.storages[-1]))
    graph.parts[index] = (*before, written, added)


def _relu(graph: GraphBuilder, forward_index: int, backward_index: int) -> None:
    """Store a mask of a ReLU's zeros, one byte per element; the backward pass applies the mask."""
    forward, backward = graph.trace.ops[forward_index], graph.trace.ops[backward_index]
    result, place = forward.outputs[0], forward.storages[-1]
    mask = Tensor(result.shape, "bool", result.stride, result.device)
    mask_storage = graph.storage(mask)
    zero = graph.op(
        forward, "aten.le.Scalar", [("self", result, place)], (mask, mask_storage), other=0
    )
    gradient = ("self", backward.inputs[0], backward.storages[0])
    masked = graph.op(
        backward,
        "aten.masked_fill.Scalar",
        [gradient, ("mask", mask, mask_storage)],
        (backward.outputs[0], backward.storages[-1]),
        value=0,
    )
    graph.parts[forward_index] = forward, zero
    graph.parts[backward_index] = (masked,)
