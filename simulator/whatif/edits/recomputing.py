"""Activation checkpointing: a block's forward is run again before its backward.

As `torch.utils.checkpoint` without re-entrance does it: what the block made is not kept, its
inputs are; the second forward stops once everything that the backward reads is there again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from simulator.costs import works
from simulator.errors import InputError
from simulator.records import Op, Storage, Trace, touches
from simulator.scenario.module_pattern import block


@dataclass(frozen=True)
class Block:
    """A module's forward ops [first, stop), the last of them that is needed again (`until`,
    excluded), and where its backward begins. `backward` are its backward ops."""

    path: str
    first: int
    stop: int
    until: int
    resumes: int
    backward: frozenset[int]


@dataclass(frozen=True)
class Recomputed:
    """The blocks that a pattern names, checkpointed one by one."""

    modules: str
    rank: int = 3

    def __call__(self, trace: Trace) -> Trace:
        return _run_again(trace, blocks(trace, self.modules))


def blocks(trace: Trace, modules: str) -> list[Block]:
    """The blocks to run again; InputError where there is none, or one runs more than once."""
    forward: dict[str, list[int]] = {}
    backward: dict[str, list[int]] = {}
    for index, op in enumerate(trace.ops):
        path = block(modules, op.module) if op.phase != "optimizer" else None
        if path is not None:
            (forward if op.phase == "forward" else backward).setdefault(path, []).append(index)
    found: list[Block] = []
    for path, rows in forward.items():
        if path not in backward:
            continue
        if rows[-1] - rows[0] + 1 != len(rows):
            raise InputError(
                f"recompute: {path!r} runs more than once in a step: expected modules that run "
                "once; choose other modules"
            )
        behind = frozenset(backward[path])
        found.append(_block(trace, path, rows[0], rows[-1] + 1, behind))
    if not found:
        raise InputError(
            f"recompute: no module with a backward fits {modules!r}: expected a pattern such as "
            "'layers.*', in training; choose other modules"
        )
    return found


def _block(trace: Trace, path: str, first: int, stop: int, backward: frozenset[int]) -> Block:
    read = {s for index in backward for s in trace.ops[index].storages}
    until = first
    for index in range(first, stop):
        made = trace.ops[index].storages[len(trace.ops[index].inputs) :]
        if any(s in read and first <= trace.storages[s].born < stop for s in made):
            until = index + 1
    while until < stop and works(trace.ops[until].signature) == ():
        until += 1  # views up to the op whose inputs were the last to be saved
    return Block(path, first, stop, until, min(backward), backward)


def _run_again(trace: Trace, found: Sequence[Block]) -> Trace:
    resumes = {b.resumes: b for b in found}
    owner = {index: b for b in found for index in b.backward}
    copies: dict[str, dict[int, int]] = {b.path: {} for b in found}  # storage -> its second life
    ops: list[Op] = []
    place: list[int] = []
    ends: list[int] = []  # what is freed before an op is freed before what runs again there
    extra: list[int] = []  # the old storage of each new one
    for index, op in enumerate(trace.ops):
        ends.append(len(ops))
        again = resumes.get(index)
        if again is not None:
            mapped = copies[again.path]
            for old in trace.ops[again.first : again.until]:
                for s in old.storages:
                    if again.first <= trace.storages[s].born < again.stop and s not in mapped:
                        mapped[s] = len(trace.storages) + len(extra)
                        extra.append(s)
                ops.append(
                    replace(
                        old,
                        phase="backward",
                        storages=tuple(mapped.get(s, s) for s in old.storages),
                    )
                )
        place.append(len(ops))
        held = owner.get(index)
        if held is not None:
            mapped = copies[held.path]
            op = replace(op, storages=tuple(mapped.get(s, s) for s in op.storages))
        ops.append(op)
    ends.append(len(ops))
    return trace.with_ops(ops, _lives(trace, found, ops, (place, ends), extra), place)


def _lives(
    trace: Trace,
    found: Sequence[Block],
    ops: list[Op],
    places: tuple[list[int], list[int]],
    extra: list[int],
) -> list[Storage]:
    """What a block made ends with its last use, and lives again from the second forward on."""
    place, ends = places
    first, last = touches(ops)
    stops = {i: b.stop for b in found for i in range(b.first, b.stop)}
    read_behind = {s for b in found for i in b.backward for s in trace.ops[i].storages}
    lives: list[Storage] = []
    for number, s in enumerate(trace.storages):
        freed = None if s.freed is None else ends[s.freed]
        stop = stops.get(s.born)
        if stop is not None and s.freed is not None and s.freed > stop:
            freed = last[number] + 1
        lives.append(replace(s, born=s.born if s.born < 0 else place[s.born], freed=freed))
    for offset, number in enumerate(extra):
        s, new = trace.storages[number], len(trace.storages) + offset
        freed = last[new] + 1
        if number in read_behind and s.freed is not None:
            freed = max(freed, ends[s.freed])
        lives.append(replace(s, born=first[new], freed=freed))
    return lives
