"""Fit the jitter between ranks (`simulator/parallel/jitter.json`) to steps that two ranks ran at
the same time, each on its own GPU and without waiting for the other.

`python -m calibration.fit.jitter` writes the file. Only host-bound steps show jitter. A rank's
period is the median of three blocks of steps. The median of three normal numbers has 0.67 times
their standard deviation (its variance is 1 − √3/π), and the logarithm of the ratio of two ranks has
√2 times that of one. Blocks last for many steps, so jitter from one step to the next is not
included.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

import simulator.parallel.jitter
from calibration.validate.blind_steps import measured, predicted_before

FILE = Path(simulator.parallel.jitter.__file__).with_name("jitter.json")
MEDIAN_OF_THREE = math.sqrt(1 - math.sqrt(3) / math.pi)
RULED = 0.5
"""The predicted share of overhead at or above which a step counts as host-bound."""


def log_ratios() -> list[float]:
    """ln(rank 0's period / rank 1's) of each host-bound step on one GPU."""
    predictions = predicted_before()
    ratios: list[float] = []
    for row in measured(predictions):
        twin = predictions[row["step"]]["one_gpu"]
        if twin["shares"]["overhead"] > RULED:
            first_s, second_s = row["one_gpu"]["rank_periods_s"]
            ratios.append(math.log(first_s / second_s))
    return ratios


def sigma(ratios: list[float]) -> float:
    """The standard deviation of the logarithm of one rank's time for a block of steps."""
    return float(np.sqrt(np.mean(np.square(ratios)) / 2)) / MEDIAN_OF_THREE


def main() -> None:
    """Write the file."""
    ratios = log_ratios()
    fitted = {
        "source": f"calibration/fit/jitter.py: {len(ratios)} host-bound steps, run at the "
        "same time by two ranks, each on its own GPU "
        "(calibration/measurements/h200_sxm_x2/parallel_steps_second)",
        "sigma": round(sigma(ratios), 3),
    }
    FILE.write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")
    print(fitted)


if __name__ == "__main__":
    main()
