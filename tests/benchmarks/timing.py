"""The stopwatch of the benchmarks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

from simulator.scenario import trace_source


class Row(NamedTuple):
    """One figure: seconds are medians of `runs`, `required_s` is their upper bound (NaN without
    one), `traces` counts the traces of the runs, `load` is the machine's load.
    """

    figure: str
    required_s: float
    wall_s: float
    cpu_s: float
    runs: int
    traces: int
    load: float
    note: str = ""

    HEADING = f"{'figure':<58} {'required':>9} {'wall':>11} {'CPU':>11}  runs traces  load"

    def __str__(self) -> str:
        has_limit = self.required_s == self.required_s
        required = f"{self.required_s * 1e3:,.0f} ms" if has_limit else ""
        return (
            f"{self.figure:<58} {required:>9} {self.wall_s * 1e3:>8,.1f} ms "
            f"{self.cpu_s * 1e3:>8,.1f} ms  {self.runs:>4} "
            f"{self.traces:>6}  {self.load:>4.1f}  {self.note}"
        )


_traced = [0]


def _count_traces() -> None:
    run: Any = trace_source._run
    if getattr(run, "counted", False):
        return

    def counted(*asked: Any) -> Any:
        _traced[0] += 1
        return run(*asked)

    counted.counted = True  # pyright: ignore[reportFunctionMemberAccess]
    trace_source._run = counted


def timed(
    figure: str, run: Callable[[int], object], runs: int = 9, required_s: float = float("nan")
) -> Row:
    """The median of several runs of a function, which takes the run's number; a text that it
    returns is shown.
    """
    _count_traces()
    _traced[0] = 0
    walls: list[float] = []
    cpus: list[float] = []
    result: object = ""
    for number in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        result = run(number)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    note = result if isinstance(result, str) else ""
    return Row(
        figure, required_s, median(walls), median(cpus), runs, _traced[0], os.getloadavg()[0], note
    )
