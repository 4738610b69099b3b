"""Compare predicted collectives and steps over several GPUs of one host with their measurements.

`python -m calibration.validate.several_gpus` prints the errors of collectives and, by the kind of
split, of the steps that were predicted before they were measured. It does so for the stored
predictions, and for those of the current code, which traces each step. `--before` omits the current
ones. `--machine 4xh100` compares four H100s instead of two H200s. `--beside` predicts with the
speed of the machine's host, which the same steps on one GPU show. `--steps NAME` compares one by
one the steps of the first measurement whose names contain NAME.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from calibration.cases.steps.parallel import parallel_step
from calibration.validate.blind_steps import (
    FIRST,
    MACHINES,
    Row,
    measured,
    measured_file,
    predicted_before,
    rows,
    table,
)
from calibration.validate.predicted_steps import host_of, predicted, predicted_row
from simulator.cluster import cluster
from simulator.collectives import collective_time
from simulator.errors import InputError
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host

HOST_BOUND = 1.4  # below this multiple of the host's seconds, a measured time counts as host-bound


def collectives(machine: str) -> None:
    """Print the median and 90th percentile of the error by collective, size and number of GPUs, if
    the machine's collectives were measured."""
    if not measured_file("collectives", machine).is_file():
        return
    errors: dict[tuple[int, str, str], list[float]] = {}
    whole = cluster(machine)
    for row in rows("collectives", machine):
        if row["part"] != "collective" or row["protocol"] != "auto":
            continue
        kind = "send" if row["collective"] == "send_receive" else row["collective"]
        seconds = row.get("graph_s") or row["stream_s"]
        alone = "graph_s" in row or seconds > HOST_BOUND * row["issue_s"]
        if kind == "exchange" or not alone:
            continue
        ranks = tuple(range(row["ranks"]))
        modelled = collective_time(kind, row["message_bytes"], whole, ranks).seconds
        size = "over 1 MiB" if row["message_bytes"] > 2**20 else "to 1 MiB"
        for of in (kind, "all"):
            key = row["ranks"], size, of
            errors.setdefault(key, []).append(abs(modelled / seconds - 1))
    print("| GPUs | size | collective | points | median | p90 |\n|--|--|--|--|--|--|")
    for (ranks, size, kind), each in sorted(errors.items()):
        middle, high = np.quantile(each, (0.5, 0.9))
        print(f"| {ranks} | {size} | {kind} | {len(each)} | {middle:.1%} | {high:.1%} |")


def steps(named: str, machine: str) -> None:
    """Print the period, the slow-down over one GPU and the peak memory of each step."""
    print("| step | period, ms | measured | ratio | measured | peak, MB | measured |")
    print("|--|--|--|--|--|--|--|")
    one = f"1x{machine.partition('x')[2]}"
    for row in rows("parallel_steps", machine):
        step = parallel_step(row)
        if named not in step.name or "period_s" not in row:
            continue
        try:
            p = predicted(step, machine)
            alone = predicted(step, one) if "one_gpu" in row else None
        except InputError as error:
            print(f"| {step.name} | {error} |")
            continue
        peak = max(r.peak_memory_bytes + r.workspace_bytes for r in p.ranks)
        ratio = ["–", "–"]
        if alone is not None:
            slow_down = row["period_s"] / row["one_gpu"]["period_s"]
            ratio = [f"{p.period_s / alone.period_s:.3f}", f"{slow_down:.3f}"]
        print(
            f"| {step.name} | {p.period_s * 1e3:.2f} | {row['period_s'] * 1e3:.2f} | {ratio[0]} | "
            f"{ratio[1]} | {peak / 1e6:.0f} | {row['peak_bytes'][0] / 1e6:.0f} |",
            flush=True,
        )


def blind(machine: str, before_alone: bool, beside: bool) -> None:
    """Print the errors of the steps that were predicted before they were measured."""
    before = predicted_before(machine)
    count = len(measured(before, machine))
    print(f"\nAs predicted before measuring, {count} steps:\n")
    print(*table(before, machine), sep="\n", flush=True)
    if before_alone:
        return
    whole = cluster(machine)
    host = _host(machine) if beside else None
    now: dict[int, Row] = {}
    for row in measured(before, machine):
        now[row["step"]] = predicted_row(row["step"], whole, host)
        print(row["step"], parallel_step(row).name, file=sys.stderr, flush=True)
    now = {step: row for step, row in now.items() if "one_gpu" in row}
    print("\nAs predicted now:\n")
    print(*table(now, machine), sep="\n")


def _host(machine: str) -> Host:
    """The host of a machine, at the speed shown by its steps on one GPU."""
    each = rows(MACHINES[machine].steps, machine)
    twins = {row["step"]: row["one_gpu"]["period_s"] for row in each if "one_gpu" in row}
    host = host_of(twins, cluster(machine).gpu.id)
    print(f"\nThe host takes {host.seconds['op'] / find_host().seconds['op']:.2f} times as long.")
    return host


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--machine", choices=MACHINES, default=FIRST)
    parser.add_argument("--steps", metavar="NAME", help="only the steps whose names contain this")
    parser.add_argument("--beside", action="store_true", help="the speed of the machine's host")
    parser.add_argument(
        "--before", action="store_true", help="leave out the predictions of the current code"
    )
    options = parser.parse_args()
    if options.steps is None:
        collectives(options.machine)
        blind(options.machine, options.before, options.beside)
    else:
        steps(options.steps, options.machine)


if __name__ == "__main__":
    main()
