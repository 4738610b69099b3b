"""Sums along and across the same rows share a kernel if L2 does not hold the rows; and the number
of results from which a reduction is not split."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from simulator.fusion import fused
from simulator.fusion.lowering.reductions import mixed, mixed_parts, parts
from simulator.hardware.gpu import gpu
from simulator.records import Op
from simulator.tracing import trace

H200 = gpu("h200")


class Normed(nn.Module):
    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.a = nn.Linear(16, 768, bias=False, dtype=dtype)
        self.norm = nn.LayerNorm(768, dtype=dtype)
        self.b = nn.Linear(768, 16, bias=False, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.norm(self.a(x))).mean()


def backward_of_the_norm(rows: int, dtype: torch.dtype) -> list[Op]:
    step = trace(
        Normed(dtype), (torch.zeros(rows, 16, dtype=dtype),), phase="training", optimizer=None
    )
    return [
        op for op in fused(step, H200).trace.ops if op.phase == "backward" and op.module == "norm"
    ]


@pytest.mark.parametrize(
    ("rows", "cols", "holds"),
    [
        (8192, 768, True),
        (4096, 1280, True),  # 4096 · 1280 = 5 · 2²⁰ elements
        (4096, 1279, False),
        (4095, 2047, False),
        (8192, 4096, True),
        (8192, 4097, False),  # fewer than two rows per element
        (65536, 16385, False),
    ],
)
def test_which_sums_share_a_kernel(rows: int, cols: int, holds: bool) -> None:
    assert mixed(rows, cols) == holds


@pytest.mark.parametrize(("rows", "left"), [(8192, 512), (33792, 1056), (400_000, 3125)])
def test_parts_that_such_a_kernel_leaves(rows: int, left: int) -> None:
    # 16 rows per part; 33792 / (8 · 132) = 32; at most 128
    assert mixed_parts(rows, H200) == left


def test_many_rows_are_summed_both_ways_at_once() -> None:
    first, *rest = backward_of_the_norm(8192, torch.bfloat16)
    assert first.name == "fused.reduction.default"
    half, statistic, weight = 8192 * 768 * 2, 8192 * 4, 768 * 2
    assert sorted(t.nbytes for t in first.inputs) == [
        weight,
        weight,
        statistic,
        statistic,
        half,
        half,
    ]
    parted = 512 * 768 * 4
    assert sorted(t.nbytes for t in first.outputs) == [parted, parted, half]
    assert [op.name for op in rest] == ["aten.sum.dim_IntList", "fused.pointwise.default"] * 2
    assert [t.nbytes for t in rest[0].inputs] == [parted]
    assert [t.nbytes for t in rest[1].outputs] == [weight]


def test_in_full_precision_the_sums_are_the_gradients() -> None:
    names = [op.name for op in backward_of_the_norm(8192, torch.float32)]
    assert names == ["fused.reduction.default", "aten.sum.dim_IntList", "aten.sum.dim_IntList"]


def test_few_rows_are_summed_apart() -> None:
    names = [op.name for op in backward_of_the_norm(4096, torch.bfloat16)]
    # the sum along rows; partial sums across rows; the total of each of two weights
    assert names == ["fused.reduction.default"] * 4


def test_none_of_many_results_is_split() -> None:
    assert parts(64 * 132 - 1, 512, False, H200) == 4  # 512 / (4 · 32)
    assert parts(64 * 132, 512, False, H200) == 1
    assert parts(100, 32, False, H200) == 1


@pytest.mark.parametrize("width", [64, 2, 1])
def test_a_softmax_is_one_kernel_with_a_sum_for_each_row(width: int) -> None:
    class Weighed(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.softmax(x * 2, -1)

    step = trace(Weighed(), (torch.zeros(512, width),))
    (kernel,) = fused(step, H200).trace.ops
    assert (kernel.signature.args["rows"], kernel.outputs[0].nbytes) == (512, 512 * width * 4)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32])
def test_a_sum_goes_across_memory_if_half_of_its_reads_do_of_one_byte_too(
    dtype: torch.dtype,
) -> None:
    class Turned(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return (y + x.t()).sum(-1)

    args = torch.zeros(4096, 512, dtype=dtype), torch.zeros(512, 4096)
    kernels = fused(trace(Turned(), args), H200).trace.ops
    # 512 sums of 4096 across rows are cut into 32 parts of 128; sums along rows would not be
    assert [op.signature.args["cols"] for op in kernels] == [128, 32]
