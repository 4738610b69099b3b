"""The loop nests of ops that contain reductions, checked by counting elements and bytes: each nest
first computes its statistics, then loops over its elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from simulator import trace
from simulator.fusion.lowering.lowering import Lowering
from simulator.fusion.lowering.reductions import _near_divisor
from simulator.fusion.node import Node
from simulator.hardware.gpu import gpu
from tests.simulator.conftest import Calls

H200 = gpu("h200")


def nests(function: Callable[..., Any], *args: Tensor) -> list[Node]:
    return Lowering(trace(Calls(function), args), H200).run()


def outline(nodes: list[Node]) -> list[tuple[str, int, int, bool, int, int]]:
    """For each nest: kind, number of results, elements of a result, adjacency, bytes read and
    written."""
    return [
        (n.kind, n.rows, n.cols, n.inner, sum(n.reads.values()), sum(n.writes.values()))
        for n in nodes
    ]


X = torch.zeros(64, 96)  # 6,144 elements, 24,576 bytes
ALL, ROW, COLUMN = 24_576, 64 * 4, 96 * 4
IMAGES = torch.zeros(4, 6, 8, 8)  # 1,536 elements, 6,144 bytes; 6 channels of 256 elements


def test_a_layer_norm_has_moments_of_rows_and_a_loop() -> None:
    weight = torch.zeros(96)
    sums, loop = nests(lambda _, x, w: F.layer_norm(x, (96,), w, w), X, weight)
    assert outline([sums]) == [("reduction", 64, 96, True, ALL, 2 * ROW)]
    # the loop reads x, the weight, the bias (the same tensor) and both statistics
    assert outline([loop]) == [("pointwise", 6144, 1, True, ALL + COLUMN + 2 * ROW, ALL)]
    # all arithmetic of the op is in one of the two
    assert sums.flops > 0 and loop.flops == 0
    assert sums.instructions >= 6144 and loop.instructions > 0


def test_a_group_norm_has_moments_of_groups() -> None:
    """4 samples in 3 groups of 2 channels: 12 rows of 128."""
    sums, loop = nests(lambda _, x: F.group_norm(x, 3), IMAGES)
    assert outline([sums]) == [("reduction", 12, 128, True, 6144, 2 * 48)]
    assert (loop.rows, loop.cols) == (1536, 1)


@pytest.mark.parametrize(("dim", "rows", "cols", "inner"), [
    (-1, 64, 96, True), (1, 64, 96, True), (0, 96, 64, False),
])  # fmt: skip
def test_a_softmax_has_a_maximum_and_a_sum_of_each_row(
    dim: int, rows: int, cols: int, inner: bool
) -> None:
    sums, loop = nests(lambda _, x: x.softmax(dim), X)
    assert outline([sums]) == [("reduction", rows, cols, inner, ALL, 2 * 4 * rows)]
    assert outline([loop]) == [("pointwise", 6144, 1, True, ALL + 2 * 4 * rows, ALL)]
    assert sums.flops == loop.flops > 0
    assert sums.instructions == loop.instructions > 0


def test_the_gradient_of_a_softmax_has_one_sum() -> None:
    def function(_: Calls, g: Tensor, y: Tensor) -> Tensor:
        return torch.ops.aten._softmax_backward_data(g, y, -1, torch.float32)

    sums, loop = nests(function, X, X.clone())
    assert outline([sums]) == [("reduction", 64, 96, True, 2 * ALL, ROW)]
    assert outline([loop]) == [("pointwise", 6144, 1, True, 2 * ALL + ROW, ALL)]


@pytest.mark.parametrize(("function", "rows", "cols", "inner"), [
    (lambda _, x: x.amax(1), 64, 96, True), (lambda _, x: x.amax(0), 96, 64, False),
    (lambda _, x: x.amax(-2), 96, 64, False), (lambda _, x: x.sum(), 1, 6144, True),
    (lambda _, x: x.sum([0, 1]), 1, 6144, True), (lambda _, x: x.amax([0, -1]), 1, 6144, True),
    (lambda _, x: x.argmax(1), 64, 96, True),
])  # fmt: skip
def test_a_reduction_is_one_nest(
    function: Callable[..., Tensor], rows: int, cols: int, inner: bool
) -> None:
    (node,) = nests(function, X)
    itemsize = 8 if node.writes and sum(node.writes.values()) == 8 * rows else 4
    assert outline([node]) == [("reduction", rows, cols, inner, ALL, itemsize * rows)]


def test_rows_of_a_transposed_matrix_are_reduced_along_memory() -> None:
    """x.T is [96, 64]; its first dimension is adjacent in memory, its last one is not."""
    last = nests(lambda _, x: x.T.amax(1), X)
    first = nests(lambda _, x: x.T.amax(0), X)
    assert [(n.rows, n.cols, n.inner) for n in last] == [(96, 64, False)]
    assert [(n.rows, n.cols, n.inner) for n in first] == [(64, 96, True)]


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_running_sums_are_a_nest_that_writes_all_elements(dim: int) -> None:
    (node,) = nests(lambda _, x: x.cumsum(dim), X)
    cols = 64 if dim == 0 else 96
    assert outline([node]) == [("reduction", 6144 // cols, cols, True, ALL, ALL)]


def test_batch_norms_of_inference_are_one_loop_and_of_training_two_nests() -> None:
    stats = torch.zeros(6)

    def norm(training: bool) -> Callable[..., Tensor]:
        return lambda _, x, m, v: F.batch_norm(x, m, v, training=training)

    (loop,) = nests(norm(False), IMAGES, stats, stats.clone())
    assert outline([loop]) == [("pointwise", 1536, 1, True, 6144 + 2 * 24, 6144)]
    moments, *rest = nests(norm(True), IMAGES, stats, stats.clone())
    # 6 channels of 4·8·8 elements, whose rows of pixels are adjacent
    assert (moments.kind, moments.rows, moments.cols, moments.inner) == ("reduction", 6, 256, True)
    assert sum(moments.reads.values()) == 6144
    whole = [n for n in rest if n.rows == 1536]
    assert len(whole) == 1 and whole[0].kind == "pointwise"


def test_batch_norms_of_vectors_sum_across_rows() -> None:
    stats = torch.zeros(96)
    moments, *_ = nests(
        lambda _, x, m, v: F.batch_norm(x, m, v, training=True), X, stats, stats.clone()
    )
    assert (moments.rows, moments.cols, moments.inner) == (96, 64, False)


def test_moments_that_are_split_carry_three_numbers() -> None:
    """1,024 rows of 64 channels: parts of 4 · 32 rows, so 8 of them; then the mean and the variance
    of each channel from 8 triples of 4 bytes."""
    stats = torch.zeros(64)
    first, last, *_ = nests(
        lambda _, x, m, v: F.batch_norm(x, m, v, training=True),
        torch.zeros(1024, 64), stats, stats.clone(),
    )  # fmt: skip
    assert outline([first]) == [("reduction", 512, 128, False, 1024 * 64 * 4, 3 * 512 * 4)]
    assert outline([last]) == [("reduction", 64, 8, True, 3 * 512 * 4, 2 * 64 * 4)]


def test_a_loss_reads_the_looked_up_elements_alone() -> None:
    """64 rows, in each of which one sector of 32 bytes is read: 2,048 of 24,576 bytes; and the 64
    labels of 8 bytes."""
    labels = torch.zeros(64, dtype=torch.int64)
    node, *_ = nests(lambda _, x, t: F.nll_loss(x, t), X, labels)
    assert (node.kind, node.rows, node.cols, node.inner) == ("reduction", 1, 64, True)
    assert sum(node.reads.values()) == 2048 + 512


def test_a_split_sum_has_parts_and_their_sum() -> None:
    """2²⁰ elements are split into 128 parts of 32 · 256 = 8,192, which are summed in float32."""
    first, last = nests(lambda _, x: x.sum(), torch.zeros(1 << 20))
    assert outline([first, last]) == [
        ("reduction", 128, 8192, True, 4 << 20, 512),
        ("reduction", 1, 128, True, 512, 4),
    ]
    assert first.partial and not last.partial
    # each part takes a load, an addition and a store
    assert (last.flops, last.instructions) == (0, 3 * 128)


def test_split_moments_carry_three_numbers() -> None:
    """One row of 2²⁰ elements: 128 parts of 8,192, each with a mean, a sum of squares and a
    count."""
    row = torch.zeros(1, 1 << 20)
    first, last, loop = nests(lambda _, x: F.layer_norm(x, (1 << 20,)), row)
    assert outline([first]) == [("reduction", 128, 8192, True, 4 << 20, 3 * 512)]
    assert (last.rows, last.cols, sum(last.reads.values())) == (1, 128, 3 * 512)
    assert sum(last.writes.values()) == 2 * 4
    assert first.partial and not last.partial
    assert (last.flops, last.instructions) == (0, 3 * 128)
    assert loop.rows == 1 << 20


@pytest.mark.parametrize(("cols", "target", "distance", "divisor"), [
    (96, 48, 5, 48), (96, 47, 5, 48), (96, 49, 5, 48), (96, 60, 5, 60), (97, 50, 5, 50),
    (96, 31, 5, 32), (40, 3, 9, 32), (1009, 500, 50, 500),
    # the nearer of two split sizes, the smaller before the larger; 64 and 96 are 20 and 12 away
    # from 84
    (192, 80, 17, 64), (192, 84, 13, 96), (192, 84, 12, 84),
    (64, 2, 9, 32),
])  # fmt: skip
def test_a_divisor_near_a_target(cols: int, target: int, distance: int, divisor: int) -> None:
    assert _near_divisor(cols, target, distance) == divisor
