"""The path of a prediction: lower, time, schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from operator import is_

import numpy as np

from simulator.costs import Work
from simulator.errors import InputError
from simulator.fusion import Fused, fused
from simulator.fusion.graphs import told
from simulator.fusion.host.host_costs import launches as compiled_launches
from simulator.fusion.host.replay_costs import replaying
from simulator.fusion.host.replays import Replays, replayed
from simulator.fusion.rules import level_of
from simulator.hardware.gpu import GPU
from simulator.hardware.host import Host, syncs
from simulator.lowering import Lowered
from simulator.modes import check_mode, compiles, replays
from simulator.prediction import REGIMES, Columns, Idle, Prediction
from simulator.records import Trace
from simulator.schedule.launch_plan import Issued, issued
from simulator.schedule.steady_state import steady
from simulator.schedule.timeline import Clock, Floats, Launches, schedule
from simulator.timing.intervals import interval
from simulator.timing.profile import Profile
from simulator.timing.rates import l2_kept_bytes
from simulator.timing.roofline import Roofs, roofs

NUDGE = 1e-6
_ROOFS = 4  # tables that are kept with a trace


Retime = Callable[[list[Work], Columns], Columns]
"""A change to the times of the kernels of these works, before they are scheduled."""


def simulate(
    trace: Trace, gpu: GPU, host: Host, profile: Profile, mode: str, retime: Retime | None = None
) -> Prediction:
    """How long a traced step takes on a GPU driven by a host."""
    check_mode(mode)
    trace = as_run(trace, gpu, mode, profile)
    found = issued(trace, gpu)
    columns = kernel_times(found, gpu, profile)
    if retime is not None:
        columns = retime(found.lowered.works, columns)
    launched, clock = driven(found, host, profile, mode)
    alone = schedule(replace(launched, duration_s=columns.duration_s), clock)
    settled = steady(replace(launched, duration_s=nudged(columns)), clock)
    period_s, after_sync_s = float(settled.period_s[0]), float(settled.after_sync_s[0])
    busy_s = float(columns.duration_s.sum())
    host_s = float(launched.host_s.sum() + launched.tail_s)
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
        unmodelled=dict(Counter(trace.ops[i].name for i in found.lowered.unmodelled)),
        tiers={"interpolated" if gpu.id == profile.gpu else "transferred": 1.0},
        notes=(*_notes(trace, gpu), *_compiled_notes(trace, mode)),
        works=found.lowered.works,
        columns=columns,
        schedule=alone,
    )


def as_run(trace: Trace, gpu: GPU, mode: str, profile: Profile) -> Trace:
    """The trace that a mode runs: a compiled step's ops are its kernels, and the copies before its
    CUDA graphs where it has some."""
    if not compiles(mode):
        return trace
    made = fused(trace, gpu, level_of(mode), profile).trace
    return replayed(made) if replays(mode) else made


def kernel_times(found: Issued, gpu: GPU, profile: Profile) -> Columns:
    """Seconds of each kernel; what the kernels before it left in L2 is read at L2's speed."""
    row = found.lowered.work_of
    table = _roofs(found, gpu, profile).of(row)
    hot = found.hot_share(l2_kept_bytes(gpu, profile))
    return Columns(row, found.lowered.op_of, *table.parts(hot, table.dirty()))


def _roofs(found: Issued, gpu: GPU, profile: Profile) -> Roofs:
    """The roofs of what is issued; the next question is often about another host or mode."""
    known: list[tuple[Lowered, GPU, Profile, Roofs]] = found.trace.kept.setdefault("roofs", [])
    asked = found.lowered, gpu, profile
    for *held, table in known:
        if all(map(is_, held, asked)):
            return table
    table = roofs(found.lowered.works, gpu, profile)
    known.append((*asked, table))
    del known[:-_ROOFS]
    return table


