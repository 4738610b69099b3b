"""Products of one row under max-autotune: Inductor writes them as sums, into which a conversion of
weights in 8 bits fuses. Under the default mode the converted weights are written out."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from simulator import predict
from simulator.prediction import Kernel

INPUTS, OUTPUTS = 4096, 14336
WEIGHTS = INPUTS * OUTPUTS  # one byte each
AUTO = "max-autotune-no-cudagraphs"


class Int8Linear(nn.Module):
    """Weight-only int8 as in pytorch-labs/gpt-fast (BSD-3)."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.empty(OUTPUTS, INPUTS, dtype=torch.int8))
        self.register_buffer("scales", torch.empty(OUTPUTS, dtype=torch.bfloat16))

    def forward(self, x: Tensor) -> Tensor:
        """[rows, inputs] -> [rows, outputs]."""
        weight, scales = self.get_buffer("weight"), self.get_buffer("scales")
        return nn.functional.linear(x, weight.to(dtype=x.dtype)) * scales


def kernels(mode: str, rows: int = 1, gpu: str = "h200") -> list[Kernel]:
    with torch.device("meta"):
        network, x = Int8Linear(), torch.empty(rows, INPUTS, dtype=torch.bfloat16)
    return predict(network, (x,), gpu=gpu, mode=mode).kernels


def test_one_kernel_reads_the_weights_once_in_8_bits() -> None:
    (only,) = kernels(AUTO)
    assert only.name == "fused.reduction.default"
    # reads the weights, an input and scales of 2 bytes; writes outputs of 2 bytes
    assert only.read_bytes == WEIGHTS + 2 * INPUTS + 2 * OUTPUTS
    assert only.write_bytes == 2 * OUTPUTS


def test_the_default_mode_writes_the_converted_weights_out() -> None:
    cast, product, _ = kernels("compiled")
    assert (cast.read_bytes, cast.write_bytes) == (WEIGHTS, 2 * WEIGHTS)
    assert product.read_bytes == 2 * WEIGHTS + 2 * INPUTS
    assert [k.name for k in kernels(AUTO, rows=8)] != ["fused.reduction.default"]


@pytest.mark.parametrize("gpu", ["h200", "a100", "rtx4090"])
def test_fused_takes_less_than_half(gpu: str) -> None:
    fused, apart = (sum(k.duration_s for k in kernels(m, 1, gpu)) for m in (AUTO, "compiled"))
    assert fused < apart / 2


class Rows(nn.Module):
    """Products of one row: with a row-major matrix, a column-major matrix, and a batch."""

    def forward(self, x: Tensor, a: Tensor, b: Tensor, many: Tensor) -> tuple[Tensor, ...]:
        """x [1, 64], a [64, 32], b [32, 64], many [4, 64, 32]."""
        return x @ a, x @ b.t(), torch.bmm(x.expand(4, 1, 64), many)


def test_products_of_one_row_read_each_operand_once() -> None:
    with torch.device("meta"):
        tensors = [torch.empty(s) for s in ((1, 64), (64, 32), (32, 64), (4, 64, 32))]
    launched = predict(Rows(), tuple(tensors), gpu="h200", mode=AUTO).kernels
    assert all(k.name == "fused.reduction.default" for k in launched)
    # 3 products, perhaps fused because all read x: each matrix is read once, 4 bytes per element
    read = sum(k.read_bytes for k in launched)
    assert 4 * (2 * 64 * 32 + 4 * 64 * 32 + 64) <= read <= 4 * (2048 * 6 + 3 * 64)
    assert sum(k.write_bytes for k in launched) == 4 * (32 + 32 + 4 * 32)
