"""The cheapest set of tensors to keep between the forward and the backward pass: a minimum cut,
like that of `solve_min_cut` of torch/_functorch/partitioners.py."""

from __future__ import annotations

from collections.abc import Collection

from simulator.fusion.passes.flow import behind
from simulator.fusion.passes.joint import Joint

_NEARER = 1.1  # factor of the weight per step of distance from the backward pass, up to `_STEPS`
_STEPS = 100
_FLOW = 2**30
"""Capacities are integers. Their unit is one byte, or larger, so that all tensors that the backward
pass reads have at most this capacity together. These tensors are a cut, so no minimum cut has a
larger capacity."""
_SOURCE, _SINK = 0, 1


def tensors_to_keep(joint: Joint, banned: Collection[int]) -> frozenset[int]:
    """The tensors to keep if ops `banned` must not run again: of several minimum cuts, the one
    nearest the backward pass.

    Each tensor is an edge with its weight. The source reaches banned ops and older tensors, an op
    reaches its results, and tensors that the backward pass reads reach the sink.
    """
    weights = [_weight(joint, tensor) for tensor in range(len(joint.tensors))]
    needed = joint.needed
    if not needed:
        return frozenset()
    whole = sum(weights[t] for t in needed)
    unit = max(1.0, whole / _FLOW)
    most = sum(_capacity(weights[t], unit) for t in needed) + 1
    ops = {index: 2 + place for place, index in enumerate(joint.makes)}
    inner = 2 + len(ops)
    edges: dict[tuple[int, int], int] = {}
    for tensor, record in enumerate(joint.tensors):
        enters, leaves = inner + 2 * tensor, inner + 2 * tensor + 1
        edges[ops[record.op] if record.op >= 0 else _SOURCE, enters] = most
        lost = joint.written_over(tensor) and not joint.readers[tensor]
        edges[enters, leaves] = most if lost else min(_capacity(weights[tensor], unit), most)
        for user in joint.users[tensor]:
            edges[leaves, ops[user]] = most
        if joint.readers[tensor]:
            edges[leaves, _SINK] = most
    for index in banned:
        edges[_SOURCE, ops[index]] = most
    reaching = behind(edges, inner + 2 * len(joint.tensors), _SOURCE, _SINK)
    return frozenset(
        tensor
        for tensor in range(len(joint.tensors))
        if inner + 2 * tensor + 1 in reaching and inner + 2 * tensor not in reaching
    )


def _weight(joint: Joint, tensor: int) -> float:
    """The bytes of a tensor, increased with its distance from the backward pass, and doubled if the
    tensor would otherwise stay within a kernel and not be written (`get_node_weight`)."""
    record = joint.tensors[tensor]
    steps = max(min(joint.distance[tensor], _STEPS), 1)
    weight = int(record.nbytes * _NEARER**steps)
    if record.op < 0:
        return weight
    readers = (*joint.users[tensor], *joint.readers[tensor])
    return weight if not all(joint.fuse(tensor, r) for r in readers) else 2 * weight


def _capacity(weight: float, unit: float) -> int:
    return max(1, round(weight / unit)) if weight else 0
