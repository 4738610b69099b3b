"""The figures fitted to one card, against hand-computed ones, and those of the packaged card."""

from __future__ import annotations

import msgspec
import pytest

from calibration.fit.card import kernel_s, longer_gap_s
from calibration.record.read import Recording
from calibration.record.samples import Sample
from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.timing.profile import profile
from simulator.timing.roofline import roofs

H100 = gpu("h100")


def _recording(name: str, graph_us: float) -> Recording:
    """A recording of a CUDA graph of ten kernels that take 90 µs."""
    graph = {"period": {"median_s": graph_us * 1e-6}, "gpu_busy_s": 90e-6, "kernels": 10}
    return Recording({"name": name}, [], 1.0, 0.0, 0.0, 1.0, 10, 0, 0, graph)


def test_gaps_are_longer_by_what_both_gpus_recorded() -> None:
    here = [_recording("a", 95), _recording("b", 94), _recording("c", 99)]
    there = [_recording("a", 94), _recording("b", 93)]
    # a: (5 − 4) / 10 = 0.1 µs; b: (4 − 3) / 10 = 0.1 µs; c was recorded only here
    assert longer_gap_s(here, there) == pytest.approx(0.1e-6)


def test_short_kernels_take_longer_by_the_median() -> None:
    known = profile()
    works = [Work("fill", write_bytes=4 * n, dims={"elements": n}) for n in (1, 2, 3)]
    compute, held, fixed = roofs(works, H100, known).parts(1.0, 0.0)  # pyright: ignore
    times = [max(c, h) + f for c, h, f in zip(compute, held, fixed, strict=True)]
    figures = [
        Sample(work, 1.0, s + more * 1e-9)
        for work, s, more in zip(works, times, (100, 150, 900), strict=True)
    ]
    assert kernel_s(figures, H100, known) == pytest.approx(150e-9, rel=0.01)


def test_the_packaged_card_is_the_h200_with_its_own_figures() -> None:
    h100, h200 = profile("h100"), profile("h200")
    assert (h100.gpu, h100.card, h100.of) == ("h200_sxm", "h100_sxm", "h100_sxm")
    own = {"id", "source", "card", "kernel_s", "graph_gap_s", "interval"}
    for field in msgspec.structs.fields(h200):
        same = getattr(h100, field.name) == getattr(h200, field.name)
        assert same == (field.name not in own), field.name
    assert 0 < h100.kernel_s < 0.3e-6
