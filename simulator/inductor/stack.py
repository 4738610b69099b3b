"""Equal blocks of a network one after the other, told from its eager trace."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from simulator.records import Trace

_SHARED = 4
"""Blocks that touch a storage, for it to be nobody's own nor passed to a neighbour."""


class Stack(NamedTuple):
    """`blocks` children of the module at `path`, named 0, 1, 2 and so on."""

    path: str
    blocks: int


def stack(trace: Trace) -> Stack | None:
    """The stack with most ops, where all of its blocks but the first and the last run the same ops
    on the same tensors, and on the same memory where they share it; None where there is none."""
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
        seen = {tuple(_told(trace, rows, place, path, shared) for place in each) for each in inner}
        return Stack(path, len(blocks)) if len(seen) == 1 else None
    return None


def _shared(trace: Trace, blocks: dict[int, list[int]]) -> set[int]:
    touching: dict[int, set[int]] = defaultdict(set)
    for number, places in blocks.items():
        for place in places:
            for storage in trace.ops[place].storages:
                touching[storage].add(number)
    return {storage for storage, by in touching.items() if len(by) >= _SHARED}


def _told(
    trace: Trace, rows: list[int], place: int, path: str, shared: set[int]
) -> tuple[object, ...]:
    op = trace.ops[place]
    inside = op.module.removeprefix(path).lstrip(".").partition(".")[2]
    return (rows[place], inside, op.phase, tuple(s if s in shared else -1 for s in op.storages))
