"""What a compiler schedules: loops over elements, reductions, and calls into libraries."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from simulator.records import Op

Kind = Literal["pointwise", "reduction", "library"]
Key = Any
"""A value of the dataflow, or a number for what only the compiler sees."""


@dataclass(frozen=True)
class Recomputed:
    """Issue slots of all elements of a value of this shape, wherever it is computed."""

    instructions: int
    shape: tuple[int, ...]


@dataclass(eq=False)
class Node:
    """One loop nest before fusion, or a library call.

    `rows` × `cols` is the iteration space: `rows` results, each of `cols` elements (1 for a loop
    over elements). `inner` is True where the elements of a result lie beside each other in memory.
    `reads` and `writes` are bytes by value; `ops` are indices of the trace, those that are computed
    again here included; `partial` marks the first of several steps of a split reduction, `atomic`
    one that adds into what others wrote, `alone` one that fuses with nothing; `call` is a library
    call where it is not the op as traced. `instructions` are the node's own, `recomputed` those of
    values that it computes where it reads them, by op. A `looped` reduction walks along its rows,
    which are too long for registers.
    """

    kind: Kind
    rows: int
    cols: int = 1
    inner: bool = True
    reads: dict[Key, int] = field(default_factory=dict)
    writes: dict[Key, int] = field(default_factory=dict)
    ops: tuple[int, ...] = ()
    flops: int = 0
    instructions: int = 0
    partial: bool = False
    atomic: bool = False
    alone: bool = False
    call: Op | None = None
    recomputed: dict[int, Recomputed] = field(default_factory=dict)
    looped: bool = False

    @property
    def elements(self) -> int:
        return self.rows * self.cols


@dataclass(frozen=True)
class Pending:
    """A value that is computed where it is read, and never stored: all of `reads` into it, all of
    `recomputed` for it."""

    reads: dict[Key, int]
    ops: tuple[int, ...]
    flops: int
    recomputed: dict[int, Recomputed]
