"""The works of many curves at once against those of one curve at a time."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from simulator.costs import Work
from simulator.costs.curves import curve
from simulator.hardware.gpu import gpu
from simulator.scenario.scenario import Scenario, predict
from simulator.timing import roofline
from simulator.timing.kernel_models import roofline_terms
from simulator.timing.profile import profile
from simulator.timing.roofline import CurveRoofs, Roofs, roofs
from simulator.timing.work_columns import group

H200 = gpu("h200")
SUMS = [Work("pointwise", n, 8 * n, 4 * n, instructions=9 * n) for n in (1000, 50_000)]
COPIES = [Work("copy", 0, n, n, instructions=n) for n in (4096, 1 << 22)]
PRODUCT = Work(
    "gemm",
    flops=2 * 512**3,
    read_bytes=4 * 512**2,
    write_bytes=2 * 512**2,
    engine="tensor",
    dtype="bfloat16",
    dims={"b": 1, "m": 512, "n": 512, "k": 512},
)
EMPTY = Work("gemm", dims={"b": 1, "m": 0, "n": 512, "k": 512}, engine="tensor", dtype="bfloat16")
NORM = Work("norm_fused", 100, 8 << 20, 8 << 20, dims={"rows": 4096, "cols": 512, "itemsize": 4})
CONCAT = Work("concat", 0, 1 << 22, 1 << 22, dims={"row_lines_bytes": 1 << 27, "turned": 1 << 18})
CURVES = {
    "pointwise": SUMS,
    "norm_fused": [NORM],
    "gemm_tensor_half": [PRODUCT, EMPTY],
    "concat": [CONCAT],
    "pointwise_copy": COPIES,
}


@pytest.mark.parametrize("card", ["h200", "a100", "mi300x"])
def test_curves_together_have_the_terms_of_each_curve(card: str) -> None:
    works = [work for each in CURVES.values() for work in each]
    names = [name for name, each in CURVES.items() for _ in each]
    together = roofline_terms(group(works, names), gpu(card), profile())
    begin = 0
    for name, each in CURVES.items():
        alone = roofline_terms(group(each, [name] * len(each)), gpu(card), profile())
        for whole, part in zip(together, alone, strict=True):
            assert whole[begin : begin + len(each)].tolist() == part.tolist(), name
        begin += len(each)


def test_curves_that_reread_are_slower_than_their_traffic() -> None:
    # 2^27 bytes of lines fill L2 (50 MB), so that 2^18 elements read 64 bytes of DRAM each
    names = ["pointwise", "concat"]
    plain, turned = (
        roofline_terms(group([SUMS[0], work], names), H200, profile()).cold_s
        for work in (Work("concat", 0, 1 << 22, 1 << 22), CONCAT)
    )
    assert turned[0] == plain[0]
    assert turned[1] - plain[1] == pytest.approx((64 << 18) / H200.bandwidth_bytes_per_s)


def test_known_curves_are_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first, changed = [*SUMS, *COPIES], [COPIES[0], *SUMS, PRODUCT]
    known: dict[str, CurveRoofs] = {}
    roofs(first, H200, profile(), known)
    computed: list[str] = []
    whole = roofline.roofs_of

    def watched(ruled: list[roofline.Ruled], *rest: Any) -> Roofs:
        computed.extend(rule.curve for rule in ruled)
        return whole(ruled, *rest)

    monkeypatch.setattr(roofline, "roofs_of", watched)
    again = roofs(changed, H200, profile(), known)
    # the sums are the same works; of the copies only one is left, and the product is new
    assert computed == [curve(COPIES[0]), curve(PRODUCT)]
    monkeypatch.undo()
    fresh = roofs(changed, H200, profile())
    for field in fields(Roofs):
        expected = getattr(fresh, field.name)
        assert getattr(again, field.name) == pytest.approx(expected, rel=1e-12), field.name
    nothing = roofs([], H200, profile(), known)
    assert nothing.compute_s.size == 0


def test_the_order_of_works_does_not_change_their_roofs() -> None:
    works = predict(Scenario("bert-base", batch=2, seq=64)).works
    order = np.random.default_rng(0).permutation(len(works))
    straight, shuffled = (
        roofs([works[i] for i in each], H200, profile()) for each in (range(len(works)), order)
    )
    for field in fields(Roofs):
        expected = getattr(straight, field.name)[order]
        assert getattr(shuffled, field.name) == pytest.approx(expected, rel=1e-12), field.name
