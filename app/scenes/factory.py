"""A prediction as a factory: managers hand out orders, trucks bring goods, machines make things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.scenes.pixel_scale import Floats
from simulator.hardware.host import COUNTS, PYTHON
from simulator.prediction import Prediction, Regime
from simulator.schedule.launch_plan import issued
from simulator.timing.rates import roof_flops_per_s, units_of

Who = Literal["Machines", "Trucks", "Managers", "Both"]
MARKS: dict[str, Regime] = {
    "Machines": "compute",
    "Trucks": "memory",
    "Managers": "overhead",
}
_DESKS: dict[str, tuple[str, ...]] = {
    "Python": ("instruction", "cold_instruction", "attribute", "c_call", "python_call"),
    "modules": ("module_call",),
    "dispatcher": ("op", "library_op", "convolution_op", "norm_op", "attention_op", "cold_op",
                   "view", "cold_view", "cpu_op", "recurrent_call", "recurrent_kernel",
                   "recurrent_weight", "further_kernel", "trained_convolution", "foreach_tensor"),
    "autograd": ("forward_node", "backward_node", "backward_call", "optimizer_call", "gradient"),
}  # fmt: skip
"""The desks that an order passes, by the counts of the host's profile."""


@dataclass(frozen=True)
class Wait:
    """A wait of one part for another, in seconds of a step; `shape` is the regime whose mark is
    drawn."""

    who: Who
    what: str
    seconds: float
    shape: Regime


@dataclass(frozen=True)
class Factory:
    """A step in steady state. `desks` are the host's seconds by desk; `use` is a share of a rate's
    peak; `queue_most` and `queue_mean` are the waiting orders while a single step runs. Arrays by
    kernel: `start_s`, `end_s`, `issue_s`, and the shares of bandwidth (`trucking`) and of the
    engine's peak (`making`) while the kernel runs."""

    prediction: Prediction
    orders: int
    order_s: float
    desks: tuple[tuple[str, float], ...]
    traffic_bytes: float
    road_use: float
    flops_per_s: float
    machines_use: float
    units: int
    queue_most: int
    queue_mean: float
    waits: tuple[Wait, ...]
    span_s: float
    issue_s: Floats
    start_s: Floats
    end_s: Floats
    trucking: Floats
    making: Floats

    @property
    def machines_busy(self) -> float:
        """Share of the step in which a kernel computes."""
        return _busy(self.prediction.columns.compute_s, self.prediction)

    @property
    def trucks_busy(self) -> float:
        """Share of the step in which a kernel moves data."""
        return _busy(self.prediction.columns.memory_s, self.prediction)

    @property
    def managers_busy(self) -> float:
        """Share of the step in which the host works."""
        p = self.prediction
        return min(1.0, p.host_s / p.period_s) if p.period_s else 0.0

    def kernel_at(self, time_s: float) -> int | None:
        """The kernel that runs at a time of a single step."""
        place = int(np.searchsorted(self.start_s, time_s, "right")) - 1
        return place if place >= 0 and time_s < self.end_s[place] else None

    def waiting_at(self, time_s: float) -> int:
        """The number of orders issued but not started at a time."""
        handed = int(np.searchsorted(self.issue_s, time_s, "right"))
        return max(0, handed - int(np.searchsorted(self.start_s, time_s, "right")))


def factory(p: Prediction) -> Factory:
    """The factory of a prediction."""
    c, s, works = p.columns, p.schedule, p.works
    duration = np.maximum(c.duration_s, 1e-30)
    moved = np.array([float(w.bytes) for w in works])[c.work_of] if works else np.zeros(0)
    done = np.array([float(w.computed_flops) for w in works])[c.work_of] if works else np.zeros(0)
    peaks = np.array([roof_flops_per_s(p.gpu, w) for w in works])
    at_peak = done / peaks[c.work_of] if works else np.zeros(0)
    per_s = 1 / p.period_s if p.period_s else 0.0
    queue = np.searchsorted(s.issue_s, s.start_s, "right") - np.arange(1, s.start_s.size + 1)
    orders = int((np.diff(s.issue_s, prepend=0.0) > 0).sum())
    ends = [p.host_s, *s.end_s[-1:].tolist(), 1e-9]
    return Factory(
        p,
        orders,
        p.host_s / max(1, orders),
        _desks(p),
        float(moved.sum()),
        float(moved.sum()) * per_s / p.gpu.bandwidth_bytes_per_s,
        float(done.sum()) * per_s,
        float(at_peak.sum()) * per_s,
        units_of(p.gpu),
        int(queue.max(initial=0)),
        float(queue.mean()) if queue.size else 0.0,
        _waits(p),
        max(ends),
        s.issue_s,
        s.start_s,
        s.end_s,
        np.minimum(1.0, moved / duration / p.gpu.bandwidth_bytes_per_s),
        np.minimum(1.0, at_peak / duration),
    )


def _desks(p: Prediction) -> tuple[tuple[str, float], ...]:
    """The host's seconds by desk, if its profile separates them."""
    if p.mode != "eager":
        return (
            ("one launch of the graph" if p.mode == "cuda_graph" else "generated code", p.host_s),
        )
    totals = issued(p.trace, p.gpu).counts.sum(axis=0).tolist()
    counts: dict[str, float] = dict(zip(COUNTS, totals, strict=False))  # excluding launches
    for name, field in PYTHON.items():
        counts[name] += getattr(p.trace, f"tail_{field}")
    desks: list[tuple[str, float]] = [
        (name, sum((counts[n] * p.host.seconds[n] for n in parts), 0.0))
        for name, parts in _DESKS.items()
    ]
    desks.append(("launch", p.kernel_count * p.host.launch_s))
    return tuple((name, seconds) for name, seconds in desks if seconds > 0)


def _waits(p: Prediction) -> tuple[Wait, ...]:
    """The waits of a step in steady state."""
    c = p.columns
    gaps = max(0.0, p.period_s - p.gpu_busy_s - p.idle.host_s - p.idle.sync_s)
    waits = [
        Wait("Machines", "managers", p.idle.host_s, "overhead"),
        Wait("Machines", "trucks", float(np.maximum(0, c.memory_s - c.compute_s).sum()), "memory"),
        Wait("Trucks", "machines", float(np.maximum(0, c.compute_s - c.memory_s).sum()), "compute"),
        Wait("Both", "starts and ends", float(c.fixed_s.sum()) + gaps, "overhead"),
        Wait("Managers", "the floor", max(0.0, p.period_s - p.host_s), "overhead"),
    ]
    if p.idle.sync_s > 0:
        waits.insert(1, Wait("Machines", "a sync", p.idle.sync_s, "overhead"))
    return tuple(waits)


def _busy(seconds: Floats, p: Prediction) -> float:
    return float(seconds.sum()) / p.period_s if p.period_s else 0.0
