"""The fused attention of an encoder's fast path, by what it needs."""

from __future__ import annotations

import pytest

from simulator.costs.attention.fast_path import is_fused


@pytest.mark.parametrize(("stride", "width", "masked", "weights", "fused"), [
    # heads of a multiple of 8 numbers, one after another, without a mask and without weights
    (1, 8, False, False, True), (1, 64, False, False, True), (1, 9, False, False, False),
    (1, 4, False, False, False), (1, 60, False, False, False), (2, 64, False, False, False),
    (0, 64, False, False, False), (1, 64, True, False, False), (1, 64, False, True, False),
    (1, 64, True, True, False),
])  # fmt: skip
def test_attention_is_one_kernel(
    stride: int, width: int, masked: bool, weights: bool, fused: bool
) -> None:
    assert is_fused(stride, width, masked, weights) is fused
