"""Remove ops from a trace, as if they took no time; their outputs remain."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from simulator.errors import InputError
from simulator.records import Op, Trace
from simulator.scenario.module_pattern import block
from simulator.scenario.resolved import Selective
from simulator.whatif.edits.rewriting import Rewriting


@dataclass(frozen=True)
class Removed(Selective[list[int]]):
    """Remove the ops whose name matches `op` in modules that match `modules`, forward and backward,
    with their kernels and host work. Their outputs still take memory."""

    op: str
    modules: str
    rank: int = 1

    def chosen(self, trace: Trace) -> list[int]:
        """The indices of the matching ops. Raises InputError if no op matches."""
        indices = [i for i, op in enumerate(trace.ops) if self.fits(op)]
        if not indices:
            raise InputError(
                f"remove: no op {self.op!r} in modules {self.modules!r}: expected a name such as "
                f"{_example(trace)!r}, with * for any letters; `ridgepoint predict` lists the ops"
            )
        return indices

    def rewritten(self, trace: Trace, chosen: list[int]) -> Trace:
        """The trace without the ops at these indices."""
        change = Rewriting(trace)
        for index in chosen:
            change.put(index, ())
        return change.done()

    def fits(self, op: Op) -> bool:
        """Whether this edit removes an op."""
        return fits_name(self.op, op.name) and block(self.modules, op.module) is not None


def fits_name(pattern: str, name: str) -> bool:
    """Whether a pattern matches an overload's full name, the name without its namespace, or the
    bare name."""
    short = name.partition(".")[2]
    return any(fnmatchcase(n, pattern) for n in (name, short, short.rpartition(".")[0]))


def _example(trace: Trace) -> str:
    counts: dict[str, int] = {}
    for op in trace.ops:
        short = op.name.split(".")[1]
        counts[short] = counts.get(short, 0) + 1
    return max(counts, key=lambda n: counts[n]) if counts else "mm"
