"""A packaged curve of generated kernels is what its measurements give, fitted again."""

from __future__ import annotations

import msgspec

from calibration.fit.gpu import base, fit
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
"""The functions that have kernels of this curve which the fit sees."""


def test_a_curve_of_generated_kernels_comes_out_byte_for_byte() -> None:
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
    for of in ("traffic", "residuals"):
        ours, theirs = getattr(fitted, of)[CURVE], getattr(packaged, of)[CURVE]
        assert msgspec.json.encode(ours) == msgspec.json.encode(theirs), of
