"""The nodes that a compiler schedules: loops over elements, reductions, and library calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from simulator.records import Op

Kind = Literal["pointwise", "reduction", "library"]
Key = Any
"""A value of the dataflow, or a number for a value that only the compiler sees."""


@dataclass(frozen=True)
class Recomputed:
    """A value that is recomputed: issue slots for all its elements, and its shape."""

    instructions: int
    shape: tuple[int, ...]


@dataclass(eq=False)
class Node:
    """One loop nest before fusion, or a library call.

    `rows` × `cols` is the iteration space: `rows` results, each of `cols` elements (1 for a loop
    over elements). `inner` is True if the elements of a result are adjacent in memory. `reads` and
    `writes` are bytes by value; `ops` are indices of the trace, recomputed ops included. `partial`
    marks the first of several steps of a split reduction, `atomic` a node that adds to values of
    other nodes or overwrites elements of them, `alone` a node that fuses with no other node. Other
    nodes write other parts of the value `piece_of`, so an op that reads `piece_of` fuses with none
    of them; in this case the node's own value is in the same memory. `call` is a library call that
    differs from the traced op. `instructions` are the node's own, `recomputed` those of values that
    it recomputes, by op. A `looped` reduction loops along its rows, which are too long for
    registers.
    """

    kind: Kind
    rows: int
    cols: int = 1
    inner: bool = True
    reads: dict[Key, int] = field(default_factory=dict[Key, int])
    writes: dict[Key, int] = field(default_factory=dict[Key, int])
    ops: tuple[int, ...] = ()
    flops: int = 0
    instructions: int = 0
    partial: bool = False
    atomic: bool = False
    alone: bool = False
    call: Op | None = None
    recomputed: dict[int, Recomputed] = field(default_factory=dict[int, Recomputed])
    looped: bool = False
    piece_of: Key | None = None

    @property
    def own_writes(self) -> dict[Key, int]:
        """The writes, except that of a piece."""
        return {key: size for key, size in self.writes.items() if key != self.piece_of}

    @property
    def elements(self) -> int:
        return self.rows * self.cols


@dataclass(frozen=True)
class Pending:
    """A value that is not stored but computed where it is read, from `reads`, with the recomputed
    ops of `recomputed`."""

    reads: dict[Key, int]
    ops: tuple[int, ...]
    flops: int
    recomputed: dict[int, Recomputed]
