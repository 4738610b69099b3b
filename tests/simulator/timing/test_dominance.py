"""Cards compared over the whole catalogue: a card that is at least as good in every figure is never
slower, and bf16 is never slower than fp32."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
import pytest

from simulator.costs import Work
from simulator.hardware.gpu import GPU, PACKAGED, gpu
from simulator.scenario.scenario import Scenario, predict
from simulator.timing.profile import profile
from simulator.timing.rates import (
    dram_reach,
    l2_bytes_per_s,
    l2_kept_bytes,
    loading_clocks_per_s,
    peak_flops_per_s,
    roof_flops_per_s,
    units_of,
)
from simulator.timing.software import uncalibrated
from simulator.timing.transfer import issue

SINGLE = Work("gemm", 2, 0, 0, "vector", "float32")
CARDS = [gpu(path) for path in sorted(PACKAGED.glob("*.toml"))]
BERT = {"layers": 2}
CASES = {
    "resnet, fp32": Scenario("resnet50", batch=16, dtype="fp32", sizes={"depths": (1, 1, 1, 1)}),
    "resnet, fp16": Scenario("resnet50", batch=32, dtype="fp16", sizes={"depths": (1, 1, 1, 1)}),
    "bert, fp32": Scenario("bert-base", batch=16, seq=256, dtype="fp32", sizes=BERT),
    "bert, fp16": Scenario("bert-base", batch=16, seq=256, dtype="fp16", sizes=BERT),
    "bert, bf16": Scenario("bert-base", batch=16, seq=256, dtype="bf16", sizes=BERT),
    "one token, bf16": Scenario("gpt2", batch=1, seq=1, dtype="bf16", sizes={"layers": 2}),
}
OTHER_ATTENTION = {(one, other) for one in ("b300_sxm", "gb300") for other in ("b200_sxm", "gb200")}
"""PyTorch prefers cuDNN's attention on compute capability 9.0 and 10.0, but not on 10.3."""


@cache
def busy_s(case: str) -> dict[str, float]:
    """GPU-busy seconds of a step on each card."""
    return {c.id: predict(replace(CASES[case], gpu=c.id)).gpu_busy_s for c in CARDS}


def figures(card: GPU) -> tuple[float, ...]:
    """All figures of a card that make its kernels faster if they are larger."""
    known = profile()
    lanes = peak_flops_per_s(card, "vector", "float32")
    vector, tensor = card.sustained_vector or 1.0, card.sustained_tensor or 1.0
    half, brain = (Work("gemm", 2, 0, 0, "tensor", dtype) for dtype in ("float16", "bfloat16"))
    return (
        card.bandwidth_bytes_per_s * dram_reach(card, known),
        l2_kept_bytes(card, known),
        l2_bytes_per_s(card, known),
        units_of(card) * (card.boost_hz or 0.0),
        card.boost_hz or 0.0,
        loading_clocks_per_s(card),
        lanes * vector,
        lanes * issue(card, known),
        roof_flops_per_s(card, half) * tensor,
        roof_flops_per_s(card, brain) * tensor,
        roof_flops_per_s(card, SINGLE) * vector,
        *(card.compute_capability or (0, 0))[:1],
    )


def better(one: GPU, other: GPU) -> bool:
    """Whether a card is worse in no figure than another card with the same software."""
    alike = one.vendor == other.vendor
    return alike and all(a >= b for a, b in zip(figures(one), figures(other), strict=True))


BETTER = [(one.id, other.id) for one, other in permutations(CARDS, 2) if better(one, other)]


def test_there_are_many_pairs() -> None:
    assert len(BETTER) > 600
    assert ("h100_sxm", "a100_sxm_80") in BETTER and ("mi325x", "mi300x") in BETTER


@pytest.mark.parametrize("case", CASES)
def test_a_card_that_is_better_in_every_figure_is_never_slower(case: str) -> None:
    took = busy_s(case)
    slower = {pair for pair in BETTER if took[pair[0]] > took[pair[1]] * 1.001}
    assert slower <= OTHER_ATTENTION


_CLOCK = "its clock is lower, so kernels that wait for latencies take longer"
_DRAM = "reaches less of its bandwidth"
_ATTENTION = "PyTorch does not try cuDNN's attention first on compute capability 10.3"
_MEASURED = (
    "measured FP32 products of the H200 are faster than its roofline; the other card has only the "
    "roofline"
)
EXPLAINED = {
    ("a100_pcie_40", "a100_sxm_40"): "a power limit of 250 W instead of 400 W",
    ("b200_sxm", "gh200"): _MEASURED,
    ("b200_sxm", "h200_sxm"): _MEASURED,
    ("b300_sxm", "b200_sxm"): _ATTENTION,
    ("b300_sxm", "gh200"): _MEASURED,
    ("b300_sxm", "h200_sxm"): _MEASURED,
    ("gb300", "b200_sxm"): _ATTENTION,
    ("gb300", "gb200"): _CLOCK,
    ("gaudi3", "tpu_v5p"): "the software of neither card is calibrated",
    ("h100_pcie", "a100_pcie_80"): _DRAM,
    ("jetson_agx_orin", "a16"): _DRAM,
    ("l4", "rtx4060ti_16"): "a power limit of 72 W instead of 165 W",
    ("l4", "rtx4060ti_8"): "a power limit of 72 W instead of 160 W",
    ("mi100", "v100_sxm2_16"): _CLOCK,
    ("mi100", "v100_sxm2_32"): _CLOCK,
    ("p40", "apple_m4_pro"): _CLOCK,
    ("t4", "apple_m4_pro"): "at its limit of 70 W it reaches half of its vector peak",
    ("v100_pcie_16", "rtx2080ti"): _CLOCK,
    ("v100_pcie_32", "rtx2080ti"): _CLOCK,
}
"""Cards that are better in every figure of the data sheet, and slower by more than 1%."""


