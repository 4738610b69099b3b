"""Show where the time of an all-reduce in a step goes, and compare such steps with predictions.

`python -m calibration.validate.exchange_calls` prints two tables from
`calibration.measure.exchange_calls`: the host's time of one all-reduce by run and kind, and the
steps whose processes had no special settings.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from calibration.cases.steps.parallel import STEPS
from calibration.validate.blind_steps import MEASUREMENTS
from calibration.validate.predicted_steps import predicted

FILE = MEASUREMENTS / "h200_sxm_x4" / "exchange_calls.jsonl.gz"
PLAIN = ("plain", "two ranks")
"""The runs whose processes have no settings that change the host's work."""
AS_MEASURED = ("", "again")

Row = dict[str, Any]


class MeasuredStep(NamedTuple):
    """A step: `step` is its index, `period_s` the slowest rank's seconds, the median of three
    blocks."""

    step: int
    ranks: int
    period_s: float


def rows() -> list[Row]:
    """The cases of the file; a profiled case slows down later ones of the same run."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        return [row for row in map(json.loads, file) if "part" in row]


def before_profile(cases: Iterable[Row]) -> Iterator[Row]:
    """The cases that ran before the profiler of their run, which makes later launches 1.25 times as
    slow."""
    profiled: set[str] = set()
    for row in cases:
        if row["part"] == "profile":
            profiled.add(row["run"])
        elif row["run"] not in profiled:
            yield row


def period_s(row: Row) -> float:
    """The slowest rank's seconds per step, as the median over the blocks."""
    return float(np.median(np.max([each["done_s"] for each in row["each"]], axis=0)))


def undisturbed_s(row: Row) -> float:
    """The host's seconds per step in each rank's fastest block, as the median over ranks."""
    return float(np.median(np.min([each["issued_s"] for each in row["each"]], axis=1)))


def measured_steps(cases: Iterable[Row]) -> Iterator[MeasuredStep]:
    """The steps of processes without special settings."""
    for row in before_profile(cases):
        if (
            row["part"] == "step"
            and row["run"] in PLAIN
            and row["exchange"] == "all_reduce"
            and row["how"] in AS_MEASURED
        ):
            yield MeasuredStep(row["step"], row["ranks"], period_s(row))


def exchange_s(cases: Iterable[Row]) -> dict[tuple[str, int], dict[str, float]]:
    """The seconds that one exchange takes on the undisturbed host, by kind, for each run and step:
    the step's time minus that of the same step without exchanges."""
    by: dict[tuple[str, int], dict[str, Row]] = {}
    for row in before_profile(cases):
        if row["part"] == "step" and not row["how"]:
            by.setdefault((row["run"], row["step"]), {})[row["exchange"]] = row
    return {of: _beyond(each) for of, each in by.items() if "nothing" in each}


def _beyond(kinds: Mapping[str, Row]) -> dict[str, float]:
    first = kinds["nothing"]["each"][0]
    count = len(first["host_ns"]) / first["steps"]
    without_s = undisturbed_s(kinds["nothing"])
    return {
        kind: (undisturbed_s(row) - without_s) / count
        for kind, row in kinds.items()
        if kind != "nothing"
    }


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0]).parse_args()
    kinds = ("all_reduce", "one_rank", "direct", "add")
    print(f"| run | step | {' | '.join(f'{kind}, µs' for kind in kinds)} |\n|--|--|--|--|--|--|")
    for (run, step), seconds in exchange_s(rows()).items():
        cells = [f"{1e6 * seconds[kind]:.0f}" if kind in seconds else "–" for kind in kinds]
        print(f"| {run} | {step} | {' | '.join(cells)} |")
    print("\n| step | GPUs | measured, ms | predicted | interval |\n|--|--|--|--|--|")
    for each in measured_steps(rows()):
        p = predicted(STEPS[each.step], f"{each.ranks}xh200")
        low_s, high_s = (1e3 * x for x in p.interval_s)
        print(
            f"| {STEPS[each.step].name} | {each.ranks} | {1e3 * each.period_s:.1f} | "
            f"{1e3 * p.period_s:.1f} | {low_s:.1f} to {high_s:.1f} |"
        )


if __name__ == "__main__":
    main()
