"""The layout of a part's blocks, and the flows between them. No painting."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from app.scenes.timeline.lanes import split
from simulator.analysis.block_diagram import OUTSIDE, Block, BlockDiagram, Flow, Set, Trial
from simulator.prediction import Regime

BLOCK_H, GAP, PITCH_Y, EDGE = 58.0, 18.0, 92.0, 24.0
_LEAST_PITCH, _MOST_PITCH, _MOST_PITCH_Y = 91.0, 150.0, 140.0
BARS_PX = 150.0
_WIDEST_PX = 22.0

Bar = tuple[str, int, Regime]
"""A kernel's name, the bytes that it moves, and its regime."""


@dataclass(frozen=True)
class FusionScene:
    """A part of the network: its blocks by op with their columns and rows, the flows, its fused
    sets, and pixels per byte."""

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
        """The largest number of blocks in a column."""
        counts = [0] * self.columns
        for column, _ in self.place.values():
            counts[column] += 1
        return max(counts)

    @property
    def size(self) -> tuple[float, float]:
        """The minimum size in pixels."""
        high = 2 * EDGE + self.rows * PITCH_Y + BARS_PX
        return 2 * EDGE + self.columns * _LEAST_PITCH, high

    def pitch(self, width: float) -> float:
        """The distance between columns at a width, in pixels."""
        return min(max((width - 2 * EDGE) / self.columns, _LEAST_PITCH), _MOST_PITCH)

    def at(self, op: int, width: float, height: float) -> tuple[float, float]:
        """The middle of a block."""
        column, row = self.place[op]
        middle = (height - BARS_PX) / 2 + 12
        pitch = min(max((height - BARS_PX - 2 * EDGE) / self.rows, PITCH_Y), _MOST_PITCH_Y)
        return EDGE + (column + 0.5) * self.pitch(width), middle + row * pitch

    def set_of(self, op: int) -> Set | None:
        """The fused set that contains a block."""
        return next((each for each in self.sets if op in each.members), None)

    @property
    def bars(self) -> tuple[list[Bar], list[Bar]]:
        """The traffic per kernel: unfused, and fused."""
        unfused: list[Bar] = [(b.name, b.bytes, b.regime) for b in self.blocks.values()]
        joined: list[Bar] = []
        counted: set[int] = set()
        for op, block in self.blocks.items():
            ops = self.set_of(op)
            if op in counted:
                continue
            if ops is None:
                joined.append((block.name, block.bytes, block.regime))
                continue
            members = [self.blocks[each] for each in ops.members if each in self.blocks]
            counted.update(each.op for each in members)
            left = sum(each.bytes for each in members) - ops.bytes_saved
            most = max(members, key=lambda each: each.seconds)
            joined.append((", ".join(each.name for each in members), max(0, left), most.regime))
        return unfused, joined

    def with_trial(self, trial: Trial | None) -> FusionScene:
        """The scene with a trial's kernel, or the scene itself without a trial."""
        if trial is None or trial.refused or not trial.count:
            return self
        members = frozenset(trial.members)
        others = tuple(each for each in self.sets if not members.intersection(each.members))
        kernel = Set(
            trial.members,
            trial.bytes_saved // trial.count,
            trial.launches // trial.count,
            trial.launches_removed // trial.count,
            None,
        )
        return replace(self, sets=(*others, kernel))

    @property
    def saved(self) -> tuple[int, int]:
        """The bytes and the launches that the sets save in this part. All launches of a set count
        here, although it may have members in other parts."""
        unfused, joined = (sum(size for _, size, _ in bars) for bars in self.bars)
        sets = {op: self.set_of(op) for op in self.blocks}
        alone = sum(self.blocks[op].launches for op, each in sets.items() if each is None)
        together = sum({each.members: each.launches for each in sets.values() if each}.values())
        return unfused - joined, self.launches - alone - together

    @property
    def bytes(self) -> int:
        """Bytes that the unfused blocks move."""
        return sum(block.bytes for block in self.blocks.values())

    @property
    def launches(self) -> int:
        return sum(block.launches for block in self.blocks.values())


def parts(joining: BlockDiagram) -> dict[str, list[int]]:
    """The blocks by layer, in order."""
    ops_of: dict[str, list[int]] = {}
    for op, block in joining.blocks.items():
        phase = joining.before.trace.ops[op].phase
        outer = split(block.module, phase)[0] or "the network itself"
        ops_of.setdefault(outer, []).append(op)
    return ops_of


def scene(joining: BlockDiagram, name: str, ops: list[int]) -> FusionScene:
    """Lay out a part: each block is right of the blocks that it reads."""
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
        for at, each in stacked.items()
        for row, op in enumerate(each)
    }
    inside = set(ops)
    widest = max((flow.bytes for flow in flows), default=0)
    return FusionScene(
        name,
        {op: joining.blocks[op] for op in ops},
        place,
        tuple(flows),
        tuple(each for each in joining.sets if inside.intersection(each.members)),
        _WIDEST_PX / widest if widest else 0.0,
    )


def stays(scene: FusionScene, flow: Flow) -> bool:
    """Whether a value stays on the chip because its producer and its reader are one kernel."""
    if OUTSIDE in (flow.maker, flow.reader):
        return False
    joined = scene.set_of(flow.maker)
    return joined is not None and flow.reader in joined.members
