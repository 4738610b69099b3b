"""The dependencies of each op of a trace, and an order in which sets of ops run as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from simulator.fusion.dataflow import Dataflow, Value
from simulator.records import Trace

Needs = list[set[int]]
"""For each op, the ops that it must follow: those that write its inputs and, if it writes in place,
those that read or write the old value."""


def needs(trace: Trace, flow: Dataflow) -> Needs:
    """The direct dependencies of each op, views included."""
    maker: dict[Value, int] = {}
    readers: dict[Value, list[int]] = {}
    needed: Needs = []
    for index in range(len(trace.ops)):
        mine = {maker[value] for value in flow.reads[index] if value in maker}
        if flow.computes[index]:
            for storage, version in flow.makes[index]:
                before = storage, version - 1
                mine.update(readers.get(before, ()))
                if before in maker:
                    mine.add(maker[before])
            for value in flow.reads[index]:
                readers.setdefault(value, []).append(index)
            maker.update(dict.fromkeys(flow.makes[index], index))
        mine.discard(index)
        needed.append(mine)
    return needed


def detour(members: Sequence[int], needed: Needs) -> tuple[int, int, int] | None:
    """(member, op outside, member): the outside op needs the first member, directly or through
    others, and the second member needs the outside op. None if no path leaves the set and comes
    back."""
    inside = set(members)
    source: dict[int, int] = {}  # an op outside that needs a member, and this member
    for index in range(members[0], members[-1] + 1):
        behind = next((each for each in needed[index] if each in source), None)
        if index in inside:
            if behind is not None:
                return source[behind], behind, index
            continue
        first = next((each for each in needed[index] if each in inside), None)
        if first is not None or behind is not None:
            source[index] = source[behind] if behind is not None else first or 0
    return None


def order(sets: Sequence[Sequence[int]], needed: Needs) -> list[int] | None:
    """An order of ops in which each set runs as one, at the place of its last member if possible.
    The last member represents the set; the other members are left out. Return None if sets depend
    on each other."""
    stands = {index: each[-1] for each in sets for index in each}
    waiting: dict[int, set[int]] = {}
    followers: dict[int, list[int]] = {}
    for index, before in enumerate(needed):
        unit = stands.get(index, index)
        mine = waiting.setdefault(unit, set())
        mine.update(_units(before, stands) - {unit})
    for unit, before in waiting.items():
        for each in before:
            followers.setdefault(each, []).append(unit)
    ready = [unit for unit, before in waiting.items() if not before]
    heapify(ready)
    ops: list[int] = []
    while ready:
        unit = heappop(ready)
        ops.append(unit)
        for each in followers.get(unit, ()):
            waiting[each].discard(unit)
            if not waiting[each]:
                heappush(ready, each)
    return ops if len(ops) == len(waiting) else None


def _units(ops: Iterable[int], stands: dict[int, int]) -> set[int]:
    return {stands.get(op, op) for op in ops}
