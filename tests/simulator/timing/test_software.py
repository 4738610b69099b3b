"""The notes on a card whose software was never calibrated."""

from __future__ import annotations

import pytest

from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.scenario.scenario import Scenario, predict
from simulator.timing.intervals import interval
from simulator.timing.profile import profile
from simulator.timing.rates import loading_clocks_per_s, roof_flops_per_s
from simulator.timing.software import tier, uncalibrated, widened
from simulator.timing.transfer import issue


def test_cuda_runs_on_nvidias_cards() -> None:
    assert uncalibrated(gpu("h200")) is None and uncalibrated(gpu("p4")) is None
    assert tier(gpu("h200"), profile()) == "interpolated"
    assert tier(gpu("a100"), profile()) == "transferred"
    assert widened((0.85, 1.15), gpu("a100"), profile()) == (0.85, 1.15)


@pytest.mark.parametrize(
    ("card", "runs", "trust"),
    [
        ("mi300x", "ROCm", "transferred"),
        ("tpu_v5e", "XLA", "datasheet"),
        ("gaudi3", "the SynapseAI compiler", "datasheet"),
        ("apple_m4", "Metal (MPS)", "datasheet"),
    ],
)
def test_others_run_their_own(card: str, runs: str, trust: str) -> None:
    other = uncalibrated(gpu(card))
    assert other is not None and other.runs == runs
    p = predict(Scenario("mlp-tiny", gpu=card, host="xeon-h200"))
    assert p.tiers == {trust: 1.0}
    low, high = other.interval
    assert p.interval_s[0] <= p.period_s * low and p.interval_s[1] >= p.period_s * high
    assert p.notes[0] == (
        f"{gpu(card).name} runs {runs}: {other.note}; predicted with the shares of peak that an "
        f"H200's kernels reach; the interval covers {low:g} to {high:g} times the period"
    )


def test_the_wider_of_two_intervals_holds() -> None:
    known = profile()
    assert widened((0.85, 1.15), gpu("mi300x"), known) == (0.8, 1.9)
    assert widened((0.5, 4.0), gpu("mi300x"), known) == (0.5, 4.0)
    low, high = interval(known, gpu("mi300x"), host(), "eager", 10e-3, 10e-3, 1e-3)
    assert (low, high) == pytest.approx((8e-3, 19e-3))


def test_matrix_cores_that_take_singles() -> None:
    single = Work("gemm", 2, 0, 0, "vector", "float32")
    # an MI100: 120 CUs · 256 · 1502 MHz on matrix cores, half of that on vector units
    assert roof_flops_per_s(gpu("mi100"), single) == pytest.approx(46.1e12, rel=0.01)
    added = Work("pointwise", 2, 0, 0, "vector", "float32")
    assert roof_flops_per_s(gpu("mi100"), added) == pytest.approx(23.1e12, rel=0.01)
    # a TPU multiplies fp32 numbers in six bf16 passes: 197 / 6 = 32.8
    assert roof_flops_per_s(gpu("tpu_v5e"), single) == pytest.approx(32.8e12)
    # dtypes without a stated peak, such as fp16, are at least as fast
    half = Work("gemm", 2, 0, 0, "tensor", "float16")
    assert roof_flops_per_s(gpu("tpu_v5e"), half) == pytest.approx(32.8e12)
    # no TF32 by default, since it rounds operands
    assert roof_flops_per_s(gpu("a100"), single) == 19.5e12


def test_a_compute_unit_issues_to_64_lanes() -> None:
    # MI300X: a CU does 256 FLOPs per clock, with multiply-adds on 64 lanes of packed pairs
    assert issue(gpu("mi300x"), profile()) == 0.5
    assert issue(gpu("mi250x"), profile()) == 1.0  # 128 FLOPs per clock and per CU
    assert loading_clocks_per_s(gpu("mi210")) == 104 * 1700e6 / 2
    assert loading_clocks_per_s(gpu("a100")) == 108 * 1410e6


def test_one_of_two_dies_is_a_separate_gpu() -> None:
    for card in ("mi250", "mi250x"):
        assert gpu(card).memory_bytes == 64 * 2**30
        assert gpu(card).bandwidth_bytes_per_s == 1638.4e9
    # one of four GPUs on the card: 10 SMs, a quarter of 250 W
    assert gpu("a16").memory_bytes == 16 * 2**30
    assert (gpu("a16").units, gpu("a16").tdp_w) == (10, 62.5)
