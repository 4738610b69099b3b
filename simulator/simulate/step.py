"""The path of a prediction: lower, time, schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simulator.caches.derived import Derived
from simulator.costs import Work
from simulator.errors import InputError
from simulator.fusion import Fused, Replays, fused, trace_of
from simulator.fusion.graphs import graph_break_notes
from simulator.fusion.host.host_costs import launches as compiled_launches
from simulator.fusion.host.replay_costs import replaying
from simulator.fusion.host.replays import replayed
from simulator.fusion.rules import level_of
from simulator.hardware.gpu import GPU
from simulator.hardware.host import Host
from simulator.hardware.waits import syncs, uncapturable
from simulator.lowering import Lowered, share_kernels
from simulator.modes import check_mode, compiles, replays, run_of
from simulator.prediction import REGIMES, Columns, Idle, Prediction
from simulator.records import Trace
from simulator.schedule.launch_plan import LaunchPlan, issued
from simulator.schedule.steady_state import steady
from simulator.schedule.timeline import Clock, Floats, Launches, schedule
from simulator.timing.intervals import interval
from simulator.timing.kernel_models import duration_s
from simulator.timing.kernel_times import NO_SLOWDOWN
from simulator.timing.load import Load
from simulator.timing.power import SettledClock, supply
from simulator.timing.profile import Profile
from simulator.timing.rates import l2_kept_bytes
from simulator.timing.roofline import CurveRoofs, Roofs, roofs
from simulator.timing.software import tier, uncalibrated

NUDGE = 1e-6
_ROOFS = Derived[list[tuple[Lowered, GPU, Profile, Roofs]]]()
_CURVES = Derived[list[tuple[GPU, Profile, dict[str, CurveRoofs]]]]()
_TABLES = 4  # limit on the roofs cached with a trace


Retime = Callable[[list[Work], Columns], Columns]
"""A change to the times of the kernels of these works, before they are scheduled."""


def simulate(
    step: Trace | Fused,
    gpu: GPU,
    host: Host,
    profile: Profile,
    mode: str,
    retime: Retime | None = None,
    clock_limit: SettledClock | None = None,
) -> Prediction:
    """Predict a traced step on a GPU driven by a host, at the clock under the power limit, or at
    `clock_limit`."""
    check_mode(mode)
    step = as_run(step, gpu, mode, profile)
    trace, fusion = trace_of(step), step if isinstance(step, Fused) else None
    plan, host = issued(trace, gpu), host.in_phase(trace.phase)
    launched, clock = host_schedule(plan, host, profile, mode, fusion and fusion.replays)
    load = load_of(plan, gpu, profile).run(mode)
    card = supply(gpu)
    host_s = float(launched.host_s.sum() + launched.tail_s)
    if card is not None and clock_limit is None:
        clock_limit = card.settle(load, host_s, plan.lowered.op_of.size * np.asarray(clock.gap_s))
    times = load.parts(clock_limit.slowdown) if clock_limit else load.parts()
    columns = Columns(plan.lowered.work_of, plan.lowered.op_of, *times)
    if retime is not None:
        columns = retime(plan.lowered.works, columns)
    alone = schedule(replace(launched, duration_s=columns.duration_s), clock)
    settled = steady(replace(launched, duration_s=nudged(columns)), clock)
    period_s, after_sync_s = float(settled.period_s[0]), float(settled.after_sync_s[0])
    busy_s = float(columns.duration_s.sum())
    low_s, high_s = interval(profile, gpu, host, mode, period_s, busy_s, host_s)
    return Prediction(
        trace=trace,
        gpu=gpu,
        host=host,
        mode=mode,
        profile=profile.id,
        period_s=period_s,
        latency_s=(float(alone.end_s[-1]) if alone.end_s.size else alone.host_end_s) + host.sync_s,
        gpu_busy_s=busy_s,
        host_s=host_s,
        interval_s=(float(low_s), float(high_s)),
        shares=dict(zip(REGIMES, map(float, shares(settled.period_s)), strict=True)),
        idle=Idle(float(settled.idle_s[0]) - after_sync_s, after_sync_s),
        unmodelled=dict(Counter(trace.ops[i].name for i in plan.lowered.unmodelled)),
        tiers={tier(gpu, profile): 1.0},
        notes=(
            *_run_otherwise(trace, mode),
            *_notes(trace, gpu, profile),
            *(_compiled_notes(fusion) if fusion and compiles(mode) else ()),
        ),
        works=plan.lowered.works,
        columns=columns,
        schedule=alone,
        power=card
        and clock_limit
        and card.power(load, clock_limit, busy_s, period_s, (float(low_s), float(high_s))),
        fusion=fusion,
    )


def as_run(step: Trace | Fused, gpu: GPU, mode: str, profile: Profile) -> Trace | Fused:
    """The step that a mode runs: fused if the mode compiles it, with the copies before its CUDA
    graphs if the mode replays them."""
    if not compiles(mode):
        return step
    fusion = fused(step, gpu, level_of(mode), profile)
    return replayed(fusion) if replays(mode) else fusion


def kernel_times(plan: LaunchPlan, gpu: GPU, profile: Profile, host: Host) -> Columns:
    """Seconds of each kernel at the step's clock under the card's power limit, without
    collectives."""
    load, launched = load_of(plan, gpu, profile), plan.by(host)
    host_s = float(launched.host_s.sum() + launched.tail_s)
    card = supply(gpu)
    return timed(plan, load, card and card.settle(load, host_s, 0.0))


def timed(plan: LaunchPlan, load: Load, settled: SettledClock | None = None) -> Columns:
    """Seconds of each kernel at a clock, or at that of its measurement."""
    slowdown = settled.slowdown if settled else NO_SLOWDOWN
    return Columns(plan.lowered.work_of, plan.lowered.op_of, *load.parts(slowdown))


def load_of(plan: LaunchPlan, gpu: GPU, profile: Profile) -> Load:
    """The kernels, with the share of each kernel's bytes that is in L2."""
    row = plan.lowered.work_of
    hot = plan.hot_share(l2_kept_bytes(gpu, profile))
    return Load(_roofs(plan, gpu, profile).of(row), hot, np.ones(row.size))


