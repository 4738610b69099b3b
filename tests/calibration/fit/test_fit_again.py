"""The packaged profile agrees with its measurements: fitting some of its curves again gives the
same."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator

import pytest

from calibration.fit.again import by_curve, located, thinned
from calibration.fit.curve import fit_curve
from calibration.fit.gpu import errors
from calibration.measure.log import read
from calibration.record.library_samples import FILES, FURTHER, Swept, lowered, samples
from calibration.record.read import MEASUREMENTS
from calibration.record.samples import Sample
from calibration.sweeps.registry import Point
from simulator.costs import Work
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


def test_large_groups_that_repeated_calls_evict_are_left_out_of_the_fit() -> None:
    card = gpu("h200")
    assert card.l2_bytes is not None
    small, large = (Work("norm", read_bytes=int(share * card.l2_bytes)) for share in (0.2, 0.4))
    measured = [Sample(work, hot, 1e-4) for work in (small, large) for hot in (0.0, 0.5, 0.8, 1.0)]
    assert [(s.work, s.hot) for s in located("group_moments", measured, card)] == [
        *((small, hot) for hot in (0.0, 0.5, 0.8, 1.0)),
        *((large, hot) for hot in (0.0, 0.5)),
    ]
    assert located("norm_fused", measured, card) == measured