def driven(found: Issued, host: Host, profile: Profile, mode: str) -> tuple[Launches, Clock]:
    """How a host drives a GPU in a mode. A CUDA graph: it launches once, however many kernels
    there are. InputError where a graph cannot be captured."""
    if replays(mode):
        return replaying(found, host, profile)
    if mode != "cuda_graph":
        by = compiled_launches(found, host) if compiles(mode) else found.by(host)
        return by, Clock(host.latency_s, profile.gap_s, host.sync_s, host.depth)
    _refuse_syncs(found.trace)
    work = np.zeros(found.lowered.op_of.size)
    if work.size:
        work[0] = profile.graph_launch_s
    tail_s = 0.0 if work.size else profile.graph_launch_s
    return (
        Launches(work, np.zeros(0), np.zeros(work.size, np.bool_), tail_s),
        Clock(host.latency_s, profile.graph_gap_s, host.sync_s, 1 << 30),
    )


def _refuse_syncs(trace: Trace) -> None:
    waiting = {id(s) for s in trace.signatures[0] if syncs(s)}
    if not waiting:
        return
    op = next(op for op in trace.ops if id(op.signature) in waiting)
    where = f" in {op.module}" if op.module else ""
    raise InputError(
        f"mode 'cuda_graph' cannot capture {op.name}{where}: it waits for the GPU; "
        "predict mode='eager'"
    )


def nudged(columns: Columns) -> Floats:
    """Seconds of each kernel [3, kernels]: as they are, with all compute slower by a little, and
    with all memory."""
    compute, held = columns.compute_s, columns.memory_s
    return columns.fixed_s + np.stack(
        [
            np.maximum(compute, held),
            np.maximum(compute * (1 + NUDGE), held),
            np.maximum(compute, held * (1 + NUDGE)),
        ]
    )


def shares(periods: Floats) -> Floats:
    """The elasticities of the period from three of them [3, …], as it is and nudged; one row each
    of REGIMES. It is piecewise linear in the times of each rate, so a small nudge reads off the
    derivative (design: time is homogeneous, so they sum to 1)."""
    period = periods[0]
    none = period == 0.0  # no kernel, and a host whose profile counts what was done as free
    found = np.maximum(0.0, (periods[1:] / np.where(none, 1.0, period) - 1) / NUDGE)
    found[:, none] = 0.0
    found /= np.maximum(1.0, found.sum(axis=0))
    return np.stack([*found, 1.0 - found[0] - found[1]])


def _compiled_notes(trace: Trace, mode: str) -> tuple[str, ...]:
    if not compiles(mode):
        return ()
    fusion: Fused = trace.kept["fusion"]
    kept: Replays | None = trace.kept.get("replays")
    cut = kept.notes if kept else ()
    return (*fusion.notes, *told(fusion.origin), *cut)


def _notes(trace: Trace, gpu: GPU) -> tuple[str, ...]:
    notes: list[str] = []
    if gpu.vendor not in (None, "NVIDIA", "AMD"):
        notes.append(
            f"eager PyTorch does not drive {gpu.name}: predicted as if it launched a GPU's kernels"
        )
    missing = [name for name in ("units", "boost_hz", "compute_capability", "l2_bytes")
               if getattr(gpu, name) is None]  # fmt: skip
    if missing and gpu.vendor in (None, "NVIDIA"):
        notes.append(
            f"the data sheet of {gpu.name} lacks {', '.join(missing)}: taken as of a typical card, "
            "beyond what the interval allows for"
        )
    dtypes = {t.dtype for s in trace.signatures[0] for t in s.inputs}
    if "bfloat16" in dtypes and not gpu.peak("tensor", "bf16"):
        notes.append(f"{gpu.name} has no bfloat16 tensor cores: PyTorch computes it in fp32")
    for assumption in trace.assumptions[:1]:
        more = f" (and {len(trace.assumptions) - 1} more)" if len(trace.assumptions) > 1 else ""
        notes.append(f"{assumption.name} depends on data: taken as {assumption.taken}{more}")
    return tuple(notes)
