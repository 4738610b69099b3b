"""Strides as a GPU recorded them, of single ops and of the steps in which they appear."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.tracing import trace
from simulator.tracing.layouts.strides import Layout, iterated, preserved
from tests.simulator.conftest import Calls


@pytest.mark.parametrize(
    ("op", "operands", "recorded"),
    [
        # an image of batch 1 in channels last whose batch has the stride of its columns: no operand
        # is in channels last for sure, and the row-major residual decides for the order of its own
        ("div", [((1, 512, 64, 64), (512, 1, 32768, 512)), ((), ())], (512, 1, 32768, 512)),
        (
            "add",
            [
                ((1, 512, 64, 64), (512, 1, 32768, 512)),
                ((1, 512, 64, 64), (2097152, 4096, 64, 1)),
            ],
            (512, 1, 32768, 512),
        ),
        # both row-major and in channels last: row-major
        ("pow", [((32, 1, 192), (192, 1, 1))], (192, 192, 1)),
        ("relu", [((32, 8, 1, 1), (8, 1, 8, 8))], (8, 1, 1, 1)),
        ("sigmoid", [((64, 1, 56, 56), (3136, 1, 56, 1))], (3136, 3136, 56, 1)),
        # gaps
        ("neg", [((8, 32, 1, 32), (2048, 64, 2048, 1))], (1024, 32, 1024, 1)),
        (
            "mul",
            [
                ((8, 16, 128, 8, 1, 1), (16384, 128, 1, 2048, 1, 1)),
                ((8, 16, 128, 8, 64, 1), (1048576, 65536, 512, 64, 1, 512)),
            ],
            (1048576, 8192, 64, 131072, 1, 64),
        ),
    ],
)
def test_recorded_strides(op: str, operands: list[Layout], recorded: tuple[int, ...]) -> None:
    assert iterated(operands) == recorded


def test_gradients_that_cuda_lays_out_row_by_row() -> None:
    def gradients(_: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
        leaf = x.detach().requires_grad_()
        with torch.enable_grad():
            normed = F.layer_norm(leaf, [256], torch.ones(256, device=x.device))
            dropped = F.dropout(leaf.mT, 0.5, True).mT
        # gradients in another order of dimensions
        turned = torch.empty_strided((16, 800, 256), (204800, 1, 800), device=x.device)
        return tuple(torch.autograd.grad(y, leaf, turned)[0] for y in (normed, dropped))

    traced = trace(Calls(gradients), (torch.empty(16, 800, 256, device="meta"),))
    strides = {op.name: op.outputs[0].stride for op in traced.ops}
    assert strides["aten.native_layer_norm_backward.default"] == (204800, 256, 1)
    # as recorded: [16, 256, 800], whose gradient has the strides (204800, 800, 1)
    assert strides["aten.native_dropout_backward.default"] == (204800, 800, 1)


def test_the_gradient_of_a_batch_norm_has_the_layout_of_its_input() -> None:
    def gradient(_: nn.Module, x: Tensor) -> Tensor:
        leaf = x.detach().requires_grad_()
        with torch.enable_grad():
            y = F.batch_norm(leaf, None, None, training=True)
        turned = torch.empty_like(x, memory_format=torch.channels_last)
        return torch.autograd.grad(y, leaf, turned)[0]

    # as recorded: a gradient in channels last of a row-major image [8, 128, 14, 14]
    x = torch.empty(8, 128, 14, 14, dtype=torch.bfloat16, device="meta")
    op = trace(Calls(gradient), (x,)).ops[-1]
    assert op.name == "aten.native_batch_norm_backward.default"
    assert op.outputs[0].stride == (25088, 196, 14, 1)


def test_new_tensors_have_the_strides_of_another() -> None:
    x = torch.empty_strided((1, 4, 4, 2), (8, 8, 2, 1), device="meta")
    wide = torch.empty_strided((3, 1, 2), (2, 24, 12), device="meta")  # with gaps
    traced = trace(
        Calls(lambda _, *xs: [f(x) for x in xs for f in (torch.empty_like, torch.zeros_like)]),
        (x, wide),
    )
    strides = [op.outputs[0].stride for op in traced.ops]
    assert strides == [(8, 8, 2, 1)] * 2 + [(1, 6, 3)] * 2
    for layout in (((1, 4, 4, 2), (8, 8, 2, 1)), ((3, 1, 2), (2, 24, 12))):
        like = torch.empty_like(torch.empty_strided(*layout))
        assert preserved(layout) == like.stride()


class _Block(nn.Module):
    """Attention over the pixels of an image, as in the decoder of an autoencoder, and its
    upsampling."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.convolution = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        pixels = self.inner(x.flatten(2).mT)
        mixed = (pixels.mT.reshape(batch, channels, height, width) + x) / 1.0
        return self.convolution(F.interpolate(mixed, scale_factor=2.0))


@pytest.mark.parametrize(
    ("batch", "divided", "convolved"),
    [
        # as recorded from Stable Diffusion's decoder: row-major after the upsampling
        (1, (8, 1, 32, 8), (512, 64, 8, 1)),
        (2, (128, 1, 32, 8), (512, 1, 64, 8)),
    ],
)
def test_the_memory_format_after_attention_over_one_image(
    batch: int, divided: tuple[int, ...], convolved: tuple[int, ...]
) -> None:
    traced = trace(_Block(), (torch.empty(batch, 8, 4, 4, device="meta"),))
    strides = {op.name: op.outputs[0].stride for op in traced.ops}
    assert strides["aten.div.Tensor"] == divided
    assert strides["aten.convolution.default"] == convolved


def test_a_weight_in_channels_last_decides_for_its_convolution() -> None:
    # recorded: [64, 2, 56, 56] row-major with a weight [1, 2, 7, 7] of strides (98, 1, 14, 2)
    network = nn.Conv2d(2, 1, 7, padding=3, bias=False).to(memory_format=torch.channels_last)
    x = torch.empty(64, 2, 56, 56, device="meta")
    assert trace(network, (x,)).ops[-1].outputs[0].stride == (3136, 1, 56, 1)
    # cuDNN has no channels last in double precision
    double = trace(network.double(), (x.double(),)).ops[-1].outputs[0]
    assert double.stride == (3136, 3136, 56, 1)
