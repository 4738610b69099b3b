"""Windows that are gathered, summed and averaged in a compiled step. The order and the kinds of the
launches are those of the real Inductor of torch 2.13 for the same module (`predict --mode compiled
--exact`), which pads images before it gathers, and whose loss has fewer launches."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import trace
from simulator.fusion import fused
from simulator.hardware.gpu import gpu
from simulator.records import Op

PLANE = 4 * 8 * 32 * 32 * 4


class Step(nn.Module):
    """A function of the result of a convolution."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.conv, self.function = nn.Conv2d(3, 8, 1), function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.conv(x)) * 2


def launches(function: Callable[[Tensor], Tensor], phase: str) -> list[Op]:
    step = trace(
        Step(function), (torch.zeros(4, 3, 32, 32),), gpu="h200", phase="training", optimizer=None
    )
    return [op for op in fused(step, gpu("h200")).trace.ops if op.phase == phase]


def columns(y: Tensor) -> Tensor:
    return F.unfold(y, 3, padding=1)


def rows(y: Tensor) -> Tensor:
    return y.unfold(2, 4, 2)


def folded(y: Tensor) -> Tensor:
    return F.fold(F.unfold(y, 4, stride=2), (32, 32), 4, stride=2)


@pytest.mark.parametrize("function", [columns, rows])
def test_windows_are_read_in_a_loop(function: Callable[[Tensor], Tensor]) -> None:
    conv, windows, *_ = launches(function, "forward")
    assert conv.name == "aten.convolution.default"
    assert windows.name == "fused.pointwise.default"
    assert windows.signature.read_bytes == PLANE + 8 * 4  # the bias too


@pytest.mark.parametrize("function", [columns, rows])
def test_a_gradient_is_zeros_and_sums_by_index(function: Callable[[Tensor], Tensor]) -> None:
    ops = launches(function, "backward")
    zeros = next(i for i, op in enumerate(ops) if op.signature.write_bytes == PLANE)
    assert ops[zeros].signature.read_bytes == 0
    assert ops[zeros].name == ops[zeros + 1].name == "fused.pointwise.default"
    assert ops[zeros + 1].signature.read_bytes > ops[zeros + 1].signature.write_bytes >= PLANE
    assert ops[zeros + 2].name == "fused.reduction.default"  # the gradient of the bias


def test_windows_that_are_summed_have_no_kernel_of_their_own() -> None:
    _, zeros, sums, *_ = launches(folded, "forward")
    assert (zeros.signature.read_bytes, zeros.signature.write_bytes) == (0, PLANE)
    assert sums.name == "fused.pointwise.default"


@pytest.mark.parametrize(
    "side, kinds",
    [
        (4, ["fused.pointwise", "fused.reduction", "fused.reduction"]),  # 8 × 8, then the loss
        (5, ["fused.pointwise", "aten._adaptive_avg_pool2d"]),  # up to 8 × 8, of two sizes
        (12, ["fused.pointwise", "fused.reduction"]),  # 4 × 4; the loss computes them
        (16, ["fused.pointwise", "fused.reduction"]),  # 2 × 2
    ],
)
def test_averages_depend_on_the_largest_window(side: int, kinds: list[str]) -> None:
    ops = launches(lambda y: F.adaptive_avg_pool2d(y, side), "forward")
    assert [op.name.rpartition(".")[0] for op in ops[1 : 1 + len(kinds)]] == kinds
    back = [op.name for op in launches(lambda y: F.adaptive_avg_pool2d(y, side), "backward")]
    assert "aten._adaptive_avg_pool2d_backward.default" in back


class Parts(nn.Module):
    """Writes a matrix into a part of a flat tensor."""

    def forward(self, x: Tensor) -> Tensor:
        flat = x.new_zeros(64)
        flat.as_strided((4, 8), (16, 1)).copy_(x * 2)
        return flat.exp()


def test_a_part_with_more_dimensions_than_its_tensor_is_written() -> None:
    step = trace(Parts(), (torch.zeros(4, 8),), gpu="h200")
    assert {op.name for op in fused(step, gpu("h200")).trace.ops} == {"fused.pointwise.default"}