def _roofs(plan: LaunchPlan, gpu: GPU, profile: Profile) -> Roofs:
    """The roofs of a plan's works, cached because often only the host, the mode or the gaps
    change."""
    cached = _ROOFS.get(plan.trace, list[tuple[Lowered, GPU, Profile, Roofs]])
    for lowered, card, known, table in cached:
        if lowered is plan.lowered and card is gpu and known.has_kernels_of(profile):
            return table
    table = roofs(plan.lowered.works, gpu, profile, _curves(plan.trace, gpu, profile))
    cached.append((plan.lowered, gpu, profile, table))
    del cached[:-_TABLES]
    return table


def _curves(trace: Trace, gpu: GPU, profile: Profile) -> dict[str, CurveRoofs]:
    """The columns of roofs by curve that this trace shares with others."""
    cached = _CURVES.get(trace, list[tuple[GPU, Profile, dict[str, CurveRoofs]]])
    for card, known, curves in cached:
        if card is gpu and known.has_kernels_of(profile):
            return curves
    cached.append((gpu, profile, {}))
    del cached[:-_TABLES]
    return cached[-1][-1]


def share_kernel_times(source: Trace, other: Trace) -> None:
    """Let `other`, a trace with most of the signatures of `source`, share their kernels and
    rooflines."""
    share_kernels(source, other)
    _CURVES.get(source, list[tuple[GPU, Profile, dict[str, CurveRoofs]]])
    _CURVES.share(source, other)


def host_schedule(
    plan: LaunchPlan, host: Host, profile: Profile, mode: str, cuda_graphs: Replays | None = None
) -> tuple[Launches, Clock]:
    """The host's launches and clock in a mode; a CUDA graph is a single launch of all its kernels.

    Raises InputError if the step cannot be captured in a graph.
    """
    if cuda_graphs is not None and replays(mode):
        return replaying(plan, cuda_graphs, host, profile)
    if mode != "cuda_graph":
        by = compiled_launches(plan, host) if compiles(mode) else plan.by(host)
        return by, Clock(host.latency_s, profile.gap_s, host.sync_s, host.depth)
    check_capturable(plan.trace)
    work = np.zeros(plan.lowered.op_of.size)
    if work.size:
        work[0] = profile.graph_launch_s
    tail_s = 0.0 if work.size else profile.graph_launch_s
    return (
        Launches(work, np.zeros(0), np.zeros(work.size, np.bool_), tail_s),
        Clock(host.latency_s, profile.graph_gap_s, host.sync_s, 1 << 30),
    )


