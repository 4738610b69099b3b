"""A trace in which a join with nothing is a view: Inductor replaces `cat` of one tensor and empty
ones, such as that of a new key-value cache, by a copy in the tensor's own layout (`cat` of
torch/_inductor/decomposition.py), and then removes the copy (`remove_noop_ops` of
torch/_inductor/fx_passes/post_grad.py)."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.fusion.graphs import graphs
from simulator.records import Op, Signature, Tensor, Trace


def without_single_joins(trace: Trace) -> Trace:
    """The trace with a view in place of each join of one tensor with empty ones. The number of ops
    is the same; ops that read the join's result directly read it in the tensor's own layout. The
    trace itself if it has no such join."""
    stands: dict[int, int] = {}
    layouts: dict[int, tuple[Tensor, Tensor]] = {}
    parts = graphs(trace)
    ops: list[Op] = []
    for index, op in enumerate(trace.ops):
        place = None if parts.eager(index) else _single(op)
        if place is not None:
            source, result = op.storages[place], op.storages[-1]
            tensor = op.inputs[place]
            layouts[result] = op.outputs[0], tensor
            stands[result] = stands.get(source, source)
            view = Signature("aten.alias.default", (tensor,), (tensor,), ("self",), {}, (0, 0))
            op = replace(op, signature=view, storages=(source, result))
        signature = op.signature
        if any(storage in layouts for storage in op.storages):
            signature = _in_own_layout(op, layouts)
        storages = tuple(stands.get(s, s) for s in op.storages)
        ops.append(replace(op, signature=signature, storages=storages) if stands else op)
    if not stands:
        return trace
    storages = list(trace.storages)
    for result, source in stands.items():
        ends = storages[source].freed, storages[result].freed
        freed = None if None in ends else max(end for end in ends if end is not None)
        storages[source] = replace(storages[source], freed=freed)
    return replace(trace, ops=ops, storages=storages)


def _single(op: Op) -> int | None:
    """The place of the only tensor with elements among those that an op joins; None if the op is no
    join of one such tensor, or changes its dtype, or if the tensor has gaps, since the copy of such
    a tensor has a layout of its own and stays."""
    if op.name != "aten.cat.default":
        return None
    filled = [place for place, tensor in enumerate(op.inputs) if tensor.numel]
    if len(filled) != 1 or len(op.inputs) < 2:
        return None
    tensor = op.inputs[filled[0]]
    return filled[0] if tensor.dense and tensor.dtype == op.outputs[0].dtype else None


def _in_own_layout(op: Op, layouts: dict[int, tuple[Tensor, Tensor]]) -> Signature:
    inputs = tuple(
        layouts[storage][1] if storage in layouts and tensor == layouts[storage][0] else tensor
        for storage, tensor in zip(op.storages, op.inputs, strict=False)
    )
    return op.signature if inputs == op.inputs else replace(op.signature, inputs=inputs)
