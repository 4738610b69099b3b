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
_RULES = 1.25
"""Of the GPU's busy time: a step this long is ruled by its host."""
_NAMES = tuple(field.name for field in fields(ReplayCosts))


@dataclass(frozen=True)
class Measured:
    """A step that was replayed: its case, seconds, and how many times as long as the reference's
    its host takes."""

    case: dict[str, Any]
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
            if row.get("case", {}).get("mode") != "compiled_graphs" or "failed" in row:
                continue
            period_s = row["period"]["median_s"]
            if period_s > _RULES * row["gpu_busy_s"]:
                trace = retrace({**row["case"], "mode": "eager"})
                own = row["eager"]["period"]["median_s"] / predict_trace(trace, host=host).period_s
                slower = sqrt(index(machine, host.reference) * own)
                yield Measured(row["case"], period_s, slower)


def counted(trace: Trace, host: Host, costs: HostCosts) -> tuple[NDArray[np.float64], float]:
    """How often each of the costs is paid in a step, and the seconds that the host takes beside."""
    gpu, known = find_gpu("h200"), profile()
    found = issued(as_run(trace, gpu, "reduce-overhead", known), gpu)

    def host_s(replay: ReplayCosts) -> float:
        launches, _ = replaying(found, host, known, costs, replay)
        return float(launches.host_s.sum() + launches.tail_s)

    free = ReplayCosts(0.0, 0.0, 0.0, 0.0, 0.0)
    rest = host_s(free)
    each = [host_s(ReplayCosts(**{**vars(free), name: 1.0})) - rest for name in _NAMES]
    return np.array(each), rest


def fitted(host: Host, costs: HostCosts) -> tuple[ReplayCosts, NDArray[np.float64]]:
    """Non-negative least squares on relative errors over the recorded steps; and each step's
    predicted over measured time, printed beside its name."""
    steps = list(measured(host))
    found = [counted(retrace(step.case), host, costs) for step in steps]
    counts, rest = np.array([each for each, _ in found]), np.array([r for _, r in found])
    seconds = np.array([step.period_s / step.slower for step in steps])
    replay, _ = nnls(counts / seconds[:, None], (seconds - rest) / seconds)
    replay = [float(f"{value:.3g}") for value in replay]
    ratio = (counts @ replay + rest) / seconds
    for step, each in zip(steps, ratio, strict=True):
        print(f"{each:5.2f}  {step.case['name']}")
    return ReplayCosts(*replay), ratio
