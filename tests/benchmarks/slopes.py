"""Growth of time and memory with layers, with the size of a compiled graph, and with points.

The slope of a row is the logarithmic growth of CPU time since the previous row: 1 is proportional
growth, less means shared work. Memory is the increase of the process's peak.
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


_DECADES = (100, 1_000, 10_000, 100_000, 1_000_000)


class Growth(NamedTuple):
    """A quantity that grows: its sizes, and the question to time at each size; `before` runs first,
    untimed."""

    unit: str
    sizes: tuple[int, ...]
    ask: Callable[[int], object]
    before: Callable[[], object]


def slopes(most: int = 100_000) -> Iterator[Row]:
    """A row for each size of each quantity, with at most `most` points."""
    points = tuple(size for size in (1, *_DECADES) if size <= most)
    for unit, sizes, ask, before in (
        Growth("layers, traced and predicted", (1, 10, 100, 1000), _layers, lambda: _layers(2)),
        Growth("layers, compiled", (1, 10, 100), _compiled, lambda: _compiled(2)),
        Growth("points of a family", points, _points, lambda: _points(50)),
    ):
        trace_source.forget()
        before()
        last: tuple[int, float] | None = None
        for size in sizes:
            peak_kib = _peak_kib()
            row = timed(f"{size:,} {unit}", lambda _, n=size, a=ask: str(a(n)), 1)
            more_mib = (_peak_kib() - peak_kib) / 1024
            note = f"{slope(last, (size, row.cpu_s))}{more_mib:.0f} MiB more at the peak"
            yield row._replace(note=note)
            last = size, row.cpu_s


def slope(last: tuple[int, float] | None, now: tuple[int, float]) -> str:
    """A note with the slope between two pairs of a size and its seconds."""
    return "" if last is None else f"slope {log(now[1] / last[1], now[0] / last[0]):.2f}, "


def _layers(layers: int) -> str:
    return predict(Scenario("gpt2", batch=8, seq=128, sizes={"layers": layers})).regime


def _compiled(layers: int) -> str:
    scenario = Scenario("gpt2", batch=8, seq=128, sizes={"layers": layers}, mode="compiled")
    return predict(scenario).regime


def _points(points: int) -> str:
    seqs = range(16, 16 + 8 * min(points, 50), 8)
    batches = range(1, points // len(seqs) + 1)
    return f"{len(sweep(BERT, {'batch': batches, 'seq': seqs}).refused)} refused"


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
