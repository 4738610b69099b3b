"""Functions of torch, predicted before they were measured: calls of `calibration.sweeps.functions`.

`python -m calibration.validate.functions [PATTERN]` compares the predictions that were stored
before the measurement, or with `--now` those of the current code, with the measured GPU times of
the calls whose names match. It prints a line for each function, the largest errors first, and a
table. `--log FILE` names another log of measured calls: `functions_third.jsonl.gz` was measured
after the errors of the first had been mended, `functions_second.jsonl.gz` is for fits and has no
stored predictions.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import log
from pathlib import Path
from typing import NamedTuple

from calibration.measure.log import read
from calibration.outcome import Outcome, summary, table
from calibration.record.read import MEASUREMENTS
from calibration.stored_predictions import Row, rows
from calibration.sweeps.registry import Point
from calibration.validate.blind_calls import predicted

FOLDER = MEASUREMENTS / "h200_sxm"
MEASURED = FOLDER / "functions.jsonl.gz"
_LEAST_RATIO = 0.01  # for sorting; a kernel that is not predicted has a ratio of 0


class Compared(NamedTuple):
    """One measured call with its prediction."""

    point: Point
    ratio: float
    took_s: float
    kernels: tuple[int, int]
    """Measured and predicted launches."""


def compared(by_name: dict[str, Row], measured: Iterable[Row]) -> Iterator[Compared]:
    """Each measured call that has kernels and a prediction; operands are in L2 if they fit."""
    for row in measured:
        point, kernels = Point(**row["point"]), row.get("kernels")
        p = by_name.get(point.name, {})
        if kernels and "kernels" in p:
            took_s = sum(each[1] for each in kernels)
            ratio = p.get("warm", 0.0) / took_s
            yield Compared(point, ratio, took_s, (len(kernels), p["kernels"]))


def by_function(every: Iterable[Compared]) -> list[tuple[str, list[Compared]]]:
    """The calls of each function and direction, the largest mean errors first."""
    groups: dict[str, list[Compared]] = defaultdict(list)
    for each in every:
        backward = " backward" if each.point.operation.endswith("backward") else ""
        groups[f"{each.point.params['name']}{backward}"].append(each)

    def error(item: tuple[str, list[Compared]]) -> float:
        return sum(abs(log(max(c.ratio, _LEAST_RATIO))) for c in item[1]) / len(item[1])

    return sorted(groups.items(), key=error, reverse=True)


def line(name: str, calls: list[Compared]) -> str:
    """Ratios and microseconds of some calls of a function, and its launches."""
    first = calls[:8]
    ratios = " ".join(f"{each.ratio:.2f}" for each in first)
    took = " ".join(f"{each.took_s * 1e6:.0f}" for each in first)
    measured, launches = first[0].kernels
    return f"{name}: {len(calls)} calls: {ratios}; {took} µs; {measured} kernels as {launches}"


def main() -> None:
    """Compare stored or current predictions with the measurements."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("pattern", nargs="?", default="", help="regular expression on names")
    parser.add_argument("--now", action="store_true", help="predict again")
    parser.add_argument("--log", type=Path, default=MEASURED, help="file of measured calls")
    parser.add_argument("--rows", type=int, default=60, help="number of functions to list")
    options = parser.parse_args()
    measured = [
        row for name, row in read(options.log).samples.items() if re.search(options.pattern, name)
    ]
    points = [Point(**row["point"]) for row in measured]
    stored = options.log.with_name(f"predicted_{options.log.name}")
    predictions = map(predicted, points) if options.now else rows(stored)
    every = list(compared({row["call"]: row for row in predictions}, measured))
    for name, calls in by_function(every)[: options.rows]:
        print(line(name, calls))
    print(table(summary(_outcomes(every))))


def _outcomes(every: Iterable[Compared]) -> Iterator[Outcome]:
    for each in every:
        group = "gradients" if each.point.operation.endswith("backward") else "functions"
        took_s = each.took_s
        yield Outcome(each.point.name, group, "GPU time", each.ratio, measured_s=took_s)
        kernels, launches = each.kernels
        yield Outcome(each.point.name, group, "kernels", launches / kernels)


if __name__ == "__main__":
    main()
