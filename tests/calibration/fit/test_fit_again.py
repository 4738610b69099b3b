"""The packaged profile is what its measurements give: some of its curves, fitted again."""

from __future__ import annotations

import msgspec

from calibration.fit.gpu import base, fit
from calibration.measure.log import read
from calibration.record.library_samples import lowered, samples
from calibration.record.read import MEASUREMENTS
from calibration.sweeps import points
from simulator.hardware.gpu import gpu
from simulator.timing.profile import profile
from simulator.timing.roofline import curve
from simulator.tracing import trace_call

CURVES = ("resample_scatter", "resample_serial")
CALLS = ("resize", "resize_backward")
"""The calls that those curves are of; no recorded network makes them."""


def test_some_curves_come_out_byte_for_byte() -> None:
    card = gpu("h200")
    measured = read(MEASUREMENTS / card.id / "samples.jsonl.gz").samples
    found = [
        lowered(point, trace_call(point.make), measured[point.name], card)
        for point in points("library")
        if point.operation in CALLS and measured[point.name].get("kernels")
    ]
    assert len(found) > 250
    fitted = fit(
        [s for s in samples(found) if curve(s.work) in CURVES], card, base(1e-6, 1e-7, 4e-6)
    )
    packaged = profile()
    for name in CURVES:
        for of in ("traffic", "residuals"):
            ours, theirs = getattr(fitted, of)[name], getattr(packaged, of)[name]
            assert msgspec.json.encode(ours) == msgspec.json.encode(theirs), f"{of} of {name}"
