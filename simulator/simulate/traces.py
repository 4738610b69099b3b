"""Predictions of many steps at once, as columns of whole arrays.

Each distinct trace is lowered once for each kind of GPU; the roofs of all works on a GPU are
computed in one call; and steps with the same number of kernels are scheduled together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from simulator.caches.cancelling import check_cancelled
from simulator.costs import Work
from simulator.errors import InputError
from simulator.fusion import Fused, Replays, trace_of
from simulator.hardware.gpu import GPU
from simulator.hardware.host import Host
from simulator.modes import check_mode
from simulator.prediction import Columns, workspace_bytes
from simulator.records import Trace
from simulator.schedule.launch_plan import LaunchPlan, issued
from simulator.schedule.memory import memory
from simulator.schedule.steady_state import steady
from simulator.schedule.timeline import Clock, Floats, Ints, Launches, Run
from simulator.simulate.step import as_run, host_schedule, nudged, shares
from simulator.simulate.step_columns import StepColumns, as_table, empty_table
from simulator.timing.intervals import interval
from simulator.timing.kernel_times import NO_SLOWDOWN, Slowdown
from simulator.timing.load import Load
from simulator.timing.power import SettledClock, supply
from simulator.timing.profile import Profile
from simulator.timing.rates import l2_kept_bytes
from simulator.timing.roofline import roofs

_AT_ONCE = 1 << 18  # numbers of kernels that are scheduled together: they fit in a cache


class Step(NamedTuple):
    """One step to predict, already fused or not. `profile` belongs to `gpu`."""

    run: Trace | Fused
    gpu: GPU
    host: Host
    profile: Profile
    mode: str

    @property
    def trace(self) -> Trace:
        """The ops that are launched."""
        return trace_of(self.run)

    @property
    def replays(self) -> Replays | None:
        """The replay of the step by CUDA graphs; None without graphs."""
        return self.run.replays if isinstance(self.run, Fused) else None


@dataclass
class _Ready:
    """A step that is ready to be scheduled, and the row of its figures."""

    row: int
    step: Step
    times: Floats
    busy_s: float
    launched: Launches
    clock: Clock
    on_gpu: LaunchPlan
    load: Load
    clock_limit: SettledClock | None


def simulated(
    steps: Sequence[Step], counted: Callable[[int], None] = lambda done: None
) -> tuple[Floats, dict[int, str]]:
    """A table of COLUMNS with a row for each step, NaN (regime −1) if it is refused, and the reason
    for each refused row. `counted` is called with the number of finished rows, and with 0 while
    steps are fused."""
    runs: list[Step] = []
    for step in steps:
        counted(0)
        runs.append(step._replace(run=as_run(step.run, step.gpu, step.mode, step.profile)))
    steps = runs
    table = empty_table(len(steps))
    refused: dict[int, str] = {}
    by_gpu: dict[tuple[int, int], list[int]] = {}
    for row, step in enumerate(steps):
        by_gpu.setdefault((id(step.gpu), id(step.profile)), []).append(row)
    done = 0
    for rows in by_gpu.values():
        waiting: dict[tuple[Any, ...], list[_Ready]] = {}
        for ready in _ready([(row, steps[row]) for row in rows], refused):
            key = ready.times.shape[-1], ready.clock.depth, ready.launched.sync_after.tobytes()
            alike = waiting.setdefault(key, [])
            alike.append(ready)
            if len(alike) * ready.times.size >= _AT_ONCE:
                _schedule(waiting.pop(key), table)
        for alike in waiting.values():
            _schedule(alike, table)
        done += len(rows)
        counted(done)
    return table, refused


def _ready(steps: list[tuple[int, Step]], refused: dict[int, str]) -> Any:
    """The steps of one GPU with the times of their kernels."""
    gpu, profile = steps[0][1].gpu, steps[0][1].profile
    plans = {id(step.trace): issued(step.trace, gpu) for _, step in steps}
    places: dict[int, int] = {}
    works: list[Work] = []
    rows_of: dict[int, Ints] = {}
    for key, plan in plans.items():
        for work in plan.lowered.works:
            if id(work) not in places:
                places[id(work)] = len(works)
                works.append(work)
        rows_of[key] = np.array([places[id(w)] for w in plan.lowered.works], np.int64)
    table = roofs(works, gpu, profile)
    check_cancelled()
    card = supply(gpu)
    loads: dict[int, Load] = {}
    unlimited: dict[int, tuple[Floats, float]] = {}
    driving: dict[tuple[Any, ...], tuple[Launches, Clock] | str] = {}
    for row, step in steps:
        check_cancelled()
        key = id(step.trace)
        plan = plans[key]
        if key not in loads:
            hot = plan.hot_share(l2_kept_bytes(gpu, profile))
            row_of = rows_of[key][plan.lowered.work_of]
            loads[key] = Load(table.of(row_of), hot, np.ones(row_of.size))
            unlimited[key] = _timed(loads[key], NO_SLOWDOWN)
        how = key, id(step.host), step.mode
        if how not in driving:
            try:
                check_mode(step.mode)
                driving[how] = host_schedule(plan, step.host, profile, step.mode, step.replays)
            except InputError as error:
                driving[how] = str(error)
        drive = driving[how]
        if isinstance(drive, str):
            refused[row] = drive
            continue
        launched, clock = drive
        host_s = float(launched.host_s.sum() + launched.tail_s)
        gaps_s = plan.lowered.op_of.size * np.asarray(clock.gap_s)
        load = loads[key].run(step.mode)
        clock_limit = card and card.settle(load, host_s, gaps_s)
        timed = unlimited[key]
        if load.captured or (clock_limit and clock_limit.is_slower):
            timed = _timed(load, clock_limit.slowdown if clock_limit else NO_SLOWDOWN)
        yield _Ready(row, step, *timed, *drive, plan, load, clock_limit)


def _timed(load: Load, slowdown: Slowdown) -> tuple[Floats, float]:
    none = np.zeros(0, np.int64)
    columns = Columns(none, none, *load.parts(slowdown))
    return nudged(columns), float(columns.duration_s.sum())


def _schedule(alike: list[_Ready], table: Floats) -> None:
    """Write the figures of steps with equal numbers of kernels, syncs after the same kernels, and
    equal queues."""
    host = np.stack([r.launched.host_s for r in alike])
    times = np.stack([r.times for r in alike])
    clocks = [r.clock for r in alike]
    latency, gap, sync = (
        np.array([getattr(c, name) for c in clocks], float)
        for name in ("latency_s", "gap_s", "sync_s")
    )
    tail = np.array([r.launched.tail_s for r in alike], float)
    syncs, depth = alike[0].launched.sync_after, clocks[0].depth
    settled = steady(
        Launches(host[:, None], times, syncs, tail[:, None]),
        Clock(latency[:, None], gap[:, None], sync[:, None], depth),
    )
    period = settled.period_s[:, 0]
    alone = tail
    if times.shape[-1]:
        run = Run(Launches(host, times[:, 0], syncs, tail), Clock(latency, gap, sync, depth), 1)
        run.step()
        alone = run.gpu_s[:, 0]
    part = shares(settled.period_s.T)
    busy, on_host = np.array([r.busy_s for r in alike]), host.sum(axis=-1) + tail
    ends = [
        interval(r.step.profile, r.step.gpu, r.step.host, r.step.mode, *seconds)
        for r, *seconds in zip(alike, period, busy, on_host, strict=True)
    ]
    samples = np.array([r.step.trace.samples for r in alike], float)
    peak = np.array([_peak_bytes(r.step) for r in alike], float)
    need = peak + [workspace_bytes(r.on_gpu.lowered.works, r.step.gpu) for r in alike]
    room = np.array([r.step.gpu.memory_bytes for r in alike])
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(period > 0, samples / period, np.nan)
    low_s, high_s = np.array(ends).T
    joules, clock_hz = _drawn(alike, period)
    table[[r.row for r in alike]] = as_table(
        StepColumns(
            period_s=period,
            latency_s=alone + sync,
            gpu_busy_s=busy,
            host_s=on_host,
            low_s=low_s,
            high_s=high_s,
            compute=part[0],
            memory=part[1],
            overhead=part[2],
            samples_per_s=rate,
            peak_memory_bytes=peak,
            memory_bytes=need,
            fits=need <= room,
            joules=joules,
            clock_hz=clock_hz,
            regime=part.argmax(axis=0),
        )
    )


def _drawn(alike: Sequence[_Ready], periods: Floats) -> Floats:
    """Joules and clocks of steps [2, steps]; NaN if the card's energies are unknown."""
    figures = np.full((2, len(alike)), np.nan)
    card = supply(alike[0].step.gpu)
    for place, (ready, period) in enumerate(zip(alike, periods, strict=True)):
        if card is not None and ready.clock_limit is not None:
            busy_s = np.asarray(ready.busy_s)
            figures[:, place] = card.columns(ready.load, ready.clock_limit, busy_s, period)
    return figures


def _peak_bytes(step: Step) -> int:
    pooled = step.replays.pooled if step.replays else frozenset[int]()
    return memory(step.trace, pooled).peak_bytes
