"""Detours and orders of random graphs of ops, against every path."""

from __future__ import annotations

import random

import torch
from torch import Tensor

from simulator import trace
from simulator.fusion.dataflow import dataflow
from simulator.fusion.dependencies import Needs, detour, needs, order
from tests.simulator.conftest import Calls


def graph(r: random.Random, ops: int) -> Needs:
    return [{j for j in range(i) if r.random() < 2.0 / ops} for i in range(ops)]


def reached(needed: Needs) -> list[set[int]]:
    """For each op, all ops that it follows, directly or not."""
    before: list[set[int]] = []
    for mine in needed:
        before.append(mine.union(*(before[each] for each in mine)))
    return before


def test_a_detour_leaves_the_members_and_comes_back() -> None:
    r = random.Random(5)
    outcomes: set[bool] = set()
    for _ in range(400):
        needed = graph(r, 12)
        members = sorted(r.sample(range(12), 4))
        before = reached(needed)
        paths = {
            (first, outside, last)
            for first in members
            for last in members
            for outside in range(12)
            if outside not in members and first in before[outside] and outside in needed[last]
        }
        path = detour(members, needed)
        outcomes.add(path is None)
        assert path in paths if paths else path is None
    assert outcomes == {True, False}


def test_sets_run_as_one_after_all_that_their_members_need() -> None:
    r = random.Random(7)
    outcomes: set[bool] = set()
    for _ in range(400):
        needed = graph(r, 12)
        ops = list(range(12))
        r.shuffle(ops)
        sets = [sorted(ops[:3]), sorted(ops[3:5])]
        unit = {index: each[-1] for each in sets for index in each}
        of = [unit.get(index, index) for index in range(12)]
        between: dict[int, set[int]] = {each: set() for each in of}
        for index, mine in enumerate(needed):
            between[of[index]] |= {of[each] for each in mine} - {of[index]}
        ordered = order(sets, needed)
        outcomes.add(ordered is None)
        if ordered is None:
            # at least two sets wait for each other: some remain after all that can run are removed
            left = dict(between)
            while ready := [each for each, before in left.items() if not before & left.keys()]:
                for each in ready:
                    del left[each]
            assert left
            continue
        assert sorted(ordered) == sorted(between)
        place = {each: at for at, each in enumerate(ordered)}
        for each, before in between.items():
            assert all(place[other] < place[each] for other in before)
            # the first, in order, of those that could run
            waiting = [o for o in between if place[o] > place[each]]
            ready = [o for o in waiting if all(place[b] < place[each] for b in between[o])]
            assert all(o > each for o in ready)
    assert outcomes == {True, False}


def test_an_op_in_place_follows_those_that_read_or_wrote_the_old_value() -> None:
    def function(_: Calls, x: Tensor) -> list[Tensor]:
        y = x.exp()
        read = y.cos()
        y.mul_(2.0)
        return [read, y.tanh()]

    step = trace(Calls(function), (torch.zeros(4),))
    names = [op.name.split(".")[1] for op in step.ops]
    needed = needs(step, dataflow(step))
    by_name = {name: {names[each] for each in needed[i]} for i, name in enumerate(names)}
    assert by_name["exp"] == set()
    assert by_name["cos"] == {"exp"}
    assert by_name["mul_"] == {"exp", "cos"}
    assert by_name["tanh"] == {"mul_"}
