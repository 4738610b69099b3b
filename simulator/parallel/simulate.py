"""From the traces of distinct ranks to the prediction of a step: lower, time, simulate together."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from simulator.cluster.cluster import Cluster
from simulator.hardware.host import Host
from simulator.parallel.events import run
from simulator.parallel.exchange import exchange
from simulator.parallel.plan import RankPlan, kernel_seconds, launched, nudged, plan
from simulator.parallel.prediction import (
    PARALLEL_REGIMES,
    ParallelPrediction,
    ParallelRegime,
    RankKernel,
    RankPrediction,
)
from simulator.parallel.rank_power import RankLoad, rank_load
from simulator.parallel.rank_state import Machine, RankTimes
from simulator.parallel.roles import Roles
from simulator.prediction import Columns
from simulator.records import Collective
from simulator.schedule.launch_plan import LaunchPlan, issued
from simulator.schedule.timeline import Floats
from simulator.simulate.step import load_of, simulate, timed
from simulator.timing.intervals import interval
from simulator.timing.profile import Profile, learned

STEPS = 3
"""Number of steps to simulate: the period of the last one counts, because by then the host is as
far ahead as possible."""
_NUDGE = 1e-4  # slowdown of all transfers; times of the schedule are linear in it
_BESIDE = 1.3
"""Slowdown of a transfer during another kernel: 1.18 with small products, 1.4 with elementwise
kernels and copies (two H200s, `calibration/measurements/h200_sxm_x2`)."""


def simulate_ranks(roles: Roles, cluster: Cluster, host: Host, mode: str) -> ParallelPrediction:
    """Predict a step of these ranks on a cluster."""
    profile = learned(cluster.gpu.id)
    if cluster.gpus == 1:
        return _one_gpu(roles, cluster, host, profile, mode)
    runs = {rank: issued(trace, cluster.gpu) for rank, trace in roles.traces.items()}
    columns: dict[int, Columns] = {}
    loads: dict[int, RankLoad] = {}
    plans: list[RankPlan] = []
    for rank, each in runs.items():
        load = load_of(each, cluster.gpu, profile)
        columns[rank] = timed(each, load)
        own = plan(rank, each, columns[rank], host, cluster, roles.of, mode)
        if mode == "cuda_graph":
            own = _captured(own, profile)
        moved = exchange(_collectives(each), own, cluster)
        host_s = sum(own.host_s) + own.tail_s
        loads[rank] = rank_load(load, each, cluster.gpu, host_s, moved)
        settled = loads[rank].settled
        if settled is not None and settled.is_slower:
            columns[rank] = timed(each, load, settled)
            seconds = kernel_seconds(each, columns[rank].duration_s)
            own = replace(own, seconds=seconds)
        plans.append(own)
    machine = Machine(
        latency_s=host.latency_s,
        gap_s=profile.gap_s if mode == "eager" else profile.graph_gap_s,
        sync_s=host.sync_s,
        depth=host.depth if mode == "eager" else 1 << 30,
        units=cluster.gpu.units or 108,
        beside=_BESIDE,
    )
    rank_times = run(plans, machine, STEPS)
    period_s = _period(rank_times)
    ranks = tuple(
        _rank(roles, rank, cluster, runs[rank], each, own)
        for (rank, each), own in zip(zip(runs, plans, strict=True), rank_times, strict=True)
    )
    interval_s = _interval(period_s, ranks, plans, profile, cluster, host, mode)
    drawn = list(zip(ranks, loads.values(), strict=True))
    return ParallelPrediction(
        cluster=cluster,
        host=host,
        mode=mode,
        period_s=period_s,
        interval_s=interval_s,
        elasticities=lambda: _shares(period_s, plans, runs, columns, machine),
        drawn=lambda: [load.power(rank, period_s, interval_s) for rank, load in drawn],
        ranks=ranks,
        notes=(),
    )


def _collectives(run_: LaunchPlan) -> list[Collective]:
    return [op.collective for op in run_.trace.ops if op.collective is not None]


def _captured(each: RankPlan, profile: Profile) -> RankPlan:
    """The plan of a CUDA graph: one launch for all kernels."""
    host_s = [0.0] * len(each.host_s)
    if host_s:
        host_s[0] = profile.graph_launch_s
    return replace(each, host_s=host_s, sync_after=[False] * len(host_s), tail_s=0.0, shape=None)


def _period(rank_times: list[RankTimes]) -> float:
    return max(each.done_s[-1] for each in rank_times) - max(each.done_s[-2] for each in rank_times)


def _shares(
    period_s: float,
    plans: list[RankPlan],
    runs: dict[int, LaunchPlan],
    columns: dict[int, Columns],
    machine: Machine,
) -> dict[ParallelRegime, float]:
    """Elasticities of the period, from small slowdowns of compute, memory and links, one at a
    time."""
    elasticities: list[float] = []
    for row, step in ((1, 1.0), (2, 1.0), (0, 1 + _NUDGE)):
        seconds = [kernel_seconds(run_, _slowed(columns[rank], row)) for rank, run_ in runs.items()]
        slower = _period(run(nudged(plans, seconds, step), machine, STEPS))
        elasticities.append(max(0.0, (slower / period_s - 1) / _NUDGE) if period_s else 0.0)
    total = max(1.0, sum(elasticities))
    compute, memory, link = (each / total for each in elasticities)
    values = (compute, memory, 1.0 - compute - memory - link, link)
    return dict(zip(PARALLEL_REGIMES, values, strict=True))


def _slowed(columns: Columns, row: int) -> np.ndarray:
    compute, memory = columns.compute_s, columns.memory_s
    if row == 1:
        compute = compute * (1 + _NUDGE)
    if row == 2:
        memory = memory * (1 + _NUDGE)
    return np.maximum(compute, memory) + columns.fixed_s


def _rank(
    roles: Roles, rank: int, cluster: Cluster, run_: LaunchPlan, each: RankPlan, times: RankTimes
) -> RankPrediction:
    """The prediction of one rank, from the last step that was simulated."""
    start_s, end_s, moved_s = map(np.array, (times.start_s, times.end_s, times.moved_s))
    is_transfer = np.array([bool(parts) for parts in each.parts], np.bool_)
    wait_s = np.where(is_transfer, np.maximum(0.0, moved_s - start_s), 0.0)
    first_s = min(times.start_s, default=0.0)
    others = start_s[~is_transfer], end_s[~is_transfer]
    moving = moved_s[is_transfer], end_s[is_transfer]
    begin_s = start_s - first_s
    waits = ((begin_s + first_s)[wait_s > 0], (begin_s + wait_s + first_s)[wait_s > 0])
    covered_s, busy_s = _union(moving, others), _union(others)
    return RankPrediction(
        roles.ranks(rank),
        run_.trace,
        cluster,
        lambda: _kernels(run_, times, first_s, wait_s.tolist()),
        sum(each.host_s) + each.tail_s,
        covered_s,
        _sum(moving[1] - moving[0]),
        max(0.0, covered_s - busy_s),
        _sum(wait_s),
        max(0.0, _union(waits, moving, others) - covered_s),
        dict(Counter(run_.trace.ops[i].name for i in run_.lowered.unmodelled)),
    )


def _kernels(
    run_: LaunchPlan, times: RankTimes, first_s: float, wait_s: list[float]
) -> list[RankKernel]:
    """The kernels of a rank whose first one starts at `first_s`."""
    op_of: list[int] = run_.lowered.op_of.tolist()
    ops = run_.trace.ops
    kernels: list[RankKernel] = []
    for k, place in enumerate(launched(run_)):
        op = ops[op_of[place]]
        kernels.append(
            RankKernel(
                index=k,
                op=op_of[place],
                name=op.name.removeprefix("aten."),
                module=op.module,
                phase=op.phase,
                stream=op.stream,
                issue_s=times.issue_s[k] - first_s,
                start_s=times.start_s[k] - first_s,
                end_s=times.end_s[k] - first_s,
                wait_s=wait_s[k],
                collective=op.collective,
            )
        )
    return kernels


def _union(*spans: tuple[Floats, Floats]) -> float:
    """Seconds covered by at least one of the spans, given their starts and ends."""
    starts = np.concatenate([start for start, _ in spans])
    ends = np.concatenate([end for _, end in spans])
    order = np.lexsort((ends, starts))
    starts, ends = starts[order], ends[order]
    until = np.maximum.accumulate(np.concatenate([[-np.inf], ends]))[:-1]
    return _sum(np.maximum(0.0, ends - np.maximum(starts, until)))


def _sum(seconds: Floats) -> float:
    """The sum of the seconds, added in their order."""
    return float(np.cumsum(seconds)[-1]) if seconds.size else 0.0


def _interval(
    period_s: float,
    ranks: tuple[RankPrediction, ...],
    plans: list[RankPlan],
    profile: Profile,
    cluster: Cluster,
    host: Host,
    mode: str,
) -> tuple[float, float]:
    """The 80% interval: that of one GPU's step, combined with that of exposed communication."""
    slowest = max(ranks, key=lambda each: each.gpu_busy_s)
    low_s, high_s = interval(
        profile, cluster.gpu, host, mode, period_s, slowest.gpu_busy_s, slowest.host_s
    )
    below = above = alone = 0.0
    for each in plans:
        for time in each.times.values():
            below += time.seconds - time.interval_s[0]
            above += time.interval_s[1] - time.seconds
            alone += time.seconds
    exposed = max(each.exposed_communication_s for each in ranks)
    share = exposed / alone if alone else 0.0
    down = np.hypot(period_s - float(low_s), below * share)
    up = np.hypot(float(high_s) - period_s, above * share)
    return max(0.0, period_s - float(down)), period_s + float(up)


def _one_gpu(
    roles: Roles, cluster: Cluster, host: Host, profile: Profile, mode: str
) -> ParallelPrediction:
    """Predict one GPU, as `predict` does for the same ops."""
    p = simulate(roles.traces[0], cluster.gpu, host, profile, mode)
    kernels = [
        RankKernel(
            k.index,
            k.op,
            k.name,
            k.module,
            k.phase,
            p.trace.ops[k.op].stream,
            k.issue_s,
            k.start_s,
            k.start_s + k.duration_s,
            0.0,
            None,
        )
        for k in p.kernels
    ]
    rank = RankPrediction(
        (0,),
        p.trace,
        cluster,
        lambda: kernels,
        p.host_s,
        p.gpu_busy_s,
        0.0,
        0.0,
        0.0,
        0.0,
        p.unmodelled,
    )
    shares: dict[ParallelRegime, float] = {**p.shares, "communication": 0.0}
    return ParallelPrediction(
        cluster,
        host,
        mode,
        p.period_s,
        p.interval_s,
        lambda: shares,
        lambda: [p.power],
        (rank,),
        p.notes,
    )
