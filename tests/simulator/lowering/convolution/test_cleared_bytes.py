"""Bytes that are cleared before a convolution: a counter of 4 bytes, or the numbers to which
partial results are added.

Targets have 2 · 128 · 14 · 14 = 50,176 numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from simulator.costs import Work
from simulator.lowering.convolution import _on_tensor_cores
from simulator.lowering.convolution_nhwc import main_kernel
from simulator.lowering.convolution_pointwise import pointwise_convolution
from tests.simulator.lowering.convolution.convolution_calls import one_way

NUMBERS = 50_176


def cleared(works: Iterable[Work]) -> list[int]:
    return [work.write_bytes for work in works if work.family == "fill"]


@pytest.mark.parametrize(("given", "nbytes"), [
    # tiles are distributed by a counter, or parts of a long depth are added by one
    (dict(blocks=400), [4]), (dict(blocks=40), []), (dict(depth=4001, blocks=4), [4]),
    # strides leave gaps in a gradient: its numbers of 2 or 4 bytes are cleared from 1e8
    # multiply-adds on, exclusively
    (dict(direction="dgrad", stride=(2, 2), adds=1e8 + 1), [2 * NUMBERS]),
    (dict(direction="dgrad", stride=(2, 2), adds=1e8 + 1, dtype="tf32"), [4 * NUMBERS]),
    (dict(direction="dgrad", stride=(2, 2), adds=1e8), []),
    (dict(direction="dgrad", stride=(1, 1), adds=1e9), []),
    (dict(direction="fwd", stride=(2, 2), adds=1e9), []),
])  # fmt: skip
def test_a_product_clears_a_counter_or_gaps(given: dict[str, Any], nbytes: list[int]) -> None:
    dtype = given.get("dtype", "float16")
    product = one_way(**given)
    assert product.target.itemsize == (4 if dtype == "tf32" else 2)
    assert cleared(main_kernel(product)) == nbytes


@pytest.mark.parametrize("given", [
    dict(dtype="tf32", n=1, depth=301, columns=301, blocks=400),
    dict(dtype="tf32", direction="wgrad", cin=32, depth=20_001, blocks=4.0),
])  # fmt: skip
def test_products_of_1x1_convolutions_clear_a_counter(given: dict[str, Any]) -> None:
    unit: dict[str, Any] = dict(kernel=(1, 1), spatial_out=(8, 8))
    assert cleared(pointwise_convolution(one_way(**(unit | given)))) == [4]


@pytest.mark.parametrize(("given", "nbytes"), [
    # small gradients in TF32 add partial sums to zeros; that of a 1×1 convolution's input does not
    (dict(direction="wgrad", adds=1e7, depth=200), [4 * NUMBERS]),
    (dict(direction="dgrad", adds=1e7, rows=392), [4 * NUMBERS]),
    (dict(direction="dgrad", adds=1e7, kernel=(1, 1), stride=(2, 2)), []),
    # small forward products in TF32 are split if their depth exceeds 2,000
    (dict(adds=1e8, depth=2001), [4 * NUMBERS]), (dict(adds=1e8, depth=2000), []),
    # a few channels with an even kernel in half precision: 4 bytes for each element of a patch
    (dict(dtype="float16", cin=2, kernel=(4, 4), adds=1e8 + 1, depth=32), [4 * 32]),
    (dict(dtype="float16", cin=2, kernel=(4, 4), adds=1e8, depth=32), []),
    (dict(dtype="float16", cin=2, kernel=(3, 3), adds=1e8 + 1, depth=18), []),
])  # fmt: skip
def test_partial_sums_are_added_to_zeros(given: dict[str, Any], nbytes: list[int]) -> None:
    small: dict[str, Any] = dict(dtype="tf32", blocks=4.0)
    assert cleared(_on_tensor_cores(one_way(**(small | given)))) == nbytes
