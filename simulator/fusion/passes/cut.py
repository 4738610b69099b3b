"""The cheapest set of tensors to keep between the forward and the backward pass: a minimum cut, as
`solve_min_cut` of torch/_functorch/partitioners.py makes it."""

from __future__ import annotations

from collections.abc import Collection

from simulator.fusion.passes.flow import behind
from simulator.fusion.passes.joint import Joint

_NEARER = 1.1  # times the weight a step away from the backward pass, and that at most
_STEPS = 100
_FLOW = 2**30
"""Capacities are whole: the unit is what makes all that the backward pass reads this much (which is
one cut, so that no smallest cut weighs more), or one byte."""
_SOURCE, _SINK = 0, 1


def kept(joint: Joint, banned: Collection[int]) -> frozenset[int]:
    """The tensors to keep, where ops `banned` must not run again; of several smallest cuts the one
    nearest the backward pass.

    A tensor is an edge of its weight, an op is reached from the source where it is banned, and
    reaches what it makes; what the backward pass reads reaches the sink.
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
    for tensor, made in enumerate(joint.tensors):
        enters, leaves = inner + 2 * tensor, inner + 2 * tensor + 1
        edges[ops[made.op] if made.op >= 0 else _SOURCE, enters] = most
        gone = joint.written_over(tensor) and not joint.readers[tensor]
        edges[enters, leaves] = most if gone else min(_capacity(weights[tensor], unit), most)
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
    """Bytes, more of them the further it is from the backward pass, and twice where keeping it
    means to write what would otherwise stay within a kernel (`get_node_weight`)."""
    made = joint.tensors[tensor]
    steps = max(min(joint.distance[tensor], _STEPS), 1)
    weight = int(made.nbytes * _NEARER**steps)
    if made.op < 0:
        return weight
    readers = (*joint.users[tensor], *joint.readers[tensor])
    return weight if not all(joint.fuse(tensor, r) for r in readers) else 2 * weight


def _capacity(weight: float, unit: float) -> int:
    return max(1, round(weight / unit)) if weight else 0
