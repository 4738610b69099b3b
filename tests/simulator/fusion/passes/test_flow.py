"""The minimum cut against scipy's maximum flow and hand-computed cuts."""

import random
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from simulator.fusion.passes.cut import _capacity, _weight
from simulator.fusion.passes.flow import behind
from simulator.fusion.passes.joint import Joint

Edges = dict[tuple[int, int], int]


def by_scipy(edges: Edges, nodes: int) -> set[int]:
    begins, ends = np.array(list(edges), np.int32).T
    sizes = np.array(list(edges.values()), np.int32)
    graph = csr_matrix((sizes, (begins, ends)), shape=(nodes, nodes), dtype=np.int32)
    left = csr_matrix(graph - maximum_flow(graph, 0, 1).flow)
    left.data[left.data < 0] = 0
    left.eliminate_zeros()
    return set(breadth_first_order(csr_matrix(left.T), 1, return_predecessors=False).tolist())


def test_a_chain_is_cut_at_its_last_smallest_edge() -> None:
    # two edges of 3: the later one is cut
    chain: Edges = {(0, 2): 5, (2, 3): 3, (3, 4): 3, (4, 1): 4}
    assert behind(chain, 5, 0, 1) == {4, 1}


def test_flow_that_took_a_wrong_path_is_sent_back() -> None:
    # 0 → 2 → 3 → 1 is a path, but 2 units run by 0 → 2 → 1 and 0 → 3 → 1
    edges: Edges = {(0, 2): 1, (0, 3): 1, (2, 3): 1, (2, 1): 1, (3, 1): 1}
    assert behind(edges, 4, 0, 1) == {1}


def test_nodes_that_the_source_does_not_reach_are_behind_the_cut() -> None:
    assert behind({(0, 2): 1, (3, 1): 7}, 4, 0, 1) == {1, 3}


@pytest.mark.parametrize("seed", range(60))
def test_it_agrees_with_scipy(seed: int) -> None:
    choose = random.Random(seed)
    nodes = choose.randint(2, 40)
    edges: Edges = {(0, 1): choose.randint(0, 3)}
    for _ in range(choose.randint(0, 4 * nodes)):
        begin, end = choose.sample(range(nodes), 2)
        if (end, begin) not in edges:
            edges[begin, end] = choose.choice((0, 1, 2, 5, 2**30))
    edges = {pair: size for pair, size in edges.items() if size} or {(0, 1): 1}
    assert behind(edges, nodes, 0, 1) == by_scipy(edges, nodes)


@pytest.mark.parametrize(
    ("op", "distance", "fuses", "weight"),
    [
        (-1, 0, True, 1100),  # an input is stored in any case
        (0, 0, True, 2200),  # the first op's result would stay within a kernel
        (0, 0, False, 1100),
        (3, 2, False, 1210),  # a factor of 1.1 for each step of distance from the backward pass
        (3, 2, True, 2420),
        (3, 1000, False, int(1000 * 1.1**100)),
    ],
)
def test_the_weight_of_a_tensor(op: int, distance: int, fuses: bool, weight: float) -> None:
    joint = SimpleNamespace(
        tensors=[SimpleNamespace(nbytes=1000, op=op)],
        distance=[distance],
        users=[(5,)],
        readers=[(7,)],
        fuse=lambda tensor, reader: fuses,
    )
    assert _weight(cast(Joint, joint), 0) == weight


def test_capacities_are_whole_units_of_at_least_one() -> None:
    assert [_capacity(weight, 4.0) for weight in (0, 1, 6, 7, 400)] == [0, 1, 2, 2, 100]
