"""Channels-last convolutions as `decide_layout_opt` of torch/_inductor/graph.py chooses them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from simulator.fusion.lowering.library.layouts import (
    _grouped,
    _multiplier,
    _small,
    _widens,
    channels_last,
    needs_copy,
    to_channels_last,
)
from simulator.records import Signature, Tensor, Trace
from simulator.tracing import trace
from tests.simulator.costs.conftest import sig, tensor


def call(out: int, into: int, groups: int = 1, side: int = 3) -> Signature:
    x, w = ((1, into * groups, 8, 8), "float32"), ((out, into, side, side), "float32")
    args = {"groups": groups, "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1],
            "transposed": False}  # fmt: skip
    return sig(
        "aten.convolution.default", ((1, out, 8, 8), "float32"), None, args, input=x, weight=w
    )


@pytest.mark.parametrize(
    ("op", "grouped", "widens", "small", "times"),
    [
        (call(128, 128), False, False, False, 0.823),
        (call(128, 2, 64), True, False, False, 1.358),
        (call(128, 1, 128), False, False, False, 0.823),  # depthwise does not count as grouped
        (call(64, 64), False, False, True, 0.783),
        (call(65, 64), False, False, False, 0.823),
        (call(64, 65), False, False, False, 0.823),
        (call(64, 128), False, True, False, 0.725),  # half as many channels out as in
        (call(65, 128), False, False, False, 0.823),
        (call(64, 128, side=1), False, False, False, 0.823),
        (call(32, 64), False, True, True, 0.783),
    ],
)
def test_kinds_of_convolutions(
    op: Signature, grouped: bool, widens: bool, small: bool, times: float
) -> None:
    assert (_grouped(op), _widens(op), _small(op)) == (grouped, widens, small)
    assert _multiplier(op) == times


def step(*layers: nn.Module, phase: Any = "training") -> Trace:
    with torch.device("meta"):
        first = next(layer for layer in layers if isinstance(layer, nn.Conv2d))
        x = torch.empty(2, first.in_channels, 16, 16)
    return trace(nn.Sequential(*layers).to("meta"), (x,), phase=phase, optimizer=None)


def conv(into: int, out: int, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(into, out, 3, padding=1, groups=groups, device="meta")


@pytest.mark.parametrize(
    ("layers", "chosen"),
    [
        ([conv(128, 128)], True),
        # one grouped or narrowing convolution, or only small ones, suffice to keep the layout
        ([conv(128, 128), conv(128, 128, 64)], False),
        ([conv(128, 128), conv(128, 128, 128)], True),
        ([conv(128, 128), conv(128, 64)], False),
        ([conv(64, 64)], False),
        ([conv(64, 64), conv(64, 128)], True),
    ],
)
def test_layouts_of_training(layers: list[nn.Module], chosen: bool) -> None:
    assert channels_last(step(*layers)) is chosen


@pytest.mark.parametrize(
    ("layers", "chosen"),
    [
        ([conv(64, 64)], True),  # channels last takes 0.783 of the time
        ([conv(128, 128, 64)], False),  # 1.358
        # for the same pixels, 1.358 · 2·2·9 and 0.823 · 128·128·9
        ([conv(128, 128, 64), conv(128, 128)], True),
    ],
)
def test_layouts_of_inference_are_weighted_by_flops(layers: list[nn.Module], chosen: bool) -> None:
    assert channels_last(step(*layers, phase="inference")) is chosen


def test_graphs_with_300_nodes_for_each_convolution_keep_their_layout() -> None:
    # x, weight and bias, the convolution, and one node for each ReLU
    relu = [nn.ReLU()]
    assert channels_last(step(conv(128, 128), *relu * 295, phase="inference"))
    assert not channels_last(step(conv(128, 128), *relu * 296, phase="inference"))
    assert channels_last(step(conv(128, 128), conv(128, 128), *relu * 296, phase="inference"))
    assert not channels_last(trace(nn.Linear(4, 4), (torch.ones(2, 4),)))


def test_tensors_in_channels_last_layout() -> None:
    image = tensor(((2, 3, 5, 7), "float32"))
    assert to_channels_last(image).stride == (105, 1, 21, 3)
    assert needs_copy(image) and not needs_copy(to_channels_last(image))
    matrix = tensor(((3, 5), "float32"))
    assert to_channels_last(matrix) == matrix and not needs_copy(matrix)
    # strides of dimensions of size 1 do not matter
    assert not needs_copy(Tensor((2, 3, 1, 1), "float32", (3, 1, 1, 1)))
    assert not needs_copy(Tensor((2, 1, 5, 7), "float32", (35, 35, 7, 1)))
    assert needs_copy(Tensor((2, 3, 1, 7), "float32", (21, 7, 7, 1)))
