"""Buffers whose rows Inductor pads to whole cache lines (`Layout._pad_strides` of torch/_inductor/
ir.py, `mark_nodes_dislike_padding` of graph.py): a library call reads a copy of such a buffer if
its view of the buffer joins dimensions across the padding."""

from __future__ import annotations

from math import gcd

from simulator.fusion.dataflow import Dataflow, Value
from simulator.fusion.graphs import Graph, graphs
from simulator.records import Tensor, Trace, row_major

_ALIGNED_BYTES = 128  # config.padding_alignment_bytes
_STEP = 1024  # elements; shorter rows are not padded (config.padding_stride_threshold)
_WHOLE = ("convolution", "_scaled_mm")
_ANEW = (
    "aten.var_mean.",
    "aten.sum.",
    "aten.mean.",
    "aten.prod.",
    "aten.any.",
    "aten.amin.",
    "aten.amax.",
    "aten.argm",
    "aten.min.",
    "aten.max.",
)


def unpadded(trace: Trace, flow: Dataflow) -> set[Value]:
    """Values that are not padded: those that reach a convolution before a reduction in the graph
    that computes them, and the results of an inference step."""
    values: set[Value] = set(flow.stored) if trace.phase == "inference" else set()
    of = graphs(trace).of
    required: dict[Value, Graph] = {}
    for index in range(len(trace.ops) - 1, -1, -1):
        name, graph = trace.ops[index].name, of[index]
        own = [value for value in flow.makes[index] if required.get(value) == graph]
        values.update(own)
        dense = any(part in name for part in _WHOLE) or own
        if dense and not name.startswith(_ANEW):
            required |= dict.fromkeys(flow.reads[index], graph)
    return values


def padded(buffer: Tensor) -> tuple[int, ...]:
    """Strides of a row-major buffer with padded rows."""
    unit = _ALIGNED_BYTES // buffer.itemsize
    steps: list[int] = []
    step = 1
    for size in reversed(buffer.shape):
        if steps and step > _STEP and step % unit:
            step = -(-step // unit) * unit
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


def joins(buffer: Tensor, view: Tensor) -> bool:
    """Whether a contiguous view joins dimensions that padding separates in the buffer."""
    steps = padded(buffer)
    runs: list[int] = []  # adjacent elements, from the last dimension
    following = 0
    for size, step in zip(reversed(buffer.shape), reversed(steps), strict=True):
        if size == 1:
            continue
        if runs and step == following:
            runs[-1] *= size
        else:
            runs.append(size)
        following = step * size
    for size in reversed(view.shape):
        if size == 1:
            continue
        if not runs or runs[0] % size:
            return True
        runs[0] //= size
        if runs[0] == 1:
            runs.pop(0)
    return False


def crosses(buffer: Tensor, view: Tensor) -> bool:
    """Whether a view of a whole eager buffer with permuted dimensions cannot be a view of the same
    buffer in row-major order (`convert_to_reinterpret_view` of torch/_inductor/ir.py, which freezes
    the layout of a view's base)."""
    plain = row_major(buffer.shape)
    if buffer.stride == plain or not buffer.dense or view.numel != buffer.numel:
        return False
    lying = sorted(zip(buffer.stride, buffer.shape, plain, strict=True))
    remaining = [[size, step] for _, size, step in lying if size > 1]  # smallest stride first
    for _, size in sorted(zip(view.stride, view.shape, strict=True)):
        following = 0
        while size > 1:
            run = remaining[0]
            if following and run[1] != following:
                return True
            common = gcd(size, run[0])
            if common == 1:
                return True
            size, following = size // common, run[1] * common
            run[0], run[1] = run[0] // common, following
            if run[0] == 1:
                remaining.pop(0)
    return False
