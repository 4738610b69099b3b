"""What another block adds to a trace apart from ops: its weights, and the host's work for them. It
is the difference between the trace of a few blocks and the trace with one more block. Repeating a
block of the first trace must give the second.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from simulator.blocks.repetition import Repetition
from simulator.blocks.runs import UnequalBlocksError, block_count
from simulator.records import COUNTED, TAIL, Trace

_OF_THE_TRACE = ("parameters", "weight_bytes", *TAIL)
_OF_AN_OP = (*COUNTED, "wrapped")
_Counts = dict[str, int]


@dataclass(frozen=True)
class Growth:
    """The growth per block: of fields of the trace by name, and of fields of the optimizer's ops by
    the op's place from the end of the trace of a few blocks (−1 is the last). Places count from the
    end, since other batches may have other ops before the optimizer's."""

    blocks: str
    of_the_trace: _Counts
    of_ops: dict[int, _Counts]

    def grown(self, few: Trace, count: int) -> Trace:
        """The trace of `count` blocks, from a trace of a few. Raises UnequalBlocksError if it has
        graph breaks, or blocks that differ."""
        if few.breaks:
            raise UnequalBlocksError("the graph breaks")
        repetition = Repetition(few, self.blocks, count)
        longer, added = repetition.trace, repetition.added
        ops = list(longer.ops)
        for i, place in enumerate(repetition.place_of):
            if few.ops[i].phase == "optimizer":
                more = self.of_ops.get(i - len(few.ops), {})
                counts = {n: getattr(few.ops[i], n) + added * more.get(n, 0) for n in _OF_AN_OP}
                ops[place] = msgspec.structs.replace(ops[place], **counts)
        totals = {n: getattr(few, n) + added * each for n, each in self.of_the_trace.items()}
        return msgspec.structs.replace(longer, ops=ops, **totals)


def growth(few: Trace, more: Trace, blocks: str) -> Growth:
    """The growth per block; `more` has one more block than `few`. Raises UnequalBlocksError unless
    `few`, repeated, equals `more`."""
    count = block_count(few, blocks) + 1
    repetition = Repetition(few, blocks, count)
    if len(repetition.trace.ops) != len(more.ops):
        raise UnequalBlocksError("one more block has other ops")
    of_ops: dict[int, _Counts] = {}
    for i, place in enumerate(repetition.place_of):
        old, new = few.ops[i], more.ops[place]
        counts = {n: getattr(new, n) - getattr(old, n) for n in _OF_AN_OP}
        if old.phase == "optimizer" and any(counts.values()):
            of_ops[i - len(few.ops)] = counts
    each = Growth(blocks, {n: getattr(more, n) - getattr(few, n) for n in _OF_THE_TRACE}, of_ops)
    grown = each.grown(few, count)
    if grown != more or grown.signatures[1] != more.signatures[1]:
        raise UnequalBlocksError(
            "repeating the traced blocks does not give the trace of one more block"
        )
    return each
