"""Formulas of a timeline: kernels, the idle time before them, host ops."""

from __future__ import annotations

from app.answers.figures import causes
from app.formulas.formula import Formula
from app.quantities import data, percent, plain, scaled, seconds
from simulator.hardware.host import COUNTS
from simulator.prediction import Prediction
from simulator.schedule.launch_plan import issued

_MOST = 4


def idle(p: Prediction) -> Formula:
    """Time of a step in which no kernel runs."""
    waits = [f"{seconds(value)} {name}" for name, value in causes(p) if value > 1e-12]
    return Formula(
        "GPU idle",
        "time of a step − time in which a kernel runs",
        f"{seconds(p.period_s)} − {seconds(p.gpu_busy_s)} = {seconds(p.period_s - p.gpu_busy_s)}",
        f"Causes: {', '.join(waits)}." if waits else "",
        "06-cuda-graph",
    )


def kernel(p: Prediction, k: int) -> Formula:
    """The time of a launch on the GPU."""
    c, work = p.columns, p.works[int(p.columns.work_of[k])]
    computing, moving, fixed = (float(x[k]) for x in (c.compute_s, c.memory_s, c.fixed_s))
    amounts = f"{scaled(work.flops, 'FLOP')} in {seconds(computing)}, {data(work.bytes)} in "
    return Formula(
        "Time of a kernel",
        "the longer of compute and memory time + its start and end",
        f"max({seconds(computing)}, {seconds(moving)}) + {seconds(fixed)} = "
        f"{seconds(float(c.duration_s[k]))}",
        f"{amounts}{seconds(moving)}, at the rates that such kernels reach.",
        "03-intensity",
    )


def before(p: Prediction, k: int) -> Formula:
    """The GPU's idle time before a launch."""
    s = p.schedule
    start, idle_s = float(s.start_s[k]), float(s.idle_s[k])
    ready = float(s.issue_s[k]) + p.host.latency_s
    return Formula(
        "GPU idle before",
        "start of this kernel − time at which the GPU was free",
        f"{seconds(start, 4)} − {seconds(start - idle_s, 4)} = {seconds(idle_s)}",
        f"The host launched it at {seconds(float(s.issue_s[k]), 4)}; after a latency of "
        f"{seconds(p.host.latency_s)} it could start at {seconds(ready, 4)}.",
        "06-cuda-graph",
    )


def host_op(p: Prediction, op: int) -> Formula | None:
    """Host time of an op; None unless the host launches ops one by one."""
    if p.mode != "eager":
        return None
    plan = issued(p.trace, p.gpu)
    counts: list[float] = plan.counts[op].tolist()
    parts = [(name, n, p.host.seconds[name]) for name, n in zip(COUNTS, counts, strict=False) if n]
    parts.append(("launch", float(plan.launches[op]), p.host.launch_s))
    parts = sorted((part for part in parts if part[1]), key=lambda part: -part[1] * part[2])
    whole = sum(n * each for _, n, each in parts)
    terms = [f"{name.replace('_', ' ')} {plain(n)} × {seconds(each)}" for name, n, each in parts]
    rest = sum(n * each for _, n, each in parts[_MOST:])
    more = [f"{seconds(rest)} for the rest"] if rest else []
    return Formula(
        "Host time of an op",
        "count of each operation × its time on this host",
        f"{' + '.join(terms[:_MOST] + more) or '0'} = {seconds(whole)}",
        f"{percent(whole / p.host_s)} of the host time of a step." if p.host_s else "",
        "05-one-sentence-or-sixty",
    )
