"""Fit the host's time for replayed graphs (`simulator.fusion.host.replay_costs`) to host-bound
steps."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibration.fit.solvers import nnls
from calibration.record.profiler_hooks import hooked
from calibration.record.read import MEASUREMENTS
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.fusion import fused
from simulator.fusion.host.compiled_host import HostCosts, ReplayCosts
from simulator.fusion.host.replay_costs import replaying
from simulator.fusion.host.replays import replayed
from simulator.fusion.rules import level_of
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.host import Host
from simulator.records import Trace
from simulator.schedule.launch_plan import issued
from simulator.timing.profile import profile

MODE = "reduce-overhead"
FILES = ("compiled_host", "compiled_modes")
FURTHER = MEASUREMENTS / "h200_sxm" / "further_modes.jsonl.gz"
_RULES = 1.25
"""A step is host-bound if its time over the GPU's busy time exceeds this."""
_NAMES = tuple(field.name for field in fields(ReplayCosts))


@dataclass(frozen=True)
class Measured:
    """A replayed step, its seconds, and the time factor of its host relative to the reference."""

    name: str
    trace: Trace
    period_s: float
    slower: float


def measured(host: Host) -> Iterator[Measured]:
    """The host-bound steps of each file, each with its host. The eager versions of these steps were
    timed after the profiler had run."""
    for file in FILES:
        rows = _rows(MEASUREMENTS / "h200_sxm" / f"{file}.jsonl.gz")
        yield from _beside(
            hooked(host),
            [
                (row["case"], row["period"]["median_s"], row["eager"]["period"]["median_s"])
                for row in rows
                if row.get("case", {}).get("mode") == "compiled_graphs"
                and "failed" not in row
                and row["period"]["median_s"] > _RULES * row["gpu_busy_s"]
            ],
        )


def further(host: Host) -> Iterator[Measured]:
    """The steps of `calibration.measure.compile_modes` without graph breaks. Steps with breaks are
    left out: no eager step gives the speed of their host, and each graph after a break is a
    separate call."""
    rows = _rows(FURTHER)
    yield from _beside(
        host,
        [
            (row["case"], *(row["found"][m]["period_s"] for m in ("compiled_graphs", "eager")))
            for row in rows
            if row["what"] == "timed" and row["case"]["mode"] == "compiled_graphs"
        ],
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def _beside(host: Host, steps: list[tuple[dict[str, Any], float, float]]) -> Iterator[Measured]:
    """Replayed steps from (case, seconds, seconds in eager mode) on `host`. The eager steps give
    the speed of the host, since the speed-up of a mode is what matters."""
    for case, period_s, eager_s in steps:
        twin = predict_trace(retrace({**case, "mode": "eager"}), host=host)
        yield Measured(case["name"], retrace(case), period_s, eager_s / twin.period_s)


def counted(trace: Trace, host: Host, costs: HostCosts) -> tuple[NDArray[np.float64], float]:
    """The count of each cost in a step, and the host's other seconds."""
    gpu, known = find_gpu("h200"), profile()
    replayed_step = replayed(fused(trace, gpu, level_of(MODE), known))
    assert replayed_step.replays is not None
    plan, replays = issued(replayed_step.trace, gpu), replayed_step.replays

    def host_s(replay: ReplayCosts) -> float:
        launches, _ = replaying(plan, replays, host, known, costs, replay)
        return float(launches.host_s.sum() + launches.tail_s)

    free = ReplayCosts(0.0, 0.0, 0.0, 0.0)
    rest = host_s(free)
    each = [host_s(ReplayCosts(**{**vars(free), name: 1.0})) - rest for name in _NAMES]
    return np.array(each), rest


def fitted(host: Host, costs: HostCosts) -> tuple[ReplayCosts, NDArray[np.float64]]:
    """Fit the costs of a replay to the recorded steps, by non-negative least squares on relative
    errors. Also return, and print by name, the ratio of predicted to measured time of each step."""
    steps = [*measured(host), *further(host)]
    rows = [counted(step.trace, host, costs) for step in steps]
    counts, rest = np.array([each for each, _ in rows]), np.array([r for _, r in rows])
    seconds = np.array([step.period_s / step.slower for step in steps])
    costs_s = nnls(counts / seconds[:, None], (seconds - rest) / seconds)
    replay = [float(f"{value:.3g}") for value in costs_s.tolist()]
    ratio = (counts @ replay + rest) / seconds
    for step, each in zip(steps, ratio, strict=True):
        print(f"{each:5.2f} {step.slower:5.2f} {step.name}")
    return ReplayCosts(*replay), ratio
