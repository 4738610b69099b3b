"""The packaged profile agrees with its measurements: fitting some of its curves again gives the
same."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator

import pytest

from calibration.fit.again import by_curve, thinned
from calibration.fit.curve import fit_curve
from calibration.fit.gpu import errors
from calibration.measure.log import read
from calibration.record.library_samples import FILES, FURTHER, Swept, lowered, samples
from calibration.record.read import MEASUREMENTS
from calibration.sweeps.registry import Point
from simulator.hardware.gpu import gpu
from simulator.timing.profile import profile
from simulator.tracing import trace_call

CURVE = "resample_scatter_cubic"
CALLS = ("varied_picture_backward", "blind_picture_backward", "resized_table_backward")
"""The calls of the curve; no recorded network has any."""


def calls(files: Iterable[str]) -> Iterator[Swept]:
    """The gradients of bicubic interpolations in these files."""
    card = gpu("h200")
    for file in files:
        for row in read(MEASUREMENTS / card.id / f"{file}.jsonl.gz").samples.values():
            point = Point(**row["point"])
            texts = [text for text in point.params.values() if isinstance(text, str)]
            bicubic = any("cubic" in text for text in texts)
            if point.operation in CALLS and bicubic and row.get("kernels"):
                yield lowered(point, trace_call(point.make), row, card)


@pytest.mark.slow
def test_a_curve_predicts_the_same_times_again() -> None:
    """Processors round differently, so figures that no sample depends on may differ."""
    importlib.import_module("calibration.blind")
    first, further = (by_curve(samples(calls(files))) for files in (FILES, FURTHER))
    fit_samples = thinned(CURVE, first.get(CURVE, []), further.get(CURVE, []))
    assert len(fit_samples) == 57
    fitted = fit_curve(CURVE, fit_samples, gpu("h200"), profile())
    refitted, packaged = (errors(fit_samples, gpu("h200"), each) for each in (fitted, profile()))
    assert refitted == pytest.approx(packaged, abs=1e-3)
