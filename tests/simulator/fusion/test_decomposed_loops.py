"""Loop nests of ops with a reduction in them, with their rows, columns, bytes and arithmetic, by
hand.

A tensor has 4·6·64 = 24·64 = 1,536 elements, 6,144 bytes, unless a comment says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import trace
from simulator.fusion.lowering.lowering import Lowering
from simulator.hardware.gpu import gpu
from simulator.records import Trace
from tests.simulator.conftest import Calls

H200 = gpu("h200")
X = torch.zeros(4, 6, 64)
ALL = 6144
TARGETS = torch.zeros(40, dtype=torch.int64)


class Nest(NamedTuple):
    """The number of results, and of elements for each; whether these are adjacent; bytes read and
    written; FLOPs and instructions."""

    rows: int
    cols: int
    inner: bool
    reads: list[int]
    writes: list[int]
    flops: int
    slots: int


def nests(step: Trace, *names: str) -> list[Nest]:
    """The nests of a step that end with one of these ops (all nests if no name is given)."""
    return [
        Nest(n.rows, n.cols, n.inner, [*n.reads.values()], [*n.writes.values()], n.flops,
             n.instructions)
        for n in Lowering(step, H200).run()
        if n.kind != "library" and (not names or step.ops[n.ops[-1]].name.split(".")[1] in names)
    ]  # fmt: skip


def of(function: Callable[..., Any], *args: Tensor) -> list[Nest]:
    return nests(trace(Calls(lambda _, *args: function(*args)), args))


def test_a_norm_is_its_statistics_and_a_loop_that_applies_them() -> None:
    # 6 FLOPs and 9 instructions per element, 5 of which apply the statistics; 24·4 bytes per
    # statistic
    assert of(lambda x: F.layer_norm(x, (64,)), X) == [
        Nest(24, 64, True, [ALL], [96, 96], 6 * 1536, 4 * 1536),
        Nest(1536, 1, True, [ALL, 96, 96], [ALL], 0, 5 * 1536),
    ]
    # one statistic and 3 FLOPs; at least one instruction per element for the sum
    assert of(lambda x: F.rms_norm(x, (64,)), X) == [
        Nest(24, 64, True, [ALL], [96], 3 * 1536, 1536),
        Nest(1536, 1, True, [ALL, 96], [ALL], 0, 5 * 1536),
    ]
    # two groups of 3·64 elements for each of 4 samples
    assert of(lambda x: F.group_norm(x, 2), X) == [
        Nest(8, 192, True, [ALL], [32, 32], 8 * 1536, 1536),
        Nest(1536, 1, True, [ALL, 32, 32], [ALL], 0, 5 * 1536),
    ]


@pytest.mark.parametrize(("dim", "rows", "cols", "inner"), [
    (-1, 24, 64, True), (2, 24, 64, True),
    (0, 384, 4, True),  # up to 16 elements are a whole row of one thread
    (1, 256, 6, True),
])  # fmt: skip
def test_a_softmax_is_the_maximum_and_sum_of_each_row_and_a_loop(
    dim: int, rows: int, cols: int, inner: bool
) -> None:
    # 5 FLOPs and 20 instructions per element, half of them in each loop nest
    half = 5 * 1536 // 2, 20 * 1536 // 2
    assert of(lambda x: F.softmax(x, dim), X) == [
        Nest(rows, cols, inner, [ALL], [rows * 4, rows * 4], *half),
        Nest(1536, 1, True, [ALL, rows * 4, rows * 4], [ALL], *half),
    ]


def test_a_softmax_across_rows_reads_across_memory() -> None:
    (sums, loop) = of(lambda x: F.softmax(x, 0), torch.zeros(24, 64))
    assert sums[:5] == (64, 24, False, [ALL], [256, 256])
    assert loop[:5] == (1536, 1, True, [ALL, 256, 256], [ALL])


def test_the_row_of_a_single_number_has_one_element() -> None:
    (sums, loop) = of(lambda x: F.softmax(x, 0), torch.zeros(()))
    assert sums[:5] == (1, 1, True, [4], [4, 4]) and loop[:5] == (1, 1, True, [4, 4, 4], [4])


@pytest.mark.parametrize(("dim", "rows", "cols"), [(-1, 24, 64), (1, 256, 6), (0, 384, 4)])
def test_running_sums_are_one_nest_with_a_result_for_each_element(
    dim: int, rows: int, cols: int
) -> None:
    assert of(lambda x: torch.cumsum(x, dim), X) == [
        Nest(rows, cols, True, [ALL], [ALL], 1536, 1536)
    ]


def test_a_loss_reads_one_sector_of_each_row() -> None:
    # 40 rows of 64 classes, of which one sector of 32 bytes each is read; targets of 8 bytes; the
    # loss and the sum of weights
    assert of(F.nll_loss, torch.zeros(40, 64), TARGETS) == [
        Nest(1, 40, True, [40 * 32, 320], [4, 4], 80, 80)
    ]
    # a row of 4 classes is shorter than a sector
    assert of(F.nll_loss, torch.zeros(40, 4), TARGETS)[0].reads == [40 * 16, 320]
    # one element per row of the pending product is computed
    assert of(lambda x, y: F.nll_loss(x * 2, y), torch.zeros(40, 64), TARGETS) == [
        Nest(1, 40, True, [40 * 32, 320], [4, 4], 80 + 40, 80)
    ]


@pytest.mark.parametrize(("function", "rows", "cols", "inner"), [
    (lambda x: x.sum(), 1, 1536, True), (lambda x: x.sum(-1), 24, 64, True),
    (lambda x: x.amax((0, 2)), 6, 256, True),  # the last dimension is one of the reduced ones
    (lambda x: x.amax((1, 2)), 4, 384, True), (lambda x: x.sum((0, 1)), 64, 24, False),
    (lambda x: x.sum(0), 384, 4, True),
    # summed across rows, over 16 elements or fewer
    (lambda x: x.transpose(1, 2).sum(-1), 256, 6, True),
    (lambda x: x.view(24, 64).t().sum(-1), 64, 24, False),
    (lambda x: x.view(24, 64).t().sum(0), 24, 64, True),
    (lambda x: (x * 2).view(24, 64).t().sum(0), 24, 64, True),
])  # fmt: skip
def test_rows_and_columns_of_a_reduction(
    function: Callable[[Tensor], Tensor], rows: int, cols: int, inner: bool
) -> None:
    assert [(n.rows, n.cols, n.inner) for n in of(function, X)] == [(rows, cols, inner)]


def test_a_softmax_in_ops_takes_its_maximum_and_sum_in_one_pass_of_long_rows() -> None:
    def sums(width: int) -> list[Nest]:
        args = (torch.zeros(4, width),)
        return of(lambda x: (x - x.amax(-1, keepdim=True)).exp().sum(-1), *args)

    # 3 instructions per element for a maximum, and 21 more if the kernel loops along its rows
    assert [n.slots for n in sums(1000)] == [4 * 1000 * 3, 4 * 1000 * 2]
    assert [n.slots for n in sums(5000)] == [4 * 5000 * 24, 4 * 5000 * 2]
    (alone,) = of(lambda x: x.amax(-1), torch.zeros(4, 5000))
    assert alone.slots == 4 * 5000 * 3


class Weighted(nn.Module):
    """A layer after a product of its input with a parameter."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.scale, self.layer = nn.Parameter(torch.zeros(64)), layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x * self.scale)


