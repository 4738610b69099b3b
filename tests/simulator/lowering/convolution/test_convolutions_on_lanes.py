"""Convolutions that cuDNN runs on vector lanes, against calls recorded on an H200."""

from __future__ import annotations

from typing import Any

import pytest

from calibration.record.library_samples import launched
from calibration.sweeps import Point
from simulator.hardware.gpu import gpu
from simulator.tracing import trace_call

H200 = gpu("h200")
SHARED = {"last": False, "bias": False}


def volume(dtype: str, image: list[int], outputs: int, taps: list[int]) -> dict[str, Any]:
    half = [tap // 2 for tap in taps]
    one = {"stride": [1, 1, 1], "padding": half, "dilation": [1, 1, 1], "groups": 1}
    return SHARED | one | {"dtype": dtype, "image": image, "weight": [outputs, image[1], *taps]}


def grouped(dtype: str, image: list[int], weight: list[int], groups: int) -> dict[str, Any]:
    half = [weight[2] // 2] * 2
    one = {"stride": [1, 1], "padding": half, "dilation": [1, 1], "groups": groups}
    return SHARED | one | {"dtype": dtype, "image": image, "weight": weight}


def variants(operation: str, params: dict[str, Any]) -> list[str]:
    works = [work for work, _, _ in launched(trace_call(Point(operation, params).make), H200)]
    return [work.dims.get("variant", "") for work in works if work.family == "conv"]


@pytest.mark.parametrize(
    ("params", "on_lanes"),
    [
        (volume("bf16", [1, 256, 4, 8, 8], 16, [1, 7, 7]), True),
        (volume("fp16", [4, 256, 8, 14, 14], 64, [1, 7, 7]), True),
        (volume("fp32", [4, 32, 4, 16, 16], 256, [1, 7, 7]), False),
        (volume("bf16", [16, 256, 8, 28, 28], 16, [3, 3, 3]), False),
    ],
)
def test_half_precision_has_no_tensor_core_kernel_for_many_taps_of_volumes(
    params: dict[str, Any], on_lanes: bool
) -> None:
    assert (variants("layer_convolution", params) == ["fwd_direct_long"]) is on_lanes


@pytest.mark.parametrize(
    ("params", "direct"),
    [
        (volume("bf16", [8, 128, 16, 8, 8], 16, [1, 3, 3]), True),
        (volume("fp16", [8, 32, 32, 56, 56], 64, [1, 3, 3]), True),
        (volume("bf16", [4, 256, 8, 32, 32], 32, [2, 2, 2]), True),
        # more outputs, more work, other kernels, single precision
        (volume("fp16", [8, 32, 32, 56, 56], 128, [1, 3, 3]), False),
        (volume("bf16", [8, 64, 16, 56, 56], 64, [1, 3, 3]), False),
        (volume("fp16", [8, 128, 16, 28, 28], 64, [2, 2, 2]), False),
        (volume("bf16", [8, 128, 16, 8, 8], 16, [3, 1, 1]), False),
        (volume("bf16", [8, 128, 16, 8, 8], 16, [3, 3, 3]), False),
        (volume("fp32", [8, 128, 16, 8, 8], 16, [1, 3, 3]), False),
    ],
)
def test_a_direct_kernel_computes_gradients_of_small_volume_layers(
    params: dict[str, Any], direct: bool
) -> None:
    gradients = variants("layer_convolution_backward", params)
    assert ("depthwise_grouped_dgrad" in gradients) is direct


@pytest.mark.parametrize(
    ("dtype", "image", "weight", "stride", "expected"),
    [
        ("fp16", [32, 128, 2048], [128, 64, 16], 8, "dgrad_direct"),
        ("bf16", [8, 128, 64, 64], [128, 64, 5, 5], 4, "dgrad_direct"),
        ("fp16", [32, 128, 2048], [128, 128, 16], 8, ""),  # more outputs
        ("fp16", [32, 128, 2048], [128, 64, 4], 4, ""),  # short kernels
        ("fp16", [1, 128, 2048], [128, 64, 16], 8, ""),  # few elements
        ("fp32", [1, 384, 16, 16, 16], [384, 192, 8, 8, 8], 4, "dgrad_direct"),
        ("fp32", [1, 384, 16, 16, 16], [384, 192, 4, 4, 4], 2, ""),
    ],
)
def test_wide_strides_of_transposed_layers_run_on_lanes(
    dtype: str, image: list[int], weight: list[int], stride: int, expected: str
) -> None:
    sides = len(image) - 2
    padding = [(weight[2] - stride) // 2] * sides
    params = SHARED | {"dtype": dtype, "image": image, "weight": weight, "groups": 1}
    layer = params | {"stride": [stride] * sides, "padding": padding}
    assert variants("layer_transposed", layer) == [expected]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        (grouped("fp16", [8, 16, 32, 32], [16, 2, 3, 3], 8), ["depthwise_grouped_fwd"]),
        (grouped("fp16", [8, 16, 32, 32], [16, 2, 5, 5], 8), ["depthwise_grouped_fwd"]),
        (grouped("fp16", [8, 16, 32, 32], [16, 2, 1, 1], 8), ["fwd_direct"] * 8),
        (grouped("fp16", [2, 12, 8, 8], [12, 3, 4, 4], 4), ["fwd_direct"] * 4),
        (grouped("fp16", [8, 16, 32, 32], [128, 2, 3, 3], 8), ["fwd_direct"] * 8),
        (grouped("fp32", [4, 64, 16, 16], [64, 8, 1, 1], 8), ["fwd_direct"] * 8),
        (grouped("fp32", [4, 256, 16, 16], [256, 4, 1, 1], 64), ["depthwise_grouped_fwd"]),
        (grouped("fp32", [2, 32, 14, 14], [32, 4, 3, 3], 8), ["depthwise_grouped_fwd"]),
        (grouped("fp32", [3, 32, 14, 14], [32, 4, 3, 3], 8), ["fwd_joined"]),
    ],
)
def test_forward_passes_of_thin_groups(params: dict[str, Any], expected: list[str]) -> None:
    assert variants("layer_convolution", params) == expected


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        # wide groups over many positions: one old kernel for each weight's gradient
        (grouped("bf16", [16, 4096, 14, 14], [4096, 256, 3, 3], 16), ["wgrad_direct"] * 16),
        (grouped("bf16", [16, 512, 14, 14], [512, 64, 3, 3], 8), ["wgrad_joined"]),
        # small gradients
        (grouped("fp32", [1, 32, 14, 14], [32, 4, 3, 3], 8), ["depthwise_grouped_wgrad"]),
        (grouped("fp16", [1, 32, 14, 14], [32, 4, 3, 3], 8), ["depthwise_grouped_wgrad"]),
        # in single precision few groups are separate, and many thin ones run together
        (grouped("fp32", [8, 128, 56, 56], [128, 32, 3, 3], 4), [""] * 4),
        (grouped("fp32", [8, 256, 56, 56], [256, 32, 3, 3], 8), ["wgrad_joined"]),
    ],
)
def test_gradients_of_the_weights_of_groups(params: dict[str, Any], expected: list[str]) -> None:
    own = variants("layer_convolution_backward", params)
    assert own[-len(expected) :] == expected
