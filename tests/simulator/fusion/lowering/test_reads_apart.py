"""Conditions under which two loops share a kernel: parts of a buffer, its order, its padding."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from simulator import trace
from simulator.fusion import fused
from simulator.fusion.lowering.access import Part, read, region_of, strides_apart, value_of, walk
from simulator.fusion.lowering.library.strides import crosses, joins, padded
from simulator.fusion.offsets import offsets
from simulator.hardware.gpu import gpu
from simulator.records import Op, Trace, row_major
from simulator.records import Tensor as Shape

H200 = gpu("h200")


class Thirds(nn.Module):
    """Three thirds of a product's rows, each read by its own loop."""

    def __init__(self, same: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 192, dtype=torch.bfloat16)
        self.same = same

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        if self.same:
            second = self.linear(x)[:, 64:128]
            return torch.exp(second), torch.tanh(second)
        q, k, v = self.linear(x).chunk(3, dim=-1)
        return torch.exp(q), torch.tanh(k), torch.cos(v)


class Joined(nn.Module):
    def __init__(self, parts: int) -> None:
        super().__init__()
        self.parts = parts

    def forward(self, *parts: Tensor) -> Tensor:
        return torch.cat([torch.exp(part) for part in parts], dim=-1)


class Sums(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.exp(torch.cumsum(torch.cos(x), dim=-1))


class Image(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(64, 128, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.convolution(x)).sum()


class Looked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(1000, 64, dtype=torch.bfloat16)

    def forward(self, x: Tensor) -> Tensor:
        return self.table(x).float().sum()


class Indexed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(100, 8))

    def forward(self, x: Tensor) -> Tensor:
        return self.table[x].sum()


class Windows(nn.Module):
    """Windows of 7 by 7 patches as the operand of a product, as in Swin."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width, dtype=torch.bfloat16)

    def forward(self, x: Tensor) -> Tensor:
        batch, side, _, width = x.shape
        x = torch.exp(x).view(batch, side // 7, 7, side // 7, 7, width)
        return self.linear(x.transpose(2, 3).reshape(-1, width))


def ops(step: Trace) -> list[Op]:
    return fused(step, H200).trace.ops


def of(module: nn.Module, *inputs: Tensor) -> list[Op]:
    return ops(trace(module, inputs))


def test_thirds_of_a_buffer_are_read_by_a_loop_each() -> None:
    kernels = of(Thirds(False), torch.zeros(32, 64, dtype=torch.bfloat16))
    assert [op.name.split(".")[1] for op in kernels] == ["addmm", *["pointwise"] * 3]
    assert [op.signature.read_bytes for op in kernels[1:]] == [32 * 64 * 2] * 3


def test_the_same_third_is_read_once() -> None:
    kernels = of(Thirds(True), torch.zeros(32, 64, dtype=torch.bfloat16))
    assert [op.name.split(".")[1] for op in kernels] == ["addmm", "pointwise"]
    assert kernels[1].signature.read_bytes == 32 * 64 * 2
    assert kernels[1].signature.write_bytes == 2 * 32 * 64 * 2


def test_views_are_distinguished_by_their_offsets() -> None:
    step = trace(Thirds(False), (torch.zeros(32, 64, dtype=torch.bfloat16),))
    computes = [op.name.split(".")[1] in ("addmm", "exp", "tanh", "cos") for op in step.ops]
    table = dict(zip(step.names(), offsets(step, computes), strict=True))
    assert table["aten.exp.default"] == (0,)
    assert table["aten.tanh.default"] == (64,)
    assert table["aten.cos.default"] == (128,)


@pytest.mark.parametrize(("parts", "kernels"), [(8, 1), (9, 9)])
def test_more_than_eight_operands_are_joined_by_a_kernel_each(parts: int, kernels: int) -> None:
    launches = of(Joined(parts), *[torch.zeros(16, 32) for _ in range(parts)])
    assert [op.name for op in launches] == ["fused.pointwise.default"] * kernels
    assert sum(op.signature.write_bytes for op in launches) == parts * 16 * 32 * 4


def test_running_sums_are_one_kernel_with_the_loops_around_them() -> None:
    (kernel,) = of(Sums(), torch.zeros(64, 128))
    assert kernel.name == "fused.reduction.default"
    assert (kernel.signature.read_bytes, kernel.signature.write_bytes) == (32_768, 32_768)


def test_a_convolution_leaves_its_bias_and_its_gradient_to_loops() -> None:
    x = torch.zeros(8, 64, 32, 32, requires_grad=True)
    calls = ops(trace(Image(), (x,), phase="training"))
    forward = next(op for op in calls if op.name == "aten.convolution.default")
    assert "bias" not in forward.signature.names and len(forward.storages) == 3
    backward = next(op for op in calls if op.name == "aten.convolution_backward.default")
    assert backward.signature.args["output_mask"][2] is False
    assert len(backward.outputs) == len(backward.storages) - len(backward.inputs)
    writes = [t.nbytes for op in calls if op.name.startswith("fused") for t in op.outputs]
    assert 128 * 4 in writes  # the bias's gradient


def test_rows_looked_up_in_half_precision_are_summed_in_full() -> None:
    step = trace(Looked(), (torch.zeros(32, dtype=torch.int64),), phase="training")
    writes = [op.signature.write_bytes for op in ops(step) if op.phase == "backward"]
    assert 1000 * 64 * 4 in writes  # zeros
    assert 32 * 64 * 4 in writes  # the sum of the gradients of the rows
    assert 1000 * 64 * 2 in writes  # the table's gradient, computed from the sums


def test_generated_kernels_add_gradients_of_indexed_tensors() -> None:
    step = trace(Indexed(), (torch.zeros(32, dtype=torch.int64),), phase="training")
    assert any(op.name == "aten.index_put.default" for op in step.ops)
    backward = [op for op in ops(step) if op.phase == "backward"]
    assert not any("index_put" in op.name for op in backward)
    writes = [op.signature.write_bytes for op in backward]
    assert 100 * 8 * 4 in writes  # zeros
    assert 32 * 8 * 4 in writes  # added


@pytest.mark.parametrize(("width", "kernels"), [(96, 2), (192, 1)])
def test_a_product_is_given_a_copy_of_padded_windows(width: int, kernels: int) -> None:
    """7·7·96 = 4704 elements are 9408 bytes, not a multiple of 128; 7·7·192 are 18816 bytes, a
    multiple of 128.
    """
    launches = of(Windows(width), torch.zeros(2, 14, 14, width, dtype=torch.bfloat16))
    generated = [op for op in launches if op.name.startswith("fused")]
    assert len(generated) == kernels


def test_lines_over_1024_elements_are_padded_to_128_bytes() -> None:
    windows = Shape((8, 49, 96), "bfloat16", row_major((8, 49, 96)))
    assert padded(windows) == (4736, 96, 1)  # 4704 = 73.5 · 64
    assert joins(windows, Shape((392, 96), "bfloat16", (96, 1)))
    assert not joins(windows, Shape((8, 4704), "bfloat16", (4704, 1)))
    assert padded(Shape((8, 49, 128), "bfloat16", row_major((8, 49, 128)))) == (6272, 128, 1)


def test_a_walk_gives_the_order_of_memory_reads() -> None:
    tokens = Shape((8, 196, 768), "bfloat16", (150528, 1, 196))  # of an image, channels first
    assert walk(tokens, (8, 196, 768)) == ((8, 150528), (196, 1), (768, 196))
    assert walk(Shape((768,), "bfloat16", (1,)), (8, 196, 768)) == ()
    assert walk(Shape((8, 196, 768), "bfloat16", (150528, 768, 1)), (8, 196, 768)) == ()


def test_a_read_keeps_whose_it_is() -> None:
    part = read(read((3, 1), 64, ()), 8, ((4, 2),))
    assert part == Part(3, 1, 72, ((4, 2),))
    assert value_of(part) == (3, 1) and region_of(part) == (3, 1, 72)
    assert read((3, 1), 0, ()) == (3, 1)
    seen = read(7, 0, ((8, 150528), (768, 196)))
    assert value_of(seen) == 7 and strides_apart(seen) and not strides_apart((3, 1))


class Corners(nn.Module):
    """The four corners of each 2 × 2 block of a loop's result, adjacent in a row that is summed."""

    def forward(self, x: Tensor) -> Tensor:
        x = torch.exp(x)
        parts = x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]
        return torch.cat(parts, dim=-1).sum(-1)


