"""Single calls that no fit uses: compare predictions with measurements, warm and cold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from calibration.outcome import Outcome
from calibration.record.library_samples import Swept
from calibration.record.samples import dirty
from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.timing.profile import Profile
from simulator.timing.roofline import roofs

STATES = ((1, "warm"), (2, "cold"))
"""Indices of the warm and cold fields of a launch and of a kernel."""


def outcomes(sweeps: Iterable[Swept], gpu: GPU, learned: Profile) -> list[Outcome]:
    """Predicted over measured GPU seconds of each held-out call, summed over its kernels."""
    rows: list[Outcome] = []
    for each in sweeps:
        if not each.point.held_out:
            continue
        flops = sum(work.flops for work, _, _ in each.launches)
        moved = sum(work.bytes for work, _, _ in each.launches)
        for column, (state, ratio) in enumerate(ratios(each, gpu, learned).items(), start=1):
            took = sum(float(kernel[column]) for kernel in each.kernels)
            group, kind = f"single ops, {state}", each.point.operation
            rows.append(Outcome(each.point.name, group, kind, ratio, None, 0.0, took, flops, moved))
    return rows


def ratios(each: Swept, gpu: GPU, learned: Profile) -> dict[str, float]:
    """Predicted over measured seconds of a call, with its operands in L2 and without."""
    predicted = seconds(each.launches, gpu, learned)
    return {
        state: predicted[state] / sum(float(kernel[column]) for kernel in each.kernels)
        for column, state in STATES
    }


def seconds(
    launches: Sequence[tuple[Work, float, float]], gpu: GPU, learned: Profile
) -> dict[str, float]:
    """Predicted seconds of launches per state: with operands in L2, and without."""
    works = [work for work, _, _ in launches]
    table = roofs(works, gpu, learned)
    predicted: dict[str, float] = {}
    for column, state in STATES:
        hot = np.array([launch[column] for launch in launches], float)
        compute, memory, fixed = table.parts(hot, dirty(works) if state == "warm" else 1.0)
        predicted[state] = float(np.sum(np.maximum(compute, memory) + fixed))
    return predicted
