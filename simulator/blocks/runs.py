"""The runs of identical blocks in a trace: a step's entries into each, forward and backward."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from simulator.records import Trace

LEAST = 4
"""Number of blocks that a trace must have: the first, two to compare, and the last."""


class UnequalBlocksError(ValueError):
    """Blocks 1 and 2 of a trace differ."""


@dataclass(frozen=True)
class Run:
    """Ops [start, end) that belong to one entry into a block; `block` is None in the optimizer."""

    block: int | None
    phase: str
    start: int
    end: int

    @property
    def ops(self) -> range:
        return range(self.start, self.end)


def block_of(path: str, blocks: str) -> int | None:
    """The number of the block that contains a module path, for blocks "layers.0", …"""
    head, separator, tail = path.partition(f"{blocks}.")
    number = tail.partition(".")[0]
    return int(number) if separator and number.isdigit() and (not head or head[-1] == ".") else None


def block_count(trace: Trace, blocks: str) -> int:
    """The number of blocks: one more than the highest block number."""
    return 1 + max((block_of(op.module, blocks) or 0 for op in trace.ops), default=-1)


def path_of_blocks(trace: Trace) -> str:
    """The path of the list with the most blocks, such as "layers"; empty without blocks."""
    most: dict[str, int] = {}
    for path in {op.module for op in trace.ops}:
        words = path.split(".")
        for place, word in enumerate(words):
            if word.isdigit() and place:
                blocks = ".".join(words[:place])
                most[blocks] = max(most.get(blocks, 0), block_of(path, blocks) or 0)
                break
    return max(most, key=lambda path: most[path], default="")


@lru_cache(8192)
def renumbered(path: str, blocks: str, shift: int) -> str:
    """The module path, with the number of its block increased by `shift`."""
    block = block_of(path, blocks) if shift else None
    if block is None:
        return path
    head, separator, tail = path.partition(f"{blocks}.")
    _, dot, rest = tail.partition(".")
    return f"{head}{separator}{block + shift}{dot}{rest}"


def runs(trace: Trace, blocks: str) -> list[Run]:
    """The runs of a trace in order; ops outside all blocks belong to the previous run."""
    starts: list[tuple[int, int | None, str]] = []
    current: tuple[int | None, str] = (0, "forward")
    for place, op in enumerate(trace.ops):
        block = block_of(op.module, blocks)
        updating = op.phase == "optimizer"
        entered = None if updating else block, op.phase
        if (block is not None or updating) and (entered != current or not starts):
            starts.append((place if starts else 0, *entered))
            current = entered
    ends = [start for start, _, _ in starts[1:]] + [len(trace.ops)]
    return [
        Run(block, phase, start, end)
        for (start, block, phase), end in zip(starts, ends, strict=True)
    ]
