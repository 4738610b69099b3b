"""Inductor's decisions as plain data: launches in order, and the buffers that they touch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from simulator.records import Phase, Role, Signature

LaunchKind = Literal["pointwise", "reduction", "library"]


class Origin(msgspec.Struct, frozen=True):
    """An op as the module called it, before decomposition: its name, the path of the module, the
    phase, and the number of the call among those of the same name, module and phase."""

    op: str
    module: str
    phase: Phase
    number: int = 0


class Launch(msgspec.Struct, frozen=True):
    """One generated kernel, or one call into a library (which may launch several kernels).

    `name` is the kernel's or the call's. `reads` and `writes` are (buffer, bytes), `origins` are
    indices into the schedule's. `elements` is the size of the kernel's largest loop, `cols` the
    number of elements reduced to a result, and `rows` the number of results if these elements are
    adjacent. `call` is the op of a library call with the layouts of its tensors, and `operands` are
    the buffers of its inputs and outputs.
    """

    kind: LaunchKind
    name: str
    phase: Phase
    origins: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]
    writes: tuple[tuple[int, int], ...]
    flops: int = 0
    instructions: int = 0
    rows: int = 0
    call: Signature | None = None
    operands: tuple[int, ...] = ()
    elements: int = 0
    cols: int = 0

    @property
    def touched(self) -> tuple[int, ...]:
        """The buffers that the launch reads, writes or has as operands."""
        return (*(b for b, _ in self.reads), *(b for b, _ in self.writes), *self.operands)

    def renumbered(self, number: Mapping[int, int]) -> Launch:
        """The launch with its buffers renumbered."""
        return msgspec.structs.replace(
            self,
            reads=tuple((number[b], n) for b, n in self.reads),
            writes=tuple((number[b], n) for b, n in self.writes),
            operands=tuple(number[b] for b in self.operands),
        )


class Buffer(msgspec.Struct, frozen=True):
    """Memory that launches touch."""

    nbytes: int
    role: Role


class Schedule(msgspec.Struct, frozen=True):
    """A compiled step without its optimizer. `seconds` is the time to compute it, by stage."""

    launches: list[Launch]
    buffers: list[Buffer]
    origins: list[Origin]
    torch_version: str
    triton_version: str
    seconds: dict[str, float] = {}
    notes: tuple[str, ...] = ()