def data_sheet(card: GPU) -> tuple[float, ...]:
    """Bandwidth, L2 and dense peaks; 0 for missing figures."""
    tensor = (card.peak("tensor", dtype) for dtype in ("fp16", "bf16", "tf32", "fp32"))
    peaks = (card.peak("vector", "fp32"), *tensor)
    return card.bandwidth_bytes_per_s, card.l2_bytes or 0, *(peak or 0.0 for peak in peaks)


def test_a_card_that_is_better_on_its_data_sheet_is_slower_for_a_stated_reason() -> None:
    pairs = [
        (one.id, other.id)
        for one, other in permutations(CARDS, 2)
        if all(a >= b for a, b in zip(data_sheet(one), data_sheet(other), strict=True))
    ]
    slower = {
        (one, other)
        for one, other in pairs
        if any(busy_s(case)[one] > busy_s(case)[other] * 1.01 for case in CASES)
    }
    assert len(pairs) > 1200 and slower == set(EXPLAINED)


@pytest.mark.parametrize("pair", [pair for pair, why in EXPLAINED.items() if why is _CLOCK])
def test_a_card_with_a_lower_clock(pair: tuple[str, str]) -> None:
    one, other = (gpu(name).boost_hz or 0.0 for name in pair)
    assert one < other


@pytest.mark.parametrize("pair", [pair for pair, why in EXPLAINED.items() if why is _DRAM])
def test_a_card_that_reaches_less_of_its_bandwidth(pair: tuple[str, str]) -> None:
    one, other = (
        gpu(name).bandwidth_bytes_per_s * dram_reach(gpu(name), profile()) for name in pair
    )
    assert one < other


@pytest.mark.parametrize(
    ("one", "other", "case", "why"),
    [
        ("a10", "rtx4070", "bert, fp32", "sustained_vector"),  # 150 W for 31.2 TFLOP/s
        ("l4", "rtx4060ti_16", "bert, fp32", "sustained_vector"),  # 72 W for 30.3 TFLOP/s
        ("a100_pcie_40", "a100_sxm_40", "bert, bf16", "sustained_tensor"),  # 250 W instead of 400 W
    ],
)
def test_a_card_that_is_better_on_paper_alone_is_held_by_its_power(
    one: str, other: str, case: str, why: str
) -> None:
    took = busy_s(case)
    assert took[one] > took[other]
    assert (getattr(gpu(one), why) or 1.0) < (getattr(gpu(other), why) or 1.0)
    assert (gpu(one).tdp_w or 0.0) < (gpu(other).tdp_w or 0.0)


@pytest.mark.parametrize("card", CARDS, ids=lambda c: c.id)
def test_bf16_is_no_slower_than_fp32_where_there_are_matrix_units_for_it(card: GPU) -> None:
    if card.peak("tensor", "bf16"):
        assert busy_s("bert, bf16")[card.id] < busy_s("bert, fp32")[card.id]


def test_no_card_reaches_more_than_its_peak() -> None:
    brain = Work("gemm", 2, 0, 0, "tensor", "bfloat16")
    for case, product in (("bert, fp32", SINGLE), ("bert, bf16", brain)):
        prediction = predict(CASES[case])
        flops = sum(
            w.flops * n
            for w, n in zip(
                prediction.works,
                np.bincount(prediction.columns.work_of, minlength=len(prediction.works)),
                strict=True,
            )
            if w.family == "gemm"
        )
        for card in CARDS:
            assert flops / busy_s(case)[card.id] <= roof_flops_per_s(card, product), card.id


def test_an_accelerator_does_not_idle_at_a_few_percent_of_its_peak() -> None:
    # Gaudi 3: 1677 TFLOP/s of bf16; its 8 matrix engines are not multiprocessors
    took = busy_s("bert, bf16")
    assert took["gaudi3"] < 2 * took["h100_sxm"]
    assert busy_s("resnet, fp16")["gaudi3"] < 3 * busy_s("resnet, fp16")["h100_sxm"]


def test_the_software_of_the_others_is_not_calibrated() -> None:
    vendors = {card.vendor: uncalibrated(card) for card in CARDS}
    assert {vendor for vendor, other in vendors.items() if other is None} == {"NVIDIA"}
