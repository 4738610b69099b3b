"""Growth of time and memory with layers, with the size of a compiled graph, and with points.

The slope beside a row is that of the logarithm of its CPU time over the row before: 1 is growth in
proportion, less is shared work. Memory is what the process needs more at its peak.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from math import log
from typing import NamedTuple

from simulator.analysis.sweep import sweep
from simulator.scenario import trace_source
from simulator.scenario.scenario import Scenario, predict
from tests.benchmarks.timing import Row, timed

BERT = Scenario("bert-base", batch=8, seq=128, dtype="fp16")


class Growth(NamedTuple):
    """What grows, its sizes, and the question at a size; `before` is asked first, untimed."""

    what: str
    sizes: tuple[int, ...]
    ask: Callable[[int], object]
    before: Callable[[], object]


def slopes() -> Iterator[Row]:
    """A row for each size of each growth."""
    for what, sizes, ask, before in (
        Growth("layers, traced and predicted", (1, 10, 100, 1000), _layers, lambda: _layers(2)),
        Growth("layers, compiled", (1, 10, 100), _compiled, lambda: _compiled(2)),
        Growth("points of a family", (100, 1_000, 10_000, 100_000), _points, lambda: _points(50)),
    ):
        trace_source.forget()
        before()
        last: tuple[int, float] | None = None
        for size in sizes:
            peak_kib = _peak_kib()
            row = timed(f"{size:,} {what}", lambda _, n=size, a=ask: str(a(n)), 1)
            slope = (
                "" if last is None else f"slope {log(row.cpu_s / last[1], size / last[0]):.2f}, "
            )
            more_mib = (_peak_kib() - peak_kib) / 1024
            yield row._replace(note=f"{slope}{more_mib:.0f} MiB more at the peak")
            last = size, row.cpu_s


def _layers(layers: int) -> str:
    return predict(Scenario("gpt2", batch=8, seq=128, sizes={"layers": layers})).regime


def _compiled(layers: int) -> str:
    scenario = Scenario("gpt2", batch=8, seq=128, sizes={"layers": layers}, mode="compiled")
    return predict(scenario).regime


def _points(points: int) -> str:
    batches = range(1, points // 50 + 1)
    return f"{len(sweep(BERT, {'batch': batches, 'seq': range(16, 416, 8)}).refused)} refused"


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
