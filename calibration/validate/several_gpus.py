"""Compare collectives and steps over two H200s with what was measured there.

`python -m calibration.validate.several_gpus` prints two tables; `--steps` alone the second, which
traces every step (minutes).
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from calibration.cases.parallel_steps import parallel_step
from calibration.validate.predicted_steps import predicted
from simulator.cluster import cluster
from simulator.collectives import collective_time
from simulator.errors import InputError

MEASURED = Path(__file__).parents[1] / "measurements" / "h200_sxm_x2"
CLUSTER = "2xh200"
HOST_BOUND = 1.4  # times the host's seconds below which a measured time is the host's


def rows(name: str) -> list[dict[str, Any]]:
    """The measured lines of a file, without the machine's."""
    with gzip.open(MEASURED / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if "machine" not in row]


def collectives() -> None:
    """Median and 90th percentile of the error by collective and size."""
    errors: dict[tuple[str, str], list[float]] = {}
    machine = cluster(CLUSTER)
    for row in rows("collectives"):
        if row["part"] != "collective" or row["protocol"] != "auto":
            continue
        kind = "send" if row["collective"] == "send_receive" else row["collective"]
        seconds = row.get("graph_s") or row["stream_s"]
        alone = "graph_s" in row or seconds > HOST_BOUND * row["issue_s"]
        if kind == "exchange" or not alone:
            continue
        found = collective_time(kind, row["message_bytes"], machine).seconds
        size = "over 1 MiB" if row["message_bytes"] > 2**20 else "to 1 MiB"
        for key in ((size, kind), (size, "all")):
            errors.setdefault(key, []).append(abs(found / seconds - 1))
    print("| size | collective | points | median | p90 |\n|--|--|--|--|--|")
    for (size, kind), each in sorted(errors.items()):
        middle, high = np.quantile(each, (0.5, 0.9))
        print(f"| {size} | {kind} | {len(each)} | {middle:.1%} | {high:.1%} |")


def steps(named: str) -> None:
    """Period, slow-down over the twin on one GPU and peak memory of each step."""
    print("| step | period, ms | measured | ratio | measured | peak, MB | measured |")
    print("|--|--|--|--|--|--|--|")
    for row in rows("parallel_steps"):
        split_step = parallel_step(row)
        if named not in split_step.name or "period_s" not in row:
            continue
        try:
            p = predicted(split_step, CLUSTER)
            alone = predicted(split_step, "1xh200") if "one_gpu" in row else None
        except InputError as error:
            print(f"| {split_step.name} | {error} |")
            continue
        peak = max(r.peak_memory_bytes + r.workspace_bytes for r in p.ranks)
        ratio = ["–", "–"]
        if alone is not None:
            measured = row["period_s"] / row["one_gpu"]["period_s"]
            ratio = [f"{p.period_s / alone.period_s:.3f}", f"{measured:.3f}"]
        print(
            f"| {split_step.name} | {p.period_s * 1e3:.2f} | {row['period_s'] * 1e3:.2f} | "
            f"{ratio[0]} | {ratio[1]} | {peak / 1e6:.0f} | {row['peak_bytes'][0] / 1e6:.0f} |",
            flush=True,
        )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--steps", metavar="NAME", help="the steps alone whose name has this")
    options = parser.parse_args()
    if options.steps is None:
        collectives()
    steps(options.steps or "")


if __name__ == "__main__":
    main()
