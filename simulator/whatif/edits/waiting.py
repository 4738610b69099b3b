"""What if the host never waited? Ops that make it wait, without the wait.

Under names of their own (`unwaited.nonzero.default`) they cost what they cost, and the schedule
does not know them as ops that wait.
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
    """Each op that the host waits for, without the wait."""

    rank: int = 1

    def __call__(self, trace: Trace) -> Trace:
        change = Rewriting(trace)
        named: dict[int, Signature] = {}
        for index, op in enumerate(trace.ops):
            if not syncs(op.signature):
                continue
            key = id(op.signature)
            if key not in named:
                name = f"unwaited.{op.name.partition('.')[2]}"
                named[key] = replace(op.signature, name=name)
            change.put(index, (replace(op, signature=named[key]),))
        return change.done()
