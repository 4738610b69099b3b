"""Activation checkpointing: a block's forward pass runs again before its backward pass.

As in non-reentrant `torch.utils.checkpoint`, a block keeps its inputs, not its activations. The
second forward pass stops once it has recomputed everything that the backward pass reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from simulator.costs import works
from simulator.errors import InputError
from simulator.records import Op, Storage, Trace, touches
from simulator.scenario.module_pattern import block
from simulator.scenario.resolved import Selective


@dataclass(frozen=True)
class Block:
    """A module's forward ops [first, stop); the ops [first, until) run again.

    resumes   the first op of its backward pass, before which they run
    backward  its backward ops
    """

    path: str
    first: int
    stop: int
    until: int
    resumes: int
    backward: frozenset[int]


@dataclass(frozen=True)
class Recomputed(Selective[list[Block]]):
    """Checkpoint each block that a pattern matches."""

    modules: str
    rank: int = 3

    def chosen(self, trace: Trace) -> list[Block]:
        """The blocks to recompute. Raises InputError as `blocks` does."""
        return blocks(trace, self.modules)

    def rewritten(self, trace: Trace, chosen: list[Block]) -> Trace:
        """The trace in which the blocks run again."""
        return _recompute(trace, chosen)


def blocks(trace: Trace, modules: str) -> list[Block]:
    """The blocks to recompute. Raises InputError if no block can be recomputed, or if a block runs
    twice."""
    forward: dict[str, list[int]] = {}
    backward: dict[str, list[int]] = {}
    for index, op in enumerate(trace.ops):
        path = block(modules, op.module) if op.phase != "optimizer" else None
        if path is not None:
            (forward if op.phase == "forward" else backward).setdefault(path, []).append(index)
    matching: list[Block] = []
    for path, rows in forward.items():
        if path not in backward:
            continue
        if rows[-1] - rows[0] + 1 != len(rows):
            raise InputError(
                f"recompute: {path!r} runs more than once in a step: expected modules that run "
                "once; choose other modules"
            )
        block_backward = frozenset(backward[path])
        matching.append(_block(trace, path, rows[0], rows[-1] + 1, block_backward))
    if not matching:
        raise InputError(
            f"recompute: no module with a backward pass matches {modules!r}: expected a pattern "
            "such as 'layers.*', in training; choose other modules"
        )
    return matching


def _block(trace: Trace, path: str, first: int, stop: int, backward: frozenset[int]) -> Block:
    read = {s for index in backward for s in trace.ops[index].storages}
    until = first
    for index in range(first, stop):
        written = trace.ops[index].storages[len(trace.ops[index].inputs) :]
        if any(s in read and first <= trace.storages[s].born < stop for s in written):
            until = index + 1
    while until < stop and works(trace.ops[until].signature) == ():
        until += 1  # without trailing views, up to the op that reads the last saved tensors
    return Block(path, first, stop, until, min(backward), backward)


def _recompute(trace: Trace, blocks: Sequence[Block]) -> Trace:
    resumes = {b.resumes: b for b in blocks}
    owner = {index: b for b in blocks for index in b.backward}
    copies: dict[str, dict[int, int]] = {
        b.path: {} for b in blocks
    }  # storage -> its recomputed copy
    ops: list[Op] = []
    place: list[int] = []
    ends: list[int] = []  # storages freed before an op are freed before its recomputed ops
    extra: list[int] = []  # the original of each recomputed storage
    for index, op in enumerate(trace.ops):
        ends.append(len(ops))
        recomputed = resumes.get(index)
        if recomputed is not None:
            mapped = copies[recomputed.path]
            for old in trace.ops[recomputed.first : recomputed.until]:
                for s in old.storages:
                    born = trace.storages[s].born
                    if recomputed.first <= born < recomputed.stop and s not in mapped:
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
        own_block = owner.get(index)
        if own_block is not None:
            mapped = copies[own_block.path]
            op = replace(op, storages=tuple(mapped.get(s, s) for s in op.storages))
        ops.append(op)
    ends.append(len(ops))
    return trace.with_ops(ops, _lives(trace, blocks, ops, (place, ends), extra), place)


def _lives(
    trace: Trace,
    blocks: Sequence[Block],
    ops: list[Op],
    places: tuple[list[int], list[int]],
    extra: list[int],
) -> list[Storage]:
    """The storages: a block's activations are freed after their last use; their copies are
    allocated in the second forward pass."""
    place, ends = places
    first, last = touches(ops)
    stops = {i: b.stop for b in blocks for i in range(b.first, b.stop)}
    read_backward = {s for b in blocks for i in b.backward for s in trace.ops[i].storages}
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
        if number in read_backward and s.freed is not None:
            freed = max(freed, ends[s.freed])
        lives.append(replace(s, born=first[new], freed=freed))
    return lives
