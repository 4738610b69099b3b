"""Fit the host's time for compiled steps: `python -m calibration.fit.compiled_host`.

It prints each step's ratio of predicted to measured time, with the step in the fit and with its
family left out, and writes `simulator/fusion/host/profiles`. Costs are in seconds of the default
host. The speed of the host that ran a step, and whether PyTorch's profiler lengthened its launches,
come with the step (`calibration.fit.compiled_steps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from calibration.fit.compiled_steps import Compiled, compiled_steps, in_rounds
from calibration.fit.replays import fitted
from calibration.fit.solvers import nnls
from calibration.measure.graph_breaks import slopes
from simulator.fusion import fused
from simulator.fusion.host.compiled_host import (
    FOLDER,
    CompiledHost,
    Error,
    HostCosts,
    compiled_host,
)
from simulator.fusion.host.host_costs import launches
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.records import Trace
from simulator.schedule.launch_plan import issued
from simulator.timing.profile import profile

_APART = ("resumed_s", "node_s", "reference_op_s")
COSTS = tuple(field.name for field in fields(HostCosts) if field.name not in _APART)
SOURCE = (
    "non-negative least squares on relative errors over small host-bound compiled steps and "
    "networks, on the hosts of an H200 and an H100; launches without a profiler's hooks; torch "
    "2.11, triton 3.6"
)
BLIND = "h200_sxm_second"
WARM_WEIGHT = 0.25
"""Weight of a loop over one op, relative to a network. In a network each call takes 15 to 20%
longer, because other code ran since the last one."""
Floats = NDArray[np.float64]


def counted(trace: Trace, host: Host) -> tuple[list[float], float]:
    """The count of each of `COSTS` in a step, in units of the default host; and the seconds of
    everything else: launches, the optimizer, Python."""
    compiled = fused(trace, find_gpu("h200"), "compiled", profile()).trace
    issue = issued(compiled, find_gpu("h200"))

    def host_s(costs: HostCosts) -> float:
        each = launches(issue, host, costs)
        return float(each.host_s.sum() + each.tail_s)

    free = HostCosts(**dict.fromkeys((field.name for field in fields(HostCosts)), 0.0))
    free = replace(free, reference_op_s=find_host().seconds["op"])
    rest = host_s(free)
    return [host_s(replace(free, **{name: 1.0})) - rest for name in COSTS], rest


def fit(counts: Floats, rest_s: Floats, seconds: Floats, weights: Floats) -> Floats:
    """Non-negative least squares on weighted relative errors: seconds for each of `COSTS`."""
    by = weights / seconds
    costs = nnls(counts * by[:, None], (seconds - rest_s) * by)
    return np.array([float(f"{v:.3g}") for v in costs.tolist()])


class Table:
    """Steps as rows of counts."""

    def __init__(self, steps: Sequence[Compiled]) -> None:
        steps_counted = [counted(step.trace, step.host) for step in steps]
        self.counts = np.array([each for each, _ in steps_counted])
        self.rest = np.array([rest for _, rest in steps_counted])
        self.seconds = np.array([step.seconds for step in steps])
        self.weights = np.array([WARM_WEIGHT if step.warm else 1.0 for step in steps])

    def fit(self, rows: NDArray[np.bool_]) -> Floats:
        """The costs that fit these rows."""
        return fit(self.counts[rows], self.rest[rows], self.seconds[rows], self.weights[rows])

    def ratios(self, costs: Floats) -> Floats:
        """The ratio of predicted to measured time of each row."""
        return (self.counts @ costs + self.rest) / self.seconds


def main() -> None:
    """Fit the recorded steps that replay no graph, then the replays."""
    host = find_host()
    steps = list(compiled_steps())
    table = Table(steps)
    costs = table.fit(np.ones(len(steps), bool))
    ratios = table.ratios(costs)
    families = np.array([step.family for step in steps])
    unseen = np.empty(len(steps))
    for family in sorted({*families}):
        rows = families == family
        unseen[rows] = table.ratios(table.fit(~rows))[rows]
    for step, ratio, left_out in zip(steps, ratios, unseen, strict=True):
        print(f"{ratio:5.2f} {left_out:5.2f}  {step.name}")
    networks = table.weights == 1.0
    error = _error(ratios[networks])
    print("fitted, all steps", _error(ratios), "each family left out", _error(unseen))
    print("fitted, networks", error, "each family left out", _error(unseen[networks]))
    blind = list(in_rounds(BLIND))
    print("blind machine", Table(blind).ratios(costs), [step.name for step in blind])
    resumed_s, node_s = further_graph_s()
    launched = HostCosts(
        **dict(zip(COSTS, costs.tolist(), strict=True)),
        resumed_s=resumed_s,
        node_s=node_s,
        reference_op_s=host.seconds["op"],
    )
    replayed, replay_ratios = fitted(host, launched)
    profiled_host = CompiledHost(SOURCE, launched, error, replayed, _error(replay_ratios))
    text = msgspec.json.format(msgspec.json.encode(profiled_host), indent=1)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{host.id}.json").write_bytes(text + b"\n")
    print(text.decode())


def further_graph_s() -> tuple[float, float]:
    """Seconds of a graph after a break in addition to its call, and of its autograd function: the
    part of the measured slopes that the current costs do not explain, at least 0. Run the fit again
    if it changed the cost of entering a graph, since the slopes use the previous costs."""
    now = compiled_host().launched
    inference, training = (
        measured_s - modelled_s for measured_s, modelled_s in map(slopes, (False, True))
    )
    costs_s = now.resumed_s + inference, now.node_s + training - inference
    resumed_s, node_s = (float(f"{max(each, 0.0):.3g}") for each in costs_s)
    return resumed_s, node_s


def _error(ratio: NDArray[np.float64]) -> Error:
    off = np.abs(ratio - 1)
    median, p90 = (float(f"{x:.2g}") for x in (np.median(off), np.quantile(off, 0.9)))
    return Error(len(ratio), median, p90)


if __name__ == "__main__":
    main()
