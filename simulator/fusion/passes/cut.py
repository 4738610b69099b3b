"""The cheapest set of tensors to keep between the forward and the backward pass: a minimum cut, as
`solve_min_cut` of torch/_functorch/partitioners.py makes it."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from simulator.fusion.passes.joint import Joint

_NEARER = 1.1  # times the weight a step away from the backward pass, and that at most
_STEPS = 100
_FLOW = 2**30
"""scipy's capacities are int32: the unit is what makes all that the backward pass reads this much
(which is one cut, so that no smallest cut weighs more), or one byte."""
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
    behind = _behind(edges, inner + 2 * len(joint.tensors))
    return frozenset(
        tensor
        for tensor in range(len(joint.tensors))
        if inner + 2 * tensor + 1 in behind and inner + 2 * tensor not in behind
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


def _behind(edges: dict[tuple[int, int], int], nodes: int) -> set[int]:
    """The nodes from which the sink can still be reached when the largest flow runs."""
    # only a compiled training step cuts: whoever asks for less need not wait for scipy
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    begins, ends = np.array(list(edges), np.int32).T
    sizes = np.array(list(edges.values()), np.int32)
    graph = csr_matrix((sizes, (begins, ends)), shape=(nodes, nodes), dtype=np.int32)
    graph.eliminate_zeros()
    flow = maximum_flow(graph, _SOURCE, _SINK).flow
    left = csr_matrix(graph - flow)
    left.data[left.data < 0] = 0
    left.eliminate_zeros()
    reached = breadth_first_order(csr_matrix(left.T), _SINK, return_predecessors=False)
    return set(reached.tolist())
