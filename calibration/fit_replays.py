"""Fit what the host takes for graphs that are replayed (`simulator.fusion.replay_costs`). Only
steps that their host rules tell of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from calibration.fidelity import retrace
from calibration.host_index import index
from calibration.recordings import MEASUREMENTS
from simulator import predict_trace
from simulator.fusion.compiled_host import HostCosts, ReplayCosts
from simulator.fusion.replay_costs import replaying
from simulator.hardware import gpu as find_gpu
from simulator.hosts import Host
from simulator.issued import issued
from simulator.profiles import profile
from simulator.records import Trace
from simulator.simulate import as_run

FILES = ("compiled_host", "compiled_modes")
FURTHER = MEASUREMENTS / "h200_sxm" / "further_modes.jsonl.gz"
_RULES = 1.25
"""Of the GPU's busy time: a step this long is ruled by its host."""
_NAMES = tuple(field.name for field in fields(ReplayCosts))


@dataclass(frozen=True)
class Measured:
    """A step that was replayed, its seconds, and how many times as long as the reference's its host
    takes."""

    name: str
    trace: Trace
    period_s: float
    slower: float


def measured(host: Host) -> Iterator[Measured]:
    """Those that their host rules."""
    for file in FILES:
        with gzip.open(MEASUREMENTS / "h200_sxm" / f"{file}.jsonl.gz", "rt") as lines:
            rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
        machine: dict[str, float] = {}
        for row in rows:
            machine = row.get("host_index", machine)
            if row.get("case", {}).get("mode") == "compiled_graphs" and "failed" not in row:
                period_s, eager_s = (each["period"]["median_s"] for each in (row, row["eager"]))
                if period_s > _RULES * row["gpu_busy_s"]:
                    yield _beside(row["case"], period_s, eager_s, machine, host)


def further(host: Host) -> Iterator[Measured]:
    """Those of `calibration.further_modes`, but for those with breaks: of these no eager twin says
    how fast the host was, and each graph behind a break is a call of its own."""
    with gzip.open(FURTHER, "rt") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    machine = next(row["host_index"] for row in rows if row["what"] == "host_index")
    for row in rows:
        if row["what"] == "timed" and row["case"]["mode"] == "compiled_graphs":
            own_s, eager_s = (row["found"][m]["period_s"] for m in ("compiled_graphs", "eager"))
            yield _beside(row["case"], own_s, eager_s, machine, host)


def _beside(
    case: dict[str, Any], period_s: float, eager_s: float, machine: dict[str, float], host: Host
) -> Measured:
    """A host is as slow as both its index and the step's eager twin say."""
    own = eager_s / predict_trace(retrace({**case, "mode": "eager"}), host=host).period_s
    slower = sqrt(index(machine, host.reference) * own)
    return Measured(case["name"], retrace(case), period_s, slower)


def counted(trace: Trace, host: Host, costs: HostCosts) -> tuple[NDArray[np.float64], float]:
    """How often each of the costs is paid in a step, and the seconds that the host takes beside."""
    gpu, known = find_gpu("h200"), profile()
    found = issued(as_run(trace, gpu, "reduce-overhead", known), gpu)

    def host_s(replay: ReplayCosts) -> float:
        launches, _ = replaying(found, host, known, costs, replay)
        return float(launches.host_s.sum() + launches.tail_s)

    free = ReplayCosts(0.0, 0.0, 0.0, 0.0)
    rest = host_s(free)
    each = [host_s(ReplayCosts(**{**vars(free), name: 1.0})) - rest for name in _NAMES]
    return np.array(each), rest


def fitted(host: Host, costs: HostCosts) -> tuple[ReplayCosts, NDArray[np.float64]]:
    """Non-negative least squares on relative errors over the recorded steps; and each step's
    predicted over measured time, printed beside its name."""
    steps = [*measured(host), *further(host)]
    found = [counted(step.trace, host, costs) for step in steps]
    counts, rest = np.array([each for each, _ in found]), np.array([r for _, r in found])
    seconds = np.array([step.period_s / step.slower for step in steps])
    replay, _ = nnls(counts / seconds[:, None], (seconds - rest) / seconds)
    replay = [float(f"{value:.3g}") for value in replay]
    ratio = (counts @ replay + rest) / seconds
    for step, each in zip(steps, ratio, strict=True):
        print(f"{each:5.2f} {step.slower:5.2f} {step.name}")
    return ReplayCosts(*replay), ratio
