"""A traced step: its ops in dispatch order, and its storages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import msgspec

from simulator.records.op import Op, Signature

Role = Literal["weight", "buffer", "input", "optimizer", "gradient", "activation"]


class Storage(msgspec.Struct, frozen=True, gc=False):
    """One allocation: alive from the start of op `born` (−1: since before the step) to the start of
    op `freed` (None: it outlives the step)."""

    nbytes: int
    born: int
    freed: int | None
    role: Role
    device: str = "cuda"

    def moved(self, place: Sequence[int]) -> Storage:
        """The same allocation with ops renumbered: old op i is now op `place[i]`; `place` has a
        last entry for the end."""
        return msgspec.structs.replace(
            self,
            born=self.born if self.born < 0 else place[self.born],
            freed=None if self.freed is None else place[self.freed],
        )


class Assumption(msgspec.Struct, frozen=True):
    """A size or value that depends on data, and the value that was assumed for it."""

    op: int
    name: str
    taken: str


class Break(msgspec.Struct, frozen=True):
    """A break of torch.compile's graph between two ops of the forward pass.

    Ops from `op` to `until` run as in eager mode, and so do those of their backward pass, `back` to
    `back_until` (none if these are equal). `where` is the line of code ("nets.py, line 31") and
    `reason` names what cannot be compiled there. If a function's caller, or a function that it
    calls, breaks the graph, the function's start and end are breaks too; both texts are then empty.
    """

    op: int
    until: int
    where: str = ""
    reason: str = ""
    back: int = 0
    back_until: int = 0

    def moved(self, place: Sequence[int]) -> Break:
        """The same break with ops renumbered: old op i is now op `place[i]`."""
        op, until, back, back_until = (
            place[i] if i < len(place) else place[-1] + 1 if place else 0
            for i in (self.op, self.until, self.back, self.back_until)
        )
        return Break(op, max(op, until), self.where, self.reason, back, max(back, back_until))


class Trace(msgspec.Struct, frozen=True, dict=True):
    """The ops of one step in dispatch order; `code` gives the first line of each module's `forward`
    ("nets.py, line 31") by module path, except for torch's own modules. `run` is a
    `simulator.modes.Run`; `asked` names the functions with which the step queried how it runs.
    `workspace_configured`: CUBLAS_WORKSPACE_CONFIG was set, which each product parses.
    `dict=True` leaves room for cached properties."""

    ops: list[Op]
    storages: list[Storage]
    phase: Literal["inference", "training"]
    optimizer: str | None
    samples: int
    tokens: int | None
    parameters: int
    weight_bytes: int
    assumptions: list[Assumption]
    torch_version: str
    gpu: str
    tail_python_calls: int = 0
    tail_module_calls: int = 0
    tail_instructions: int = 0
    tail_cold_instructions: int = 0
    tail_attributes: int = 0
    tail_c_calls: int = 0
    breaks: list[Break] = []
    code: dict[str, str] = {}
    run: str = "eager"
    asked: list[str] = []
    workspace_configured: bool = False

    def with_ops(self, ops: list[Op], storages: list[Storage], place: Sequence[int]) -> Trace:
        """The step with other ops and storages: old op i is now op `place[i]`."""
        assumed = [  # a view at the end of the step may have been removed
            msgspec.structs.replace(each, op=min(place[each.op], len(ops) - 1))
            for each in self.assumptions
        ]
        return msgspec.structs.replace(
            self,
            ops=ops,
            storages=storages,
            assumptions=assumed,
            breaks=[each.moved(place) for each in self.breaks],
        )

    @cached_property
    def signatures(self) -> tuple[list[Signature], list[int]]:
        """The distinct signatures, and the index of each op's signature among them."""
        index: dict[int, int] = {}
        distinct: list[Signature] = []
        rows: list[int] = []
        for op in self.ops:
            key = id(op.signature)
            if key not in index:
                index[key] = len(distinct)
                distinct.append(op.signature)
            rows.append(index[key])
        return distinct, rows

    def names(self) -> Sequence[str]:
        """The overloads in order, such as `aten.addmm.default`."""
        return [op.name for op in self.ops]


def touches(ops: Sequence[Op]) -> tuple[dict[int, int], dict[int, int]]:
    """The index of the first and of the last op that touches each storage, by storage."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for index, op in enumerate(ops):
        for storage in op.storages:
            first.setdefault(storage, index)
            last[storage] = index
    return first, last
