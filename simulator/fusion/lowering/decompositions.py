"""Decompose ops that contain reductions, as Inductor does (torch/_inductor/decomposition.py,
lowering.py, torch/_decomp): statistics first, then elementwise loops that read the statistics.

The op's arithmetic is divided among the parts by the bytes that each part reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.fusion.dataflow import Value
from simulator.fusion.lowering.arithmetic import applied, arithmetic
from simulator.fusion.lowering.pooling import pool
from simulator.fusion.lowering.reducing import reduce
from simulator.fusion.lowering.reductions import mixed, mixed_parts
from simulator.fusion.node import Node
from simulator.records import Op, Signature, Tensor

if TYPE_CHECKING:
    from simulator.fusion.lowering.lowering import Lowering


def decompose(lowering: Lowering, index: int, op: Op) -> None:
    """Add the loop nests of one op to a lowering."""
    name = op.name.split(".")[1]
    if name in ("native_layer_norm", "_fused_rms_norm", "native_group_norm"):
        _norm(lowering, index, op)
    elif name in (
        "native_layer_norm_backward",
        "_fused_rms_norm_backward",
        "native_group_norm_backward",
    ):
        _norm_backward(lowering, index, op)
    elif "batch_norm_backward" in name:
        _batch_norm_backward(lowering, index, op)
    elif name == "batch_norm_stats":
        _moments(lowering, index, op)
    elif "batch_norm" in name:
        _batch_norm(lowering, index, op)
    elif "softmax" in name:
        _softmax(lowering, index, op)
    elif name == "cumsum":
        _scan(lowering, index, op)
    elif "_pool" in name:
        pool(lowering, index, op)
    elif name == "nll_loss_forward":
        _lookup_loss(lowering, index, op)
    else:
        _reduction(lowering, index, op)


def _norm(lowering: Lowering, index: int, op: Op) -> None:
    source = op.signature.inputs[0]
    out, *statistics = lowering.flow.makes[index]
    rows = max(op.outputs[1].numel, 1)
    results = [(value, t.nbytes) for value, t in zip(statistics, op.outputs[1:], strict=True)]
    moments = "rms" not in op.name
    inner = not (
        lowering.calls.channels_last and "group" in op.name
    )  # a group's channels are not adjacent
    read, cols = lowering.inputs(index, op, "input"), source.numel // rows
    flops, instructions = arithmetic(op.signature, lowering.in_registers(rows, inner, read))
    after = applied(op.signature)
    reduce(
        lowering,
        index,
        rows,
        cols,
        inner,
        read,
        results,
        (flops, max(instructions - after, source.numel)),
        moments,
    )
    reads = lowering.inputs(index, op) | dict(results)
    lowering.make(index, reads, [(out, op.outputs[0])], 0, after)


def _norm_backward(lowering: Lowering, index: int, op: Op) -> None:
    reads = lowering.inputs(index, op)
    gradient, source = op.inputs[0], op.signature["input"]
    statistic = op.signature.get("rstd")
    rows = max(statistic.numel if statistic else 1, 1)
    cols = source.numel // rows
    flops, instructions = arithmetic(op.signature)
    sums = [(next(lowering.number), rows * 4) for _ in range(2)]
    half = flops // 2, instructions // 2
    reduce(lowering, index, rows, cols, True, reads, sums, half)
    results = list(zip(lowering.flow.makes[index], op.outputs, strict=True))
    along = lowering.nodes[-1]
    if along.inner and along.elements == rows * cols and _mixes(lowering, op, rows, cols):
        _sums_across(lowering, index, op, results[1:], half)
        lowering.make(index, reads | dict(sums), results[:1], 0, 0)
        return
    lowering.make(index, reads | dict(sums), results[:1], 0, 0)
    affine = [(value, t.nbytes) for value, t in results[1:] if t.numel]
    if affine:
        operand_bytes = lowering.inputs(index, op, "grad_out", "input", "mean", "rstd")
        across = op.outputs[1].numel
        reduce(
            lowering,
            index,
            across,
            gradient.numel // max(across, 1),
            False,
            operand_bytes,
            affine,
            half,
        )


def _mixes(lowering: Lowering, op: Op, rows: int, cols: int) -> bool:
    """Whether one kernel sums along and across the rows; operands must be row-major."""
    along = op.inputs[0].contiguous and op.signature["input"].contiguous
    affine = any(tensor.numel == cols for tensor in op.outputs[1:])
    return lowering.inductor and mixed(rows, cols) and along and affine


def _sums_across(
    lowering: Lowering,
    index: int,
    op: Op,
    results: list[tuple[Value, Tensor]],
    work: tuple[int, int],
) -> None:
    """Add sums across the rows to the kernel that sums along them. The kernel writes partial sums,
    and one eager kernel per result adds them up; in half precision a loop then casts the sums."""
    rows, cols = lowering.nodes[-1].rows, lowering.nodes[-1].cols
    operand_bytes = lowering.inputs(index, op, "grad_out", "input", "mean", "rstd")
    across = lowering.node("reduction", rows, cols, True, operand_bytes, (index,), *work)
    lowering.nodes.append(across)
    parts = Tensor((mixed_parts(rows, lowering.gpu), cols), "float32", (cols, 1))
    for value, tensor in results:
        if not tensor.numel:
            continue
        part, wide = next(lowering.number), tensor.itemsize < parts.itemsize
        across.writes[part] = parts.nbytes
        whole = Tensor((cols,), "float32", (1,))
        call = Op(
            Signature("aten.sum.dim_IntList", (parts,), (whole,), ("self",), {"dim": [0]}),
            op.module,
            op.phase,
            (0, 0),
        )
        last = Node("library", 1, reads={part: parts.nbytes}, ops=(index,), call=call)
        key = next(lowering.number) if wide else value
        last.writes[key] = whole.nbytes
        lowering.nodes.append(last)
        if wide:
            lowering.make(index, {key: whole.nbytes}, [(value, tensor)], 0, cols)


def _channels(source: Tensor) -> tuple[int, int]:
    channels = source.shape[1] if len(source.shape) > 1 else 1
    return channels, source.numel // max(channels, 1)


def _in_images(lowering: Lowering, source: Tensor) -> bool:
    """Whether the elements of a channel are adjacent in memory, as in row-major images."""
    rows = len(source.shape) > 2 and source.shape[-1] > 1 and source.stride[-1] == 1
    return rows and lowering.inductor and not lowering.calls.channels_last


def _moments(lowering: Lowering, index: int, op: Op) -> None:
    """Mean and reciprocal deviation of each channel."""
    rows, cols = _channels(op.inputs[0])
    results = [(v, t.nbytes) for v, t in zip(lowering.flow.makes[index], op.outputs, strict=True)]
    reads = lowering.inputs(index, op, "input")
    inner = _in_images(lowering, op.inputs[0])
    reduce(lowering, index, rows, cols, inner, reads, results, arithmetic(op.signature), True)


def _batch_norm(lowering: Lowering, index: int, op: Op) -> None:
    """In training, lower the moments of each channel and the running moments, which have equal
    sizes; then one loop over elements."""
    source = op.inputs[0]
    rows, cols = _channels(source)
    out, *saved = lowering.flow.makes[index]
    if not op.signature.arg("training", op.signature.arg("train", False)):
        lowering.make(
            index, lowering.inputs(index, op), [(out, op.outputs[0])], *arithmetic(op.signature)
        )
        return
    results = [(v, t.nbytes) for v, t in zip(saved, op.outputs[1:], strict=True) if t.numel == rows]
    reduce(
        lowering,
        index,
        rows,
        cols,
        _in_images(lowering, source),
        lowering.inputs(index, op, "input"),
        results,
        arithmetic(op.signature),
        True,
    )
    lowering.make(index, lowering.inputs(index, op) | dict(results), [(out, op.outputs[0])], 0, 0)


def _batch_norm_backward(lowering: Lowering, index: int, op: Op) -> None:
    reads = lowering.inputs(index, op)
    rows, cols = _channels(op.inputs[0])
    flops, instructions = arithmetic(op.signature)
    results = list(zip(lowering.flow.makes[index], op.outputs, strict=True))
    affine = [(value, t.nbytes) for value, t in results[1:] if t.numel == rows]
    affine = affine or [(next(lowering.number), rows * 4) for _ in range(2)]
    matrix_reads = {k: v for k, v in reads.items() if v >= rows * 4}
    inner, half = _in_images(lowering, op.inputs[0]), (flops // 2, instructions // 2)
    reduce(lowering, index, rows, cols, inner, matrix_reads, affine, half)
    lowering.make(index, reads | dict(affine), results[:1], *half)


def _softmax(lowering: Lowering, index: int, op: Op) -> None:
    reads = lowering.inputs(index, op)
    source = op.inputs[0]
    dim: int = op.signature.arg("dim", -1)
    cols = source.shape[dim] if source.shape else 1
    rows = source.numel // max(cols, 1)
    inner = dim in (-1, len(source.shape) - 1)
    width = 2 if "backward" not in op.name else 1
    sums = [(next(lowering.number), rows * 4) for _ in range(width)]
    flops, instructions = arithmetic(op.signature, lowering.in_registers(rows, inner, reads))
    reduce(lowering, index, rows, cols, inner, reads, sums, (flops // 2, instructions // 2))
    results = zip(lowering.flow.makes[index], op.outputs, strict=True)
    lowering.make(index, reads | dict(sums), results, flops // 2, instructions // 2)


def _scan(lowering: Lowering, index: int, op: Op) -> None:
    """Running sums, each along its row in one kernel, with a result for each element."""
    source, out = op.inputs[0], op.outputs[0]
    dim: int = op.signature.arg("dim", -1)
    cols = source.shape[dim] if source.shape else 1
    node = lowering.node(
        "reduction",
        source.numel // max(cols, 1),
        cols,
        True,
        lowering.inputs(index, op),
        (index,),
        *arithmetic(op.signature),
    )
    node.writes[lowering.flow.makes[index][0]] = out.nbytes
    lowering.nodes.append(node)


def _lookup_loss(lowering: Lowering, index: int, op: Op) -> None:
    """Lower a loss that is the sum of one looked-up element per row."""
    target = op.signature["target"]
    reads = lowering.inputs(index, op)
    picked = lowering.flow.reads[index][op.signature.names.index("self")]
    if picked in reads and picked not in lowering.pending:
        reads[picked] = min(reads[picked], target.numel * 32)
    results = [(v, t.nbytes) for v, t in zip(lowering.flow.makes[index], op.outputs, strict=True)]
    first = len(lowering.nodes)
    reduce(lowering, index, 1, target.numel, True, reads, results, arithmetic(op.signature))
    node = lowering.nodes[first]  # the first step, if the sum is split, reads the rows
    whole = max(op.signature["self"].numel, 1)
    if picked in lowering.pending:  # pending values are computed for the looked-up elements only
        pending = lowering.pending[picked]
        node.flops -= pending.flops - pending.flops * target.numel // whole
    for key in node.reads:  # only one element per row is read, even of a pending value
        node.reads[key] = min(node.reads[key], target.numel * 32)


def _reduction(lowering: Lowering, index: int, op: Op) -> None:
    source, out = op.inputs[0], op.outputs[0]
    rows, cols = max(out.numel, 1), source.numel // max(out.numel, 1)
    dims = op.signature.arg("dim")
    rank = len(source.shape)
    if isinstance(dims, int):
        dims = [dims]
    if not rank:
        dims = []  # a single number may be summed along dimension 0
    inner = not dims or any(d % rank == rank - 1 for d in dims)
    if inner and source.stride and rank and source.stride[-1] != 1 and source.shape[-1] > 1:
        inner = False
    first = not inner and len(op.inputs) == 1 and {d % rank for d in dims or ()} == {0}
    results = [(v, t.nbytes) for v, t in zip(lowering.flow.makes[index], op.outputs, strict=True)]
    reads, (flops, slots) = lowering.inputs(index, op), arithmetic(op.signature)
    if cols > lowering.in_registers(rows, inner, reads) and _of_softmax(lowering, index):
        slots += _ONLINE * source.numel
    reduce(lowering, index, rows, cols, inner, reads, results, (flops, slots), first=first)


_ONLINE = 21
"""Extra issue slots per element if a kernel that loops along its rows computes the maximum and the
sum of exponentials in one pass (`prepare_softmax_online` of torch/_inductor/lowering.py). Each
running maximum costs two more exponentials and selects."""


def _of_softmax(lowering: Lowering, index: int) -> bool:
    """Whether the subtraction, exponential and sum of a softmax follow a maximum."""
    names = [op.name.split(".")[1] for op in lowering.trace.ops[index : index + 4]]
    return names == ["amax", "sub", "exp", "sum"]
