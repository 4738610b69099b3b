from __future__ import annotations

import numpy as np
import pytest

from calibration.fit.curve import fit_curve
from calibration.fit.gpu import base
from calibration.fit.residual import fit_residual
from calibration.outcome import Outcome, summarised, summary, table
from calibration.record.samples import Sample, match, merged
from calibration.validate.batch_sweeps import Sweep, crossing, growth
from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.timing.roofline import roofs

H200 = gpu("h200")


def _copy(size: int) -> Work:
    return Work("trial", read_bytes=size, write_bytes=size, dims={"elements": size})


def _total(works, profile, hot=0.0):
    compute, held, fixed = roofs(works, H200, profile).parts(np.full(len(works), hot), 0.0)
    return np.maximum(compute, held) + fixed


def test_a_fit_recovers_a_known_curve() -> None:
    """A made-up card with 4 TB/s and a fixed time of 3 µs, measured with 2% noise."""
    rng = np.random.default_rng(1)
    sizes = [int(2**e) for e in rng.uniform(12, 29, 80)]
    seconds = [(2 * s / 4e12 + 3e-6) * float(np.exp(rng.normal(0, 0.02))) for s in sizes]
    fit_samples = [Sample(_copy(s), 0.0, t) for s, t in zip(sizes, seconds, strict=True)]
    fitted = fit_curve("trial", fit_samples, H200, base(1e-6, 1e-7, 4e-6))
    emitted = [2**14, 3 * 2**20, 2**27]
    expected = [2 * s / 4e12 + 3e-6 for s in emitted]
    assert _total([_copy(s) for s in emitted], fitted) == pytest.approx(expected, rel=0.05)


def test_a_residual_learns_a_step_that_the_physics_lacks() -> None:
    works = [Work("trial", read_bytes=2**e, dims={"odd": e % 2 == 1}) for e in range(8, 28)] * 2
    logs = [0.3 if w.dims["odd"] else -0.3 for w in works]
    residual = fit_residual(works, [0.0] * 40, logs, 132)
    assert residual is not None
    odd, even = residual.of(
        [Work("trial", read_bytes=3000, dims={"odd": o}) for o in (1 == 1, False)], 132
    )[:, 0]
    assert odd == pytest.approx(0.3, abs=0.05) and even == pytest.approx(-0.3, abs=0.05)


def test_too_few_samples_leave_no_residual() -> None:
    assert fit_residual([_copy(8)] * 7, [0.0] * 7, [0.1] * 7, 132) is None


def test_merged_takes_the_median() -> None:
    samples = merged(
        [Sample(_copy(8), 0.0, s) for s in (1.0, 5.0, 2.0)] + [Sample(_copy(8), 1.0, 9)]
    )
    assert [(s.hot, s.seconds) for s in samples] == [(0.0, 2.0), (1.0, 9.0)]


GEMM = Work("gemm", 8, 8, 8, dims={"b": 1, "m": 1, "n": 1, "k": 1})
SUM = Work("reduction", 1, 4, 1)
SMALL, LARGE = (Work("layout", 0, b, b, dims={"back": False}) for b in (10, 1000))


def test_match_in_order() -> None:
    assert match([GEMM, SUM], [("a", 5.0), ("b", 1.0)]) == [(GEMM, 5.0), (SUM, 1.0)]


def test_match_by_kind_whatever_the_order() -> None:
    kernels = [("cudnn::nchwToNhwcKernel<x>", 9.0), ("sm90_xmma", 5.0), ("nchwToNhwcKernel", 2.0)]
    matched = match([SMALL, LARGE, GEMM], kernels)
    assert sorted((w.bytes, s) for w, s in matched) == [(16, 5.0), (20, 2.0), (2000, 9.0)]


def test_a_surplus_kernel_belongs_to_the_product() -> None:
    # the lowering predicts one kernel, but the library split the product: it takes 5 + 2
    assert match([GEMM], [("nvjet", 5.0), ("splitKreduce", 2.0)]) == [(GEMM, 7.0)]


def test_with_a_kernel_missing_only_the_product_is_matched() -> None:
    assert match([GEMM, SUM], [("nvjet", 5.0)]) == [(GEMM, 5.0)]


def test_nothing_is_matched_by_guess() -> None:
    assert match([SUM, SUM], [("x", 1.0)]) == []


def test_growth_and_crossing_by_hand() -> None:
    # the time grows by ×1, then ×2: the slope passes 1/2 at batch 2, between √2 and 2√2
    assert growth([1.0, 1.0, 2.0]) == [0.0, 1.0]
    assert crossing([1, 2, 4], [1.0, 1.0, 2.0]) == pytest.approx(2.0)
    assert crossing([1, 2, 4], [1.0, 2.0, 4.0]) is None  # never overhead-bound


def test_agreement_is_of_regimes_not_of_times() -> None:
    sweep = Sweep("s", (1, 2, 4), (1.0, 1.0, 2.0), (5.0, 5.1, 5.2))
    assert sweep.agreement == [True, False]
    assert sweep.crossings == (pytest.approx(2.0), None)


def test_an_error_within_the_spread_is_none() -> None:
    outcomes = [Outcome("a", "g", "f", 1.04, spread=0.05), Outcome("b", "g", "f", 0.8, spread=0.05)]
    assert [o.error for o in outcomes] == [0.0, pytest.approx(0.2)]


def test_summary_and_table_by_hand() -> None:
    outcomes = [Outcome(str(r), "g", "period", r, covered=r < 1.1) for r in (0.9, 1.0, 1.2)]
    (row,) = summary(outcomes)
    # errors 0, 0.1 and 0.2: the median is 0.1, the 90th percentile 0.1 + 0.8·0.1
    assert (row.cases, row.median, row.p90) == (3, pytest.approx(0.1), pytest.approx(0.18))
    assert row.covered == pytest.approx(2 / 3)
    assert table([row]).splitlines() == [
        "| what | figure | cases | median error | p90 | bias | in the 80% interval |",
        "|---|---|---|---|---|---|---|",
        "| g | period | 3 | 10.0% | 18.0% | +0.0% | 67% |",
    ]
    assert summarised("x", "y", outcomes).group == "x"


def test_kernels_of_aten_come_in_order_whatever_their_names() -> None:
    clear = Work("fill", 0, 0, 8)
    matched = match([clear, SUM], [("DeviceScanInitKernel", 1.0), ("reduce_kernel", 5.0)])
    assert matched == [(clear, 1.0), (SUM, 5.0)]
