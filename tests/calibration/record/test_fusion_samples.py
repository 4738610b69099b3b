"""A fused softmax of masked scores and its chain, against hand-computed sums."""

from __future__ import annotations

import pytest

pytest.importorskip("triton", reason="Triton is made for Linux alone")

from calibration.fused import VARIANTS
from calibration.record.fusion_samples import external, fused, hiding, passes
from calibration.record.library_samples import lowered
from calibration.sweeps.registry import Point
from simulator.hardware.gpu import gpu
from simulator.tracing import trace_call

POINT = Point("softmax_unfused", {"heads": 4, "queries": 64, "keys": 64, "dtype": "bf16"})
ONE = 64 * 64 * 2  # bytes of a head's scores, and of the mask


def test_a_mask_beyond_the_reach_of_l2_is_read_for_each_head() -> None:
    trace = trace_call(POINT.make)
    traffic = VARIANTS["softmax"].traffic(**POINT.params)
    operands = external(trace)
    # the mask is read once for each head
    assert sorted(operands) == [
        (64 * 64, ONE, 4),
        (4 * 64 * 64, 4 * ONE, 1),
        (4 * 64 * 64, 4 * ONE, 1),
    ]
    # scores are read and written, and the mask is read; between two reads of a line of the mask,
    # 9/4 of `ONE` is moved
    assert fused(trace, traffic, operands, 3 * ONE).bytes == 9 * ONE
    assert fused(trace, traffic, operands, 2 * ONE).bytes == 12 * ONE


def test_a_mask_too_large_for_l1_comes_from_l2_for_each_head() -> None:
    trace = trace_call(Point("softmax_unfused", POINT.params | {"queries": 512, "keys": 512}).make)
    one = 512 * 512 * 2
    traffic = VARIANTS["softmax"].traffic(heads=4, queries=512, keys=512, dtype="bf16")
    work = fused(trace, traffic, external(trace), 9 * one)
    assert work.bytes == 9 * one  # 4 heads are read and written, the mask is read once
    # the mask is read again from L2 for each other head
    assert work.dims["again"] == pytest.approx(3 / 9)
    small = trace_call(POINT.make)
    mask = fused(small, VARIANTS["softmax"].traffic(**POINT.params), external(small), 9 * ONE)
    assert mask.dims["again"] == 0  # a row of 8 KiB stays in L1


def test_an_operand_within_a_row_is_passed_where_the_row_is() -> None:
    # angles of 64 positions for 4 sequences: each head of a position reads them while they are in
    # L1
    assert passes((64, 1, 128), (4, 64, 8, 128)) == 4
    assert passes((128,), (64, 128)) == 64
    assert passes((64, 128), (64, 128)) == 1


def test_half_of_causal_scores_are_hidden() -> None:
    zeros = VARIANTS["softmax"].zeros
    # 64 queries mask 63, 62 … 0 keys in each head; a single query masks none
    assert zeros(**POINT.params) == 4 * sum(range(64))
    assert zeros(heads=32, queries=1, keys=2048, dtype="bf16") == 0
    assert VARIANTS["swiglu"].zeros(rows=8, hidden=1024, dtype="bf16") == 0


def test_what_is_hidden_slows_the_chains_softmax_alone() -> None:
    trace, rows = trace_call(POINT.make), [(name, 1e-6, 1e-6) for name in ("mul", "add", "softmax")]
    plain = lowered(POINT, trace, {"kernels": rows}, gpu("h200"))
    more = [
        after.instructions - before.instructions
        for (after, _, _), (before, _, _) in zip(
            hiding(plain, 100).launches, plain.launches, strict=True
        )
    ]
    assert more == [0, 0, 30 * 100]
