"""Limits of Inductor's scheduler, with hand-made loop nests: the last nest on each side of each
limit."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.fusion.group import Group
from simulator.fusion.node import Node
from simulator.fusion.scheduling.scheduling import (
    can_share_kernel,
    groups,
    ordered,
    reaches,
    shared_bytes,
)


def loop(reads: dict[Any, int], writes: dict[Any, int], rows: int = 64, **more: Any) -> Node:
    return Node("pointwise", rows, reads=reads, writes=writes, ops=(0,), **more)


def total(reads: dict[Any, int], writes: dict[Any, int], rows: int, cols: int, **more: Any) -> Node:
    return Node("reduction", rows, cols, reads=reads, writes=writes, ops=(0,), **more)


def joined(*nodes: Node, **how: Any) -> list[list[int]]:
    """The positions of the nodes of each kernel."""
    places = {id(node): place for place, node in enumerate(nodes)}
    return [[places[id(node)] for node in group.nodes] for group in groups(list(nodes), [0], **how)]


A, B, C, D, E = ((n, 0) for n in range(5))


@pytest.mark.parametrize(("nbytes", "one"), [(9, False), (10, True)])
def test_two_nests_that_share_ten_bytes_are_one_kernel(nbytes: int, one: bool) -> None:
    first, second = loop({A: nbytes}, {B: 256}), loop({A: nbytes}, {C: 256})
    assert joined(first, second) == ([[0, 1]] if one else [[0], [1]])


def test_a_kernel_has_sixty_four_nests() -> None:
    chain = [loop({(n, 0): 256}, {(n + 1, 0): 256}) for n in range(66)]
    assert [len(kernel) for kernel in joined(*chain)] == [64, 2]


@pytest.mark.parametrize(("between", "one"), [(63, True), (64, False)])
def test_siblings_are_at_most_sixty_four_nests_apart(between: int, one: bool) -> None:
    others = [Node("library", 1, writes={(100 + n, 0): 8}, ops=(0,)) for n in range(between)]
    nodes = [loop({A: 256}, {B: 256}), *others, loop({A: 256}, {C: 256})]
    kernels = joined(*nodes)
    assert ([0, between + 1] in kernels) is one
    assert [0, between + 1] not in joined(*nodes, siblings=False)


def test_the_pair_that_shares_most_fuses_first() -> None:
    wide, narrow = loop({A: 100}, {B: 256}, 32), loop({C: 50}, {D: 256}, 32)
    apart = [wide, narrow]  # they share nothing
    reader = loop({A: 100, C: 50}, {E: 256}, 32)
    assert joined(*apart, reader) == [[0, 2], [1]]
    reader = loop({A: 40, C: 50}, {E: 256}, 32)
    assert joined(*apart, reader) == [[0], [1, 2]]
    # of two equal ones, the later one
    reader = loop({A: 50, C: 50}, {E: 256}, 32)
    assert joined(*apart, reader) == [[0], [1, 2]]


def test_no_nest_joins_a_kernel_that_needs_another_kernel_between() -> None:
    first = loop({A: 256}, {B: 256})
    call = Node("library", 1, reads={B: 256}, writes={C: 256}, ops=(0,))
    last = loop({A: 256, C: 256}, {D: 256})
    assert joined(first, call, last) == [[0], [1], [2]]
    assert joined(first, call, loop({A: 256}, {D: 256})) == [[0, 2], [1]]


def test_nests_that_stand_alone_and_other_graphs_are_apart() -> None:
    first, second = loop({A: 256}, {B: 256}), loop({B: 256}, {C: 256})
    assert joined(first, second) == [[0, 1]]
    assert joined(loop({A: 256}, {B: 256}, alone=True), second) == [[0], [1]]
    assert joined(first, loop({B: 256}, {C: 256}, alone=True)) == [[0], [1]]
    second.ops = (1,)
    assert [len(g.nodes) for g in groups([first, second], [0, 1])] == [1, 1]
    assert [len(g.nodes) for g in groups([first, second], [0, 0])] == [2]


def test_loops_after_a_sum_can_be_kept_apart() -> None:
    row_sums = total({A: 4096}, {B: 64}, 16, 64)
    for rows in (16, 16 * 64):  # one element for each sum, or for each summand
        after = loop({B: 64, A: 4096}, {C: 4 * rows}, rows)
        assert joined(row_sums, after) == [[0, 1]]
        assert joined(row_sums, after, after=False) == [[0], [1]]


@pytest.mark.parametrize(
    ("one", "other", "can"),
    [
        (loop({}, {}, 64), loop({}, {}, 64), True),
        (loop({}, {}, 64), loop({}, {}, 63), False),
        (total({}, {}, 16, 64), total({}, {}, 16, 64), True),
        (total({}, {}, 16, 64), total({}, {}, 16, 32), False),
        (total({}, {}, 16, 64), total({}, {}, 8, 64), False),
        (total({}, {}, 16, 64), total({}, {}, 16, 64, inner=False), False),
        # a loop with one element per sum fuses after it; one with an element per summand, on either
        # side
        (total({}, {}, 16, 64), loop({}, {}, 16), True),
        (loop({}, {}, 16), total({}, {}, 16, 64), False),
        (total({}, {}, 16, 64), loop({}, {}, 1024), True),
        (loop({}, {}, 1024), total({}, {}, 16, 64), True),
        (total({}, {}, 16, 64), loop({}, {}, 64), False),
        # the first step of a split sum has no results yet
        (total({}, {}, 16, 64, partial=True), loop({}, {}, 16), False),
        (total({}, {}, 16, 64, partial=True), loop({}, {}, 1024), False),
        # a tensor to which a kernel adds atomically is complete only after that kernel
        (loop({}, {A: 8}, atomic=True), loop({A: 8}, {}), False),
        (loop({}, {A: 8}, atomic=True), loop({B: 8}, {}), True),
        (loop({}, {A: 8}), loop({}, {A: 8}, atomic=True), False),
        (loop({}, {A: 8}), loop({}, {B: 8}, atomic=True), True),
    ],
)
def test_nests_that_can_be_one_kernel(one: Node, other: Node, can: bool) -> None:
    assert can_share_kernel(one, other) is can


def test_shared_bytes_are_what_both_touch() -> None:
    group = Group([loop({A: 100}, {B: 64}), loop({B: 64}, {C: 32})], 0, 1)
    # of A, the smaller of 100 and 80 bytes; of B 64; of C 32
    assert shared_bytes(group, loop({A: 80, B: 64}, {C: 99, D: 7})) == 80 + 64 + 32
    assert shared_bytes(group, loop({D: 9}, {E: 9})) == 0


def kernel(first: int, last: int, *sources: Group) -> Group:
    return Group([loop({}, {})], first, last, set(sources))


def test_kernels_run_after_those_that_they_need() -> None:
    one, other = kernel(1, 1), kernel(2, 2)
    third = kernel(3, 3, one)
    wide = kernel(0, 4, third, other)  # begins first and ends last
    # of the kernels that it needs, the one that begins first is visited first
    assert ordered([wide, one, other, third]) == [other, one, third, wide]
    assert ordered([other, one]) == [other, one]
    assert [reaches(wide, each) for each in (one, other, third, wide)] == [True] * 4
    assert [reaches(each, wide) for each in (one, other, third)] == [False] * 3
    assert reaches(third, one) and not reaches(third, other)
