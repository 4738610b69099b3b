"""Predict the steps over several GPUs before they are measured.

`python -m calibration.validate.predicted_steps FILE --cluster 2xh200 --from 12` writes JSON lines:
the cluster and the date, then one line per step of `calibration.cases.steps.parallel`. A line has
the period, its interval and every rank's peak memory, as they are measured, and the same figures of
the twin on one GPU. `--collectives` adds one line per collective, size and group (2, 4, 8 … GPUs of
a node), eager and in a graph.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from calibration.cases.steps.parallel import STEPS, ParallelStep
from calibration.measure.programs.parallel_programs import spread, twin
from simulator.cluster import Cluster, cluster
from simulator.collectives import collective_time
from simulator.collectives.price import KINDS
from simulator.errors import InputError
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.parallel.predict_step import predict_step
from simulator.parallel.prediction import ParallelPrediction

SIZES = [1024 * 4**i for i in range(11)]
"""Bytes of a collective: 1 KiB to 1 GiB, each size four times the previous one."""

HOST_DECIDES = 0.8  # smallest share of overhead in a host-bound step


def program(step: ParallelStep) -> Callable[[int, int], Callable[[], object]]:
    """The measured step as an argument of `predict_step`; on one GPU, the program of its `twin`."""
    # the graph is captured by the `mode` of `predict_step` instead
    plain = replace(step, graph=False)

    def make(rank: int, world_size: int) -> Callable[[], object]:
        return spread(plain, rank, world_size) if world_size > 1 else twin(plain)

    return make


def predicted(
    step: ParallelStep, where: Cluster | str, host: Host | None = None
) -> ParallelPrediction:
    """The prediction of a step. On a cluster of one GPU, it is that of the same step on one GPU."""
    mode = "cuda_graph" if step.graph else "eager"
    return predict_step(program(step), where, host=host, mode=mode)


def host_of(twins: Mapping[int, float], gpu: str) -> Host:
    """The default host at the speed shown by the same steps on one GPU, the twins; `twins` gives
    their measured seconds by step. The speed is the median of measured over predicted time of the
    twins that are host-bound on the default host.

    Fixed work on the CPU does not show this speed: on one machine it took 1 to 1.6 times as long
    while no kernel ran, whereas the twins always took 1.5 times as long as predicted."""
    ratios: list[float] = []
    for place, measured_s in twins.items():
        step = STEPS[place]
        if step.graph:
            continue
        twin_ = predicted(step, f"1x{gpu}")
        if twin_.shares["overhead"] > HOST_DECIDES:
            ratios.append(measured_s / twin_.period_s)
    return find_host().slower(float(np.median(ratios))) if ratios else find_host()


def figures(p: ParallelPrediction) -> dict[str, Any]:
    """The figures of a prediction that are also measured, and their parts."""
    peaks = {
        rank: each.peak_memory_bytes + each.workspace_bytes
        for each in p.ranks
        for rank in each.ranks
    }
    return {
        "period_s": p.period_s,
        "interval_s": p.interval_s,
        "peak_bytes": [peaks[rank] for rank in sorted(peaks)],
        "communication_s": p.communication_s,
        "exposed_communication_s": p.exposed_communication_s,
        "waiting_s": p.waiting_s,
        "shares": p.shares,
    }


def predicted_row(place: int, machine: Cluster, host: Host | None = None) -> dict[str, Any]:
    """The figures of a step and of the same step on one GPU, or the error."""
    step = STEPS[place]
    row: dict[str, Any] = {"step": place, **step.record(), "ranks": machine.gpus}
    try:
        row |= figures(predicted(step, machine, host))
        # all ranks run the step on one GPU at the same time, and the slowest rank counts
        slowest = (host or find_host()).of_ranks(machine.gpus)
        row["one_gpu"] = figures(predicted(step, f"1x{machine.gpu.id}", slowest))
    except InputError as error:
        row["failed"] = str(error)
    return row


def collectives(machine: Cluster) -> list[dict[str, Any]]:
    """Seconds of each collective over the groups of 2, 4, 8 … GPUs of a node."""
    groups = [n for n in (2, 4, 8, 16, 32, 64) if n <= machine.gpus_per_node]
    return [
        {
            "collective": kind,
            "message_bytes": size,
            "ranks": ranks,
            "seconds": time.seconds,
            "interval_s": time.interval_s,
            "algorithm": time.choice.algorithm,
            "protocol": time.choice.protocol,
            "issue_s": time.issue_s,
        }
        for kind in KINDS
        if kind not in ("barrier", "recv")
        for ranks in groups
        for size in SIZES
        for time in [collective_time(kind, size, machine, tuple(range(ranks)))]
    ]


def main() -> None:
    """Write the predictions."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--cluster", default="2xh200")
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="K")
    parser.add_argument("--collectives", action="store_true")
    options = parser.parse_args()
    machine = cluster(options.cluster)
    with options.file.open("w", encoding="utf-8") as file:

        def write(row: dict[str, Any]) -> None:
            file.write(json.dumps(row) + "\n")
            file.flush()

        write({"cluster": machine.id, "written": datetime.now(UTC).isoformat(timespec="minutes")})
        for row in collectives(machine) if options.collectives else ():
            write(row)
        for place in [*range(options.first, len(STEPS)), *range(options.first)]:
            row = predicted_row(place, machine)
            write(row)
            print(place, STEPS[place].name, row.get("failed") or row["period_s"], flush=True)


if __name__ == "__main__":
    main()
