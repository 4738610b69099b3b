"""Find a stack of identical blocks in the eager trace of a network."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from simulator.records import Trace

_SHARED = 4
"""A storage that at least this many blocks touch is shared: it neither belongs to one block nor
passes to the next one."""


class Stack(NamedTuple):
    """`blocks` children of the module at `path`, named 0, 1, 2 and so on."""

    path: str
    blocks: int


def stack(trace: Trace) -> Stack | None:
    """The stack with the most ops, if all of its blocks but the first and the last run the same ops
    on equal tensors and the same shared memory; else None."""
    _, rows = trace.signatures
    ops: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, op in enumerate(trace.ops):
        parts = op.module.split(".")
        for i, part in enumerate(parts):
            if part.isdecimal():
                ops[".".join(parts[:i])][int(part)].append(place)
    for path, blocks in sorted(
        ops.items(), key=lambda each: sum(map(len, each[1].values())), reverse=True
    ):
        if sorted(blocks) != list(range(len(blocks))):
            continue
        shared = _shared(trace, blocks)
        inner = [blocks[i] for i in range(1, len(blocks) - 1)]
        keys = {tuple(_key(trace, rows, place, path, shared) for place in each) for each in inner}
        return Stack(path, len(blocks)) if len(keys) == 1 else None
    return None


def _shared(trace: Trace, blocks: dict[int, list[int]]) -> set[int]:
    touching: dict[int, set[int]] = defaultdict(set)
    for number, places in blocks.items():
        for place in places:
            for storage in trace.ops[place].storages:
                touching[storage].add(number)
    return {storage for storage, by in touching.items() if len(by) >= _SHARED}


def _key(
    trace: Trace, rows: list[int], place: int, path: str, shared: set[int]
) -> tuple[object, ...]:
    op = trace.ops[place]
    inside = op.module.removeprefix(path).lstrip(".").partition(".")[2]
    return (rows[place], inside, op.phase, tuple(s if s in shared else -1 for s in op.storages))
