"""The tensors to keep of small drawn graphs, against all sets of tensors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest

from simulator.fusion.passes.cut import tensors_to_keep
from simulator.fusion.passes.joint import JointTensor

BACKWARD = 100  # number of the first backward op


@dataclass
class Drawn:
    """A graph with the attributes of `Joint` that a cut reads."""

    tensors: list[JointTensor]
    makes: dict[int, tuple[int, ...]]
    reads: dict[int, tuple[int, ...]]
    users: list[list[int]]
    readers: list[list[int]]
    distance: list[int]
    fused: set[tuple[int, int]]
    overwritten: set[int]

    @property
    def needed(self) -> list[int]:
        return [tensor for tensor, readers in enumerate(self.readers) if readers]

    def fuse(self, tensor: int, user: int) -> bool:
        return (tensor, user) in self.fused

    def written_over(self, tensor: int) -> bool:
        return tensor in self.overwritten


def drawn(chance: random.Random, unit: int = 1) -> Drawn:
    """One or two old tensors and up to four ops with one or two results, of a few units of
    bytes."""
    tensors: list[JointTensor] = []
    makes: dict[int, tuple[int, ...]] = {}
    reads: dict[int, tuple[int, ...]] = {}

    def new(op: int) -> int:
        nbytes = unit * chance.choice((0, 1, 1, 1, 2, 3, 3, 5, 7, 40, 41))
        tensors.append(JointTensor(op, (len(tensors), 0), nbytes, False))
        return len(tensors) - 1

    for _ in range(chance.randint(1, 2)):
        new(-1)
    for op in range(chance.randint(1, 4)):
        before = range(len(tensors))
        reads[op] = tuple(chance.sample(before, min(len(before), chance.randint(1, 2))))
        makes[op] = tuple(new(op) for _ in range(chance.choice((1, 1, 2))))
    every = range(len(tensors))
    users = [[op for op in reads if tensor in reads[op]] for tensor in every]
    readers = [[BACKWARD + tensor] if chance.random() < 0.4 else [] for tensor in every]
    readers[-1] = readers[-1] or [BACKWARD]
    pairs = [(t, user) for t in every for user in (*users[t], *readers[t])]
    return Drawn(
        tensors,
        makes,
        reads,
        users,
        readers,
        [chance.choice((0, 1, 2, 5, 99, 100, 101, 10**9)) for _ in every],
        {pair for pair in pairs if chance.random() < 0.6},
        {tensor for tensor in every if chance.random() < 0.1},
    )


def weight(graph: Drawn, tensor: int) -> int:
    """The bytes, 10% more for each step to the backward pass, from one to a hundred; twice as much
    for the result of an op that fuses with all its readers."""
    record = graph.tensors[tensor]
    bytes_and_distance = int(record.nbytes * 1.1 ** min(max(graph.distance[tensor], 1), 100))
    readers = (*graph.users[tensor], *graph.readers[tensor])
    fused = record.op >= 0 and all(graph.fuse(tensor, reader) for reader in readers)
    return bytes_and_distance * (2 if fused else 1)


def run_again(graph: Drawn, banned: set[int], saved: frozenset[int]) -> set[int] | None:
    """The tensors that are computed again if these are saved, or None if that is impossible."""
    again: set[int] = set()
    waiting = [tensor for tensor in graph.needed if tensor not in saved]
    while waiting:
        tensor = waiting.pop()
        op = graph.tensors[tensor].op
        if op < 0 or op in banned:
            return None
        again.add(tensor)
        waiting += [read for read in graph.reads[op] if read not in saved and read not in again]
    return again


def sets_to_keep(graph: Drawn) -> Iterator[frozenset[int]]:
    """All sets of tensors that can be saved: not the value that an op overwrites, unless the
    backward pass reads it."""
    possible = [
        tensor
        for tensor in range(len(graph.tensors))
        if graph.readers[tensor] or not graph.written_over(tensor)
    ]
    for count in range(len(possible) + 1):
        yield from map(frozenset, combinations(possible, count))


@pytest.mark.parametrize("seed", range(8))
def test_a_cut_of_terabytes_is_the_lightest_to_nine_digits(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20):
        graph = drawn(chance, unit=2**40)
        as_joint: Any = graph
        saved = tensors_to_keep(as_joint, set())
        assert run_again(graph, set(), saved) is not None
        weights = [weight(graph, tensor) for tensor in range(len(graph.tensors))]
        least = min(
            sum(weights[t] for t in other)
            for other in sets_to_keep(graph)
            if run_again(graph, set(), other) is not None
        )
        assert sum(weights[t] for t in saved) - least <= 1e-8 * sum(weights)


@pytest.mark.parametrize("seed", range(8))
def test_no_other_set_is_lighter_and_none_as_light_computes_less_again(seed: int) -> None:
    chance = random.Random(seed)
    counts: set[int] = set()
    for _ in range(100):
        graph = drawn(chance)
        banned = {op for op in graph.makes if chance.random() < 0.3}
        as_joint: Any = graph
        saved = tensors_to_keep(as_joint, banned)
        weights = [weight(graph, tensor) for tensor in range(len(graph.tensors))]
        again = run_again(graph, banned, saved)
        assert again is not None, graph
        counts.add(len(again))
        for other in sets_to_keep(graph):
            others = run_again(graph, banned, other)
            if others is None:
                continue
            lighter = sum(weights[t] for t in saved) - sum(weights[t] for t in other)
            assert lighter <= 0, (graph, banned, saved, other)
            assert lighter < 0 or len(others) >= len(again), (graph, banned, saved, other)
    assert len(counts) > 2


def test_nothing_is_saved_if_the_backward_pass_reads_nothing() -> None:
    graph: Any = drawn(random.Random(0))
    graph.readers = [[] for _ in graph.tensors]
    assert tensors_to_keep(graph, set(graph.makes)) == frozenset()
