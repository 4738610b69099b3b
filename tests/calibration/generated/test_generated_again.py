"""A packaged curve of generated kernels agrees with its measurements, fitted again."""

from __future__ import annotations

import msgspec
import numpy as np

from calibration.fit.gpu import base, errors, fit
from calibration.generated.kernels import averaged, samples, traced
from calibration.measure.log import read
from calibration.record.library_samples import lowered
from calibration.record.read import MEASUREMENTS
from calibration.sweeps.registry import points
from simulator.fusion import fused
from simulator.hardware.gpu import gpu
from simulator.timing.profile import profile
from simulator.timing.roofline import curve

CURVE = "generated_across"
FUNCTIONS = ("generated_train_batch_norm", "generated_pooled", "generated_column_sums")
"""The functions with fitted kernels of this curve."""


def test_a_curve_of_generated_kernels_predicts_the_same_times_again() -> None:
    """Processors round differently, so figures that no sample depends on may differ."""
    card = gpu("h200")
    logs = sorted((MEASUREMENTS / card.id).glob("generated_*.jsonl.gz"))
    rounds = [read(path).samples for path in logs]
    calls = [
        lowered(
            point,
            fused(traced(point), card).trace,
            {"kernels": averaged([r[point.name]["kernels"] for r in rounds if point.name in r])},
            card,
        )
        for point in points("generated")
        if point.operation in FUNCTIONS
    ]
    assert len(calls) == 48
    seen = [sample for sample in samples(calls, card) if curve(sample.work) == CURVE]
    assert len(seen) == 74
    fitted, packaged = fit(seen, card, base(1e-6, 1e-7, 4e-6)), profile()
    again = msgspec.structs.replace(
        packaged,
        traffic={**packaged.traffic, CURVE: fitted.traffic[CURVE]},
        residuals={**packaged.residuals, CURVE: fitted.residuals[CURVE]},
    )
    fitted_errors, packaged_errors = errors(seen, card, again), errors(seen, card, packaged)
    differences = np.abs(fitted_errors - packaged_errors)
    assert differences.mean() < 1e-3 and differences.max() < 5e-3
    assert np.mean(fitted_errors**2) < 1.01 * np.mean(packaged_errors**2)  # the fit is as good
