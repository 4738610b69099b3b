"""Pooling and functions that read their argument twice, in a compiled step. The launches are those
of the real Inductor of torch 2.13 for the same module (`predict --mode compiled --exact`)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import trace
from simulator.fusion import fused
from simulator.fusion.kinds import kind
from simulator.hardware.gpu import gpu
from simulator.records import Op, Trace

IMAGE = (16, 64, 10, 10)


class Pyramid(nn.Module):
    """Pools of pools, joined, as in one-stage detectors."""

    def __init__(self, side: int) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(64, 64, 1, bias=False), nn.BatchNorm2d(64)
        self.side = side

    def forward(self, x: Tensor) -> Tensor:
        maps = [F.silu(self.norm(self.conv(x)))]
        for _ in range(3):
            maps.append(F.max_pool2d(maps[-1], self.side, 1, self.side // 2))
        return torch.cat(maps, 1)


def step(module: nn.Module) -> Trace:
    return trace(module.half().eval(), (torch.zeros(IMAGE, dtype=torch.float16),), gpu="h200")


def launches(traced: Trace) -> list[Op]:
    return [op for op in fused(traced, gpu("h200")).trace.ops if op.name.startswith("fused.")]


def sizes(op: Op) -> tuple[str, int, int]:
    signature = op.signature
    return op.name.split(".")[1], signature.inputs[0].nbytes, signature.write_bytes


PLANE = 16 * 64 * 10 * 10 * 2


def test_each_window_of_25_elements_is_a_reduction_of_its_own() -> None:
    _, norm, *pools, joined = launches(step(Pyramid(5)))  # the first changes the layout
    assert sizes(norm) == ("pointwise", PLANE, 2 * PLANE)  # Inductor's writes `silu` as well
    assert [sizes(op)[0] for op in pools] == 3 * ["reduction"]
    assert [op.signature.write_bytes for op in pools] == 3 * [PLANE]
    assert pools[0].signature.read_bytes == 2 * PLANE
    assert joined.signature.write_bytes == 4 * PLANE


def test_small_windows_are_loops_that_read_stored_results() -> None:
    _, _, *pools = launches(step(Pyramid(3)))
    assert [sizes(op)[0] for op in pools] == 3 * ["pointwise"]
    assert pools[0].signature.read_bytes == 2 * PLANE


def test_the_kind_of_a_pool_follows_from_its_window() -> None:
    def of(pool: nn.Module) -> str:
        (op,) = (op for op in step(pool).ops if "_pool" in op.name)
        return kind(op.signature)

    assert of(nn.AvgPool2d(3)) == "pointwise"
    assert of(nn.AvgPool2d(5)) == of(nn.AvgPool2d(7)) == "reduction"
    assert of(nn.AvgPool2d(7, 1)) == "library"
    assert of(nn.MaxPool2d(4)) == "pointwise"
    assert of(nn.MaxPool2d(9, 1, 4)) == "reduction"


class Joined(nn.Module):
    """Two normalized halves, activated and joined."""

    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList(nn.BatchNorm2d(64) for _ in range(2))
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.activation(part(x)) for part in self.parts], 1)


def test_a_norm_that_a_function_reads_twice_is_stored_in_float32() -> None:
    assert [sizes(op) for op in launches(step(Joined(nn.SiLU())))] == [
        ("pointwise", PLANE, 4 * PLANE),
        ("pointwise", 2 * PLANE, 2 * PLANE),
    ]


def test_a_norm_that_a_function_reads_once_is_computed_where_it_is_joined() -> None:
    assert [sizes(op) for op in launches(step(Joined(nn.ReLU())))] == [
        ("pointwise", PLANE, 2 * PLANE)
    ]
