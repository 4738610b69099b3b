"""The graphs of a compiled step: one forward and one backward, or more if the graph breaks. A
kernel has ops of one graph only. Tensors that cross graphs are stored. Ops between graphs run as in
eager mode."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from simulator.caches.derived import Derived
from simulator.records import Break, Phase, Trace

_NAMED = 6
"""Number of eager ops that a note names."""

Graph = tuple[Phase, int]
"""A phase, and the number of a sequence of ops in it ("stretch"); odd stretches run eagerly."""


_GRAPHS = Derived["Graphs"]()


def graphs(trace: Trace) -> Graphs:
    """The stretches of a trace, cached with it."""
    return _GRAPHS.get(trace, lambda: Graphs(trace))


class Graphs:
    """The stretches of a step; op i is in stretch `of[i]`."""

    def __init__(self, trace: Trace) -> None:
        self.cuts = sorted(
            cut for each in trace.breaks for cut in (each.op, each.until, *_backward(each))
        )
        self.of: list[Graph] = [
            (op.phase, self._stretch(index)) for index, op in enumerate(trace.ops)
        ]

    def _stretch(self, index: int) -> int:
        return bisect_right(self.cuts, index)

    def eager(self, index: int) -> bool:
        """Whether an op is outside all graphs."""
        return bool(self.of[index][1] % 2)

    def cross(self, index: int, others: Iterable[int]) -> bool:
        """Whether one of the other ops is in a different graph from this op."""
        return bool(self.cuts) and any(self.of[each] != self.of[index] for each in others)

    def breaks_between(self, breaks: Iterable[Break], stretches: Iterable[int]) -> list[Break]:
        """The breaks of a trace whose ops, in order, have these stretches."""
        stretch_so_far = list(accumulate(stretches, max))

        def at(old: int) -> int:
            return bisect_left(stretch_so_far, bisect_left(self.cuts, old) + 1)

        return [
            Break(at(b.op), at(b.until), b.where, b.reason, *map(at, _backward(b))) for b in breaks
        ]


def graph_break_notes(trace: Trace) -> list[str]:
    """Notes on the graph breaks of a trace: the lines of code, the reasons and the effect."""
    causes = Counter((each.where, each.reason) for each in trace.breaks if each.reason)
    if not causes:
        return []
    lines = "; ".join(
        f"{where}{f' ({times} times)' if times > 1 else ''}: {reason}"
        for (where, reason), times in causes.items()
    )
    cut = graphs(trace)
    step_ops = [index for index, op in enumerate(trace.ops) if op.phase != "optimizer"]
    between = Counter(trace.ops[index].name.split(".")[1] for index in step_ops if cut.eager(index))
    used_graphs = {cut.of[index] for index in step_ops if not cut.eager(index)}
    graph_count = f"{len(used_graphs)} graph{'s' * (len(used_graphs) != 1)}"
    return [
        f"torch.compile breaks its graph at {lines}",
        f"the step runs as {graph_count}, with no kernel across graphs, and {_ops_text(between)} "
        "between them in eager mode",
    ]


def _ops_text(ops: Counter[str]) -> str:
    """Ops as text: `3 ops (2 mul, relu)`."""
    named = ops.most_common(_NAMED)
    words = [f"{times} {name}" if times > 1 else name for name, times in named]
    more = ops.total() - sum(times for _, times in named)
    words += [f"{more} more"] * bool(more)
    which = f" ({', '.join(words)})" if words else ""
    return f"{ops.total()} op{'s' * (ops.total() != 1)}{which}"


def _backward(cut: Break) -> tuple[int, ...]:
    return (cut.back, cut.back_until) if cut.back else ()
