"""Samples that are added to a residual, which changes only if it predicts others better."""

from __future__ import annotations

import numpy as np
import pytest

from calibration.fit.again import badness
from calibration.fit.appended import improved
from calibration.record.samples import Sample
from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.timing.profile import profile
from simulator.timing.roofline import roofs

H200 = gpu("h200")
CURVE = "scan_across"


def scans(slower: float, begin: int) -> list[Sample]:
    """Scans of sizes far from the measured ones that take `slower` times as long as predicted."""
    samples: list[Sample] = []
    for cols in range(begin, begin + 12):
        size = 4 * 40_000 * cols
        dims = {"variant": "across", "elements": 40_000 * cols, "steps": cols}
        work = Work("scan", 0, size, size, instructions=size, dims=dims)
        (alone_s,) = roofs([work], H200, profile()).parts(np.zeros(1), 1.0).duration_s.tolist()
        samples.append(Sample(work, 0.0, slower * alone_s, 1.0))
    return samples


def test_samples_that_predict_others_better_are_added() -> None:
    known = profile()
    new = improved(CURVE, scans(1.5, 300), scans(1.5, 301), H200, known)
    assert len(new.residuals[CURVE].logs) == len(known.residuals[CURVE].logs) + 12
    assert badness(scans(1.5, 301), H200, new) < 0.5 * badness(scans(1.5, 301), H200, known)


@pytest.mark.parametrize(
    ("name", "judges"), [(CURVE, scans(1.0, 301)), (CURVE, scans(1.5, 301)[:5]), ("missing", [])]
)
def test_a_residual_stays_without_enough_better_predictions(
    name: str, judges: list[Sample]
) -> None:
    assert improved(name, scans(1.5, 300), judges, H200, profile()) is profile()
