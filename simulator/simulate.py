"""The path of a prediction: lower, time, schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.hardware import GPU
from simulator.hosts import Host, counts, syncs
from simulator.lowering import Lowered, lower
from simulator.prediction import Columns, Idle, Prediction, Shares
from simulator.profiles import Profile
from simulator.records import Trace
from simulator.residency import accesses
from simulator.roofline import roofs
from simulator.timeline import Clock, Launches, Schedule, schedule

MODES = ("eager", "cuda_graph", "compiled")
_STEPS, _SETTLED = 8, 4  # steps simulated, and those of them taken as the steady state
_NUDGE = 1e-6


def simulate(trace: Trace, gpu: GPU, host: Host, profile: Profile, mode: str) -> Prediction:
    """How long a traced step takes on a GPU driven by a host."""
    if mode not in MODES:
        raise InputError(f"unknown mode {mode!r}: expected one of {', '.join(map(repr, MODES))}")
    if mode == "compiled":
        raise InputError(
            "mode 'compiled' cannot be predicted yet: expected 'eager' or 'cuda_graph'"
        )
    lowered = lower(trace, gpu)
    columns = _time(trace, lowered, gpu, profile)
    launched = _host_work(trace, lowered, host)
    clock = Clock(host.latency_s, profile.gap_s, host.sync_s, host.depth)
    if mode == "cuda_graph":
        _refuse_syncs(trace)
        launched = _replay(launched, profile)
        clock = Clock(host.latency_s, profile.graph_gap_s, host.sync_s, 1 << 30)

    def run(steps: int, slower: dict[str, float] | None = None) -> Schedule:
        slower = slower or {}
        return schedule(*_nudged(columns, launched, clock, slower), repeat=steps)

    def period(slower: dict[str, float] | None = None) -> float:
        return _steady(run(_STEPS, slower), columns.work_of.size)

    alone = run(1)
    period_s = period()
    shares = _shares(period_s, period)
    busy = float(columns.duration_s.sum())
    low, high = profile.interval_on(gpu.id)
    return Prediction(
        trace=trace,
        gpu=gpu,
        host=host,
        mode=mode,
        profile=profile.id,
        period_s=period_s,
        latency_s=(float(alone.end_s[-1]) if alone.end_s.size else alone.host_end_s) + host.sync_s,
        gpu_busy_s=busy,
        host_s=float(launched.host_s.sum()) + launched.tail_s,
        interval_s=(period_s * low, period_s * high),
        shares=shares,
        idle=_idle(run(_STEPS), launched),
        unmodelled=dict(Counter(trace.ops[i].name for i in lowered.unmodelled)),
        tiers={"interpolated" if gpu.id == profile.gpu else "transferred": 1.0},
        notes=_notes(trace, gpu),
        works=lowered.works,
        columns=columns,
        schedule=alone,
    )


def _time(trace: Trace, lowered: Lowered, gpu: GPU, profile: Profile) -> Columns:
    """Seconds of each kernel; what the kernels before it left in L2 is read at L2's speed."""
    table = roofs(lowered.works, gpu, profile)
    row = lowered.work_of
    launching = np.zeros(len(trace.ops), np.bool_)
    launching[lowered.op_of] = True
    hot = accesses(trace, launching).hot_share((gpu.l2_bytes or 0) * profile.l2_reach)
    share = hot[lowered.op_of]
    return Columns(row, lowered.op_of, *table.of(row).parts(share))


def _host_work(trace: Trace, lowered: Lowered, host: Host) -> Launches:
    """Spread the host's work over the launches: an op's own work comes before its first."""
    launches = np.bincount(lowered.op_of, minlength=len(trace.ops))
    by_op = host.op_s(counts(trace, launches))
    done = np.cumsum(by_op)[lowered.op_of]
    launch_s = host.launch_s * np.arange(1, lowered.op_of.size + 1)
    work = np.diff(done + launch_s, prepend=0.0)
    signatures, rows = trace.signatures
    waits = np.array([syncs(s) for s in signatures], np.bool_)[rows]
    last = np.flatnonzero(np.diff(lowered.op_of, append=-1))
    sync_after = np.zeros(lowered.op_of.size, np.bool_)
    sync_after[last] = waits[lowered.op_of[last]]
    rest = trace.tail_python_calls * host.seconds["python_call"]
    tail = float(by_op.sum() - done[-1]) if done.size else float(by_op.sum())
    return Launches(work, np.zeros(0), sync_after, tail + rest)


def _replay(launched: Launches, profile: Profile) -> Launches:
    """A CUDA graph: the host launches once, however many kernels there are."""
    work = np.zeros_like(launched.host_s)
    if work.size:
        work[0] = profile.graph_launch_s
    tail_s = 0.0 if work.size else profile.graph_launch_s
    return Launches(work, launched.duration_s, np.zeros(work.size, np.bool_), tail_s)


def _refuse_syncs(trace: Trace) -> None:
    waiting = {id(s) for s in trace.signatures[0] if syncs(s)}
    found = next((op for op in trace.ops if id(op.signature) in waiting), None)
    if found is not None:
        where = f" in {found.module}" if found.module else ""
        raise InputError(
            f"mode 'cuda_graph' cannot capture {found.name}{where}: it waits for the GPU; "
            "predict mode='eager'"
        )


def _nudged(
    columns: Columns, launched: Launches, clock: Clock, slower: dict[str, float]
) -> tuple[Launches, Clock]:
    """Everything that one rate rules, made slower by a factor."""
    compute = columns.compute_s * slower.get("compute", 1.0)
    held = columns.memory_s * slower.get("memory", 1.0)
    over = slower.get("overhead", 1.0)
    duration = np.maximum(compute, held) + columns.fixed_s * over
    return (
        Launches(launched.host_s * over, duration, launched.sync_after, launched.tail_s * over),
        Clock(clock.latency_s * over, clock.gap_s * over, clock.sync_s * over, clock.depth),
    )


def _steady(run: Schedule, kernels: int) -> float:
    """Seconds a step, over the last steps of a run."""
    if kernels == 0:
        return run.host_end_s / _STEPS
    ends = run.end_s[kernels - 1 :: kernels]
    return float(ends[-1] - ends[-1 - _SETTLED]) / _SETTLED


def _shares(period_s: float, period: Callable[[dict[str, float]], float]) -> Shares:
    """The elasticities of the period: it is piecewise linear in the times of each rate, so a
    small nudge reads off the derivative (design: time is homogeneous, so they sum to 1)."""
    if period_s == 0.0:  # no kernel, and a host whose profile counts what was done as free
        return {"compute": 0.0, "memory": 0.0, "overhead": 1.0}
    found = {
        rate: max(0.0, (period({rate: 1 + _NUDGE}) / period_s - 1) / _NUDGE)
        for rate in ("compute", "memory")
    }
    total = max(1.0, sum(found.values()))
    compute, held = found["compute"] / total, found["memory"] / total
    return {"compute": compute, "memory": held, "overhead": 1.0 - compute - held}


def _idle(run: Schedule, launched: Launches) -> Idle:
    """Idle time of a settled step by cause: a kernel right after a sync waited for the sync."""
    count = launched.host_s.size
    if count == 0:
        return Idle(0.0, 0.0)
    steps = run.idle_s.reshape(_STEPS, count)[-_SETTLED:].mean(axis=0)
    after_sync: NDArray[np.bool_] = np.roll(launched.sync_after, 1)
    return Idle(float(steps[~after_sync].sum()), float(steps[after_sync].sum()))


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
