"""Where the blocks of a part of the network stand, and what flows between them. No painting."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.views.timeline_lanes import split
from simulator.whatif.joining import OUTSIDE, Block, Flow, Joining, Set

BLOCK_W, BLOCK_H, PITCH_X, PITCH_Y, EDGE = 104.0, 58.0, 140.0, 96.0, 64.0
_WIDEST_PX = 22.0


@dataclass(frozen=True)
class Scene:
    """A part of the network: its blocks by op with their columns and rows, the flows, the sets that
    lie in it, and pixels a byte."""

    name: str
    blocks: dict[int, Block] = field(default_factory=dict[int, Block])
    place: dict[int, tuple[int, float]] = field(default_factory=dict[int, tuple[int, float]])
    flows: tuple[Flow, ...] = ()
    sets: tuple[Set, ...] = ()
    px_per_byte: float = 0.0

    @property
    def columns(self) -> int:
        return 1 + max((column for column, _ in self.place.values()), default=0)

    @property
    def rows(self) -> int:
        """The most blocks of a column."""
        counts = [0] * self.columns
        for column, _ in self.place.values():
            counts[column] += 1
        return max(counts)

    @property
    def size(self) -> tuple[float, float]:
        """Pixels that it needs."""
        return 2 * EDGE + self.columns * PITCH_X, 2 * EDGE + self.rows * PITCH_Y

    def at(self, op: int, height: float) -> tuple[float, float]:
        """The middle of a block."""
        column, row = self.place[op]
        return EDGE + (column + 0.5) * PITCH_X, height / 2 + row * PITCH_Y

    def set_of(self, op: int) -> Set | None:
        """The set that a block is part of."""
        return next((each for each in self.sets if op in each.members), None)

    @property
    def bytes(self) -> int:
        """What the blocks move by themselves."""
        return sum(block.bytes for block in self.blocks.values())

    @property
    def launches(self) -> int:
        return sum(block.launches for block in self.blocks.values())


def parts(joining: Joining) -> dict[str, list[int]]:
    """The blocks by the layer that they belong to, in order."""
    found: dict[str, list[int]] = {}
    for op, block in joining.blocks.items():
        phase = joining.before.trace.ops[op].phase
        outer = split(block.module, phase)[0] or "the network itself"
        found.setdefault(outer, []).append(op)
    return found


def scene(joining: Joining, name: str, ops: list[int]) -> Scene:
    """A part laid out: a block stands right of all that it reads."""
    flows = joining.flows(ops)
    column: dict[int, int] = {}
    for op in sorted(ops):
        before = [column[f.maker] for f in flows if f.reader == op and f.maker in column]
        column[op] = 1 + max(before, default=-1)
    stacked: dict[int, list[int]] = {}
    for op, at in column.items():
        stacked.setdefault(at, []).append(op)
    place = {
        op: (at, row - (len(each) - 1) / 2)
        for at, each in stacked.items() for row, op in enumerate(each)
    }  # fmt: skip
    inside = set(ops)
    widest = max((flow.bytes for flow in flows), default=0)
    return Scene(
        name, {op: joining.blocks[op] for op in ops}, place, tuple(flows),
        tuple(each for each in joining.sets if inside.intersection(each.members)),
        _WIDEST_PX / widest if widest else 0.0,
    )  # fmt: skip


def stays(scene: Scene, flow: Flow) -> bool:
    """Does a value never leave the chip, since who makes and who reads it are one kernel?"""
    if OUTSIDE in (flow.maker, flow.reader):
        return False
    joined = scene.set_of(flow.maker)
    return joined is not None and flow.reader in joined.members