def check_capturable(trace: Trace) -> None:
    """Raise InputError for a step that a CUDA graph cannot capture."""
    refused = {id(s) for s in trace.signatures[0] if uncapturable(s)}
    if not refused:
        return
    op = next(op for op in trace.ops if id(op.signature) in refused)
    where = f" in {op.module}" if op.module else ""
    reason = "it waits for the GPU" if syncs(op.signature) else "it copies unpinned memory"
    raise InputError(
        f"mode 'cuda_graph' cannot capture {op.name}{where}: {reason}; predict mode='eager'"
    )


def nudged(columns: Columns) -> Floats:
    """Seconds of each kernel [3, kernels]: as timed, with all computing slower by NUDGE, and with
    all memory traffic slower by NUDGE."""
    compute, memory, fixed = columns.compute_s, columns.memory_s, columns.fixed_s
    return np.stack(
        [
            duration_s(compute, memory, fixed),
            duration_s(compute * (1 + NUDGE), memory, fixed),
            duration_s(compute, memory * (1 + NUDGE), fixed),
        ]
    )


def shares(periods: Floats) -> Floats:
    """Elasticities of the period, a row for each of REGIMES, from the periods of `nudged` times
    [3, ...]. The period is piecewise linear in the times of each rate, so a small nudge gives the
    derivative; time is homogeneous, so the elasticities sum to 1."""
    period = periods[0]
    none = period == 0.0  # there are no kernels, on a host whose profile gives 0 s for this work
    elasticities = np.maximum(0.0, (periods[1:] / np.where(none, 1.0, period) - 1) / NUDGE)
    elasticities[:, none] = 0.0
    elasticities /= np.maximum(1.0, elasticities.sum(axis=0))
    return np.stack([*elasticities, 1.0 - elasticities[0] - elasticities[1]])


def _run_otherwise(trace: Trace, mode: str) -> tuple[str, ...]:
    """A note if the network checks how it runs and was traced in another mode. A trace of compiled
    code may be fused in any mode."""
    run = run_of(mode)
    if not trace.asked or trace.run in (run, "compiled"):
        return ()
    return (
        f"the network checks how it is run ({', '.join(trace.asked)}) and was traced as "
        f"{trace.run}: trace it again to predict it as {run}",
    )


def _compiled_notes(fusion: Fused) -> tuple[str, ...]:
    cut = fusion.replays.notes if fusion.replays else ()
    return (*fusion.notes, *graph_break_notes(fusion.origin), *cut)


def _notes(trace: Trace, gpu: GPU, profile: Profile) -> tuple[str, ...]:
    notes: list[str] = []
    other = uncalibrated(gpu)
    if other and gpu.id != profile.gpu:
        low, high = other.interval
        notes.append(
            f"{gpu.name} runs {other.runs}: {other.note}; predicted with the shares of peak that "
            f"an H200's kernels reach; the interval covers {low:g} to {high:g} times the period"
        )
    missing = [
        name
        for name in ("units", "boost_hz", "compute_capability", "l2_bytes")
        if getattr(gpu, name) is None
    ]
    if missing and gpu.vendor in (None, "NVIDIA"):
        notes.append(
            f"the data sheet of {gpu.name} lacks {', '.join(missing)}: taken from a typical card, "
            "an uncertainty that the interval does not cover"
        )
    dtypes = {t.dtype for s in trace.signatures[0] for t in s.inputs}
    if "bfloat16" in dtypes and not gpu.peak("tensor", "bf16"):
        notes.append(f"{gpu.name} has no bfloat16 tensor cores: PyTorch computes it in fp32")
    for assumption in trace.assumptions[:1]:
        more = f" (and {len(trace.assumptions) - 1} more)" if len(trace.assumptions) > 1 else ""
        notes.append(f"{assumption.name} depends on data: taken as {assumption.taken}{more}")
    return tuple(notes)
