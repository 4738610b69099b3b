"""Remove the wait from ops that make the host wait for the GPU.

The ops get separate names (`unwaited.nonzero.default`); their costs are the same, and the schedule
does not wait for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from simulator.costs import COSTS, Work, cost, works
from simulator.hardware.waits import may_wait, syncs
from simulator.records import Signature, Trace
from simulator.whatif.edits.rewriting import Rewriting

_NAMES = [name for name in COSTS if may_wait(name)]


@cost(*(f"unwaited.{name.partition('.')[2]}" for name in _NAMES))
def unwaited(op: Signature) -> tuple[Work, ...]:
    """The work of the op that would wait."""
    return works(replace(op, name=f"aten.{op.name.partition('.')[2]}")) or ()


@dataclass(frozen=True)
class Unwaited:
    """Remove the host's wait for each op."""

    rank: int = 1

    def __call__(self, trace: Trace) -> Trace:
        change = Rewriting(trace)
        renamed: dict[int, Signature] = {}
        for index, op in enumerate(trace.ops):
            if not syncs(op.signature):
                continue
            key = id(op.signature)
            if key not in renamed:
                name = f"unwaited.{op.name.partition('.')[2]}"
                renamed[key] = replace(op.signature, name=name)
            change.put(index, (replace(op, signature=renamed[key]),))
        return change.done()