def backward(layer: nn.Module, name: str, *shape: int) -> list[Nest]:
    """The nests of the backward op of a layer, whose gradient, 2·y / 1536, takes 3 FLOPs per
    element."""
    x = (torch.zeros(shape),)
    return nests(trace(Weighted(layer), x, phase="training", optimizer=None), name)


def test_the_backward_pass_of_a_layer_norm_sums_along_and_across_its_rows() -> None:
    along, loop, across = backward(nn.LayerNorm(64), "native_layer_norm_backward", 24, 64)
    # the operands of the gradient (a number and the result), x, two statistics, and the weight and
    # bias
    operands, statistics = [4, ALL, ALL], [96, 96]
    # the op's own 16 FLOPs per element in two halves, and 3 for the gradient in each nest
    assert along[:6] == (24, 64, True, [*operands, *statistics, 256, 256], [96, 96], 11 * 1536)
    assert loop[:6] == (1536, 1, True, [*operands, *statistics, 256, 256, 96, 96], [ALL], 3 * 1536)
    assert loop.slots == 0 and along.slots == across.slots
    assert across[:6] == (64, 24, False, [*operands, *statistics], [256, 256], 11 * 1536)


def test_without_weights_a_norm_sums_along_its_rows_alone() -> None:
    layer = nn.LayerNorm(64, elementwise_affine=False)
    (along,) = backward(layer, "native_layer_norm_backward", 24, 64)
    assert (along.rows, along.cols, along.writes) == (24, 64, [96, 96])


def test_the_backward_pass_of_a_softmax_sums_each_row_once() -> None:
    (sums,) = backward(nn.Softmax(-1), "_softmax_backward_data", 24, 64)
    # the op's own 4 FLOPs per element in two halves, the second of which a loop computes
    assert sums == Nest(24, 64, True, [4, ALL], [96], (3 + 2) * 1536, 2 * 1536)
    (across,) = backward(nn.Softmax(0), "_softmax_backward_data", 24, 64)
    assert across == Nest(64, 24, False, [4, ALL], [256], (3 + 2) * 1536, 2 * 1536)


@pytest.mark.parametrize("channels", [1, 6])
def test_a_batch_norm_in_training_is_the_moments_of_each_channel_and_a_loop(channels: int) -> None:
    class Normed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.BatchNorm1d(channels)
            self.scale = nn.Parameter(torch.zeros(4))

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x * self.scale)

    x = torch.zeros(8, channels, 4)
    step = trace(Normed(), (x,), phase="training", optimizer=None)
    moments, loop = nests(step, "cudnn_batch_norm")
    # 8 samples of 4 elements for each channel; mean and reciprocal deviation in 4 bytes each
    image, each = 8 * channels * 4 * 4, channels * 4
    assert (moments.rows, moments.cols, moments.writes) == (channels, 32, [each, each])
    assert loop[:5] == (8 * channels * 4, 1, True, [image, *[each] * 6], [image])
    sums, last = nests(step, "cudnn_batch_norm_backward")[:2]
    assert (sums.rows, sums.cols, sums.writes) == (channels, 32, [each, each])
    assert (last.rows, last.cols) == (8 * channels * 4, 1)
    # 8 FLOPs and 18 instructions per element for the moments; half of 11 and 14 in each nest of the
    # backward pass, and 3 FLOPs for the gradient
    elements = 8 * channels * 4
    assert (moments.flops, moments.slots) == (8 * elements, 18 * elements)
    for nest in (sums, last):
        assert (nest.flops, nest.slots) == ((5.5 + 3) * elements, 7 * elements)
