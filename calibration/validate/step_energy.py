"""Compare the predicted energy of steps over several GPUs with their measurements.

`python -m calibration.validate.step_energy predict FILE.jsonl.gz 2xh200 43 0 9` writes the
predicted period and energy of these steps of `calibration.cases.steps.parallel`.
`… compare PREDICTED MEASURED` prints each step's mean power and energy, with those of its twin on
one GPU, predicted and measured by `calibration.measure.parallel_steps --warm`. Power is energy over
the period: on a slower or faster host, it is further off than energy.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from calibration.cases.steps.parallel import STEPS
from calibration.validate.predicted_steps import predicted
from simulator.cluster import cluster
from simulator.parallel.prediction import ParallelPrediction

Row = dict[str, Any]


def figures(p: ParallelPrediction) -> Row:
    """Period, energy on all cards with its interval, and regime shares."""
    return {
        "period_s": p.period_s,
        "joules": p.joules,
        "joules_interval": p.joules_interval,
        "overhead": p.shares["overhead"],
    }


def predict(path: Path, machine: str, places: list[int]) -> None:
    """Write the prediction of each step and of its twin on one GPU."""
    gpus, _, card = machine.partition("x")
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for place in places:
            step = STEPS[place]
            row: Row = {"step": place, "name": step.name, "gpus": int(gpus)}
            row |= figures(predicted(step, cluster(machine)))
            row["one_gpu"] = figures(predicted(step, cluster(f"1x{card}")))
            file.write(json.dumps(row) + "\n")


def read(path: Path) -> dict[int, Row]:
    """The rows of a file by step."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return {row["step"]: row for row in map(json.loads, file) if "period_s" in row}


def joules(row: Row) -> float:
    """Measured joules of a step on all cards."""
    return sum(row["rank_power_w"]) * row["period_s"]


def compare(before: Path, after: Path) -> None:
    """Print a line per step, then the median and 90th percentile of the errors."""
    known = read(before)
    errors: dict[str, list[float]] = {}
    print("| step | ms | J | W | inside | one GPU: ms | J | W |")
    print("|--|--|--|--|--|--|--|--|")
    for place, row in read(after).items():
        if place not in known or "rank_power_w" not in row:
            continue
        p = known[place]
        cells: list[str] = []
        for what, ours, theirs, cards in (
            ("split", p, row, 1),
            ("one GPU", p["one_gpu"], row.get("one_gpu"), p["gpus"]),
        ):
            if theirs is None:
                continue
            measured_j = joules(theirs) / cards  # each card runs a twin
            ratios = {
                "period": ours["period_s"] / theirs["period_s"],
                "energy": ours["joules"] / measured_j,
                "power": ours["joules"] / ours["period_s"] * theirs["period_s"] / measured_j,
            }
            units = {"period": 1e3 * theirs["period_s"], "energy": measured_j}
            units["power"] = measured_j / theirs["period_s"]
            cells += [f"{units[name]:.4g} ({ratio:.2f})" for name, ratio in ratios.items()]
            for name, ratio in ratios.items():
                errors.setdefault(f"{what}, {name}", []).append(ratio - 1)
            if what == "split":
                low_j, high_j = ours["joules_interval"]
                cells.append("yes" if low_j <= measured_j <= high_j else "no")
                errors.setdefault("inside", []).append(low_j <= measured_j <= high_j)
        print(f"| {p['name']} | {' | '.join(cells)} |")
    inside = errors.pop("inside", [])
    for name, each in errors.items():
        middle, high = np.quantile(np.abs(each), (0.5, 0.9))
        print(f"{name}: {len(each)}, {middle:.1%} / {high:.1%}, bias {np.median(each):+.1%}")
    print(f"energy in the 80% interval: {np.mean(inside):.0%}")


def main() -> None:
    """Predict or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("predict")
    making.add_argument("file", type=Path)
    making.add_argument("machine")
    making.add_argument("steps", type=int, nargs="+")
    comparing = commands.add_parser("compare")
    comparing.add_argument("predicted", type=Path)
    comparing.add_argument("measured", type=Path)
    options = parser.parse_args()
    if options.command == "predict":
        predict(options.file, options.machine, options.steps)
    else:
        compare(options.predicted, options.measured)


if __name__ == "__main__":
    main()
