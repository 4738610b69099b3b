"""Fit what the host takes for compiled steps: `python -m calibration.fit.compiled_host`.

Prints each step's predicted over measured time, and writes `simulator/profiles/compiled`.
Each is in seconds of the reference host, which the machine's own speed is divided out for: it lies
between what the host index says, whose loops over one op are warmer than networks, and what the
small steps' eager twins say, which are nearly as warm as the compiled ones beside them.
"""

from __future__ import annotations

import gzip
import json
from math import sqrt
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from calibration.fit.replays import fitted
from calibration.measure.graph_breaks import slopes
from calibration.measure.host_index import index
from calibration.record.read import MEASUREMENTS
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.fusion import fused
from simulator.fusion.host.compiled_host import (
    FOLDER,
    CompiledHost,
    Error,
    HostCosts,
    compiled_host,
)
from simulator.fusion.host.host_costs import tabled
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.hardware.host_counts import tail_s
from simulator.records import Trace
from simulator.schedule.launch_plan import issued
from simulator.timing.profile import profile

COSTS = (
    "call_s",
    "input_s",
    "weight_s",
    "triton_s",
    "library_share",
    "backward_s",
    "gradient_s",
    "tabled_s",
)
SOURCE = (
    "non-negative least squares on relative errors over small compiled steps that their host "
    "rules, beside an H200; torch 2.11, triton 3.6"
)
_NETWORKS = ("blocks",)


def counted(trace: Trace, triton: int, host: Host) -> tuple[list[float], float]:
    """How often each of `COSTS` is paid in a step, and the seconds of what eager code does in it:
    the optimizer and the launches of the libraries."""
    made = fused(trace, find_gpu("h200"), "compiled", profile()).trace
    found = issued(made, find_gpu("h200"))
    own, launched = host.op_s(found.counts), found.launches
    phases = [op.phase for op in made.ops]
    eager = np.array([phase == "optimizer" for phase in phases], bool)
    generated = np.array([op.name.startswith("fused.") for op in made.ops], bool)
    library = ~eager & ~generated
    if "backward" in phases:  # where the eager model counts what a backward pass begins with
        library[phases.index("backward")] = False
    roles = [storage.role for storage in trace.storages]
    weights = roles.count("weight")
    back = float("backward" in phases)
    each = [
        1.0,
        roles.count("input"),
        weights + roles.count("buffer"),
        triton,
        float(own[library].sum()),
        back,
        back * weights,
        float(tabled(made).sum()),
    ]
    rest = own[eager].sum() + launched[~generated].sum() * host.launch_s
    return each, float(rest + tail_s(trace, host))


def fit(
    counts: NDArray[np.float64], rest_s: NDArray[np.float64], seconds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Non-negative least squares on relative errors: seconds for each of `COSTS`."""
    found, _ = nnls(counts / seconds[:, None], (seconds - rest_s) / seconds)
    return np.array([float(f"{v:.3g}") for v in found])


def main() -> None:
    """Fit to the recorded small steps that replay no graph."""
    host = find_host()
    steps: list[dict[str, Any]] = []
    machine: dict[str, float] = {}
    path = MEASUREMENTS / "h200_sxm" / "compiled_host.jsonl.gz"
    with gzip.open(path, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            machine = row.get("host_index", machine)
            if row.get("case", {}).get("mode") == "compiled" and "failed" not in row:
                steps.append(row)
    traces = [retrace(row["case"]) for row in steps]
    twins = [
        row["eager"]["period"]["median_s"] / predict_trace(trace, host=host).period_s
        for row, trace in zip(steps, traces, strict=True)
        if any(part in row["case"]["network"] for part in _NETWORKS)
    ]
    speed = sqrt(index(machine, host.reference) * float(np.median(twins)))
    triton = [sum(name.startswith("triton") for name, _ in row["launches"]) for row in steps]
    found = [counted(trace, n, host) for trace, n in zip(traces, triton, strict=True)]
    counts, rest = np.array([each for each, _ in found]), np.array([rest for _, rest in found])
    seconds = np.array([row["period"]["median_s"] for row in steps]) / speed
    costs = fit(counts, rest, seconds)
    for row, ratio in zip(steps, (counts @ costs + rest) / seconds, strict=True):
        print(f"{ratio:5.2f}  {row['case']['name']}")
    resumed_s, node_s = further_graph_s()
    launched = HostCosts(
        **dict(zip(COSTS, costs.tolist(), strict=True)),
        resumed_s=resumed_s,
        node_s=node_s,
        reference_op_s=host.seconds["op"],
    )
    replayed, again = fitted(host, launched)
    made = CompiledHost(
        SOURCE, launched, _error((counts @ costs + rest) / seconds), replayed, _error(again)
    )
    text = msgspec.json.format(msgspec.json.encode(made), indent=1)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{host.id}.json").write_bytes(text + b"\n")
    print(text.decode())


def further_graph_s() -> tuple[float, float]:
    """What a graph behind a break takes beyond its call, and its autograd function: what the costs
    of now leave over of the measured slopes."""
    now = compiled_host().launched
    inference, training = (was - said for was, said in map(slopes, (False, True)))
    found = now.resumed_s + inference, now.node_s + training - inference
    resumed_s, node_s = (float(f"{each:.3g}") for each in found)
    return resumed_s, node_s


def _error(ratio: NDArray[np.float64]) -> Error:
    off = np.abs(ratio - 1)
    median, p90 = (float(f"{x:.2g}") for x in (np.median(off), np.quantile(off, 0.9)))
    return Error(len(ratio), median, p90)


if __name__ == "__main__":
    main()