def test_what_is_computed_on_the_way_is_read_from_each_place() -> None:
    step = trace(Corners(), (torch.zeros(2, 8, 8, 16),))
    (launch,) = fused(step, H200).trace.ops
    # a quarter of the tensor each
    assert [t.nbytes for t in launch.inputs] == [2 * 4 * 4 * 16 * 4] * 4


IMAGE = Shape((2, 6, 4, 4), "float32", (96, 1, 24, 6))  # channels last


@pytest.mark.parametrize(
    ("source", "shape", "stride", "wanted"),
    [
        # the channels of a pixel have a stride of 16, and the images are between them
        (IMAGE, (32, 6), (6, 1), True),
        (IMAGE, (6, 32), (1, 6), True),
        # each dimension combines one or two dimensions of the buffer
        (IMAGE, (2, 16, 6), (96, 6, 1), False),
        (IMAGE, (2, 4, 4, 6), (96, 24, 6, 1), False),
        (Shape((2, 4, 4, 6), "float32", (96, 24, 6, 1)), (32, 6), (6, 1), False),
        (IMAGE, (16, 6), (6, 1), False),  # a part of it
    ],
)
def test_a_view_across_needs_a_copy(
    source: Shape, shape: tuple[int, ...], stride: tuple[int, ...], wanted: bool
) -> None:
    assert crosses(source, Shape(shape, "float32", stride)) == wanted
