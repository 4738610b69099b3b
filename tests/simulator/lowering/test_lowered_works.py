"""The stored results of an op's lowering, and images of one pixel."""

from __future__ import annotations

import pytest
import torch
from msgspec.structs import replace
from torch import nn

from simulator import trace
from simulator.hardware.gpu import gpu
from simulator.lowering.lower import gpu_works, lower, lower_op
from simulator.lowering.single_pixel import has_one_pixel
from simulator.records import Tensor
from tests.simulator.costs.conftest import sig, tensor

LIST = ((4, 6), "float32")


@pytest.mark.parametrize(("tensors", "stored"), [(32, False), (33, True)])
def test_the_launches_of_an_optimizer_are_stored(tensors: int, stored: bool) -> None:
    op = sig("aten._foreach_sqrt_.default", (), self=[LIST] * tensors)
    works = gpu_works(op)
    assert works
    first, again = (lower_op(op, works, gpu("h200")) for _ in range(2))
    assert first == again and (first is again) is stored


def test_the_launches_of_a_long_list_share_the_work_of_its_tensors() -> None:
    op = sig("aten._foreach_sqrt_.default", (), self=[LIST] * 1000)
    (whole,) = gpu_works(op) or ()
    launches = lower_op(op, [whole], gpu("h200"))
    assert len(launches) > 2
    # 4 · 6 elements of 4 bytes in each tensor, which is read and written once
    assert sum(each.read_bytes for each in launches) == 1000 * 96
    assert sum(each.write_bytes for each in launches) == 1000 * 96
    assert [each.read_bytes for each in launches] == [
        4 * each.dims["elements"] for each in launches
    ]


@pytest.mark.parametrize("times", [1.0, 0.01])
def test_each_bandwidth_has_its_own_kernels(times: float) -> None:
    """Winograd's four kernels move more bytes than the direct one: at a hundredth of a V100's
    bandwidth they are slower. Both GPUs have the same multiprocessors and tensor cores."""
    plain = gpu("v100")
    card = replace(plain, bandwidth_bytes_per_s=times * plain.bandwidth_bytes_per_s)
    convolve = nn.Conv2d(64, 64, 3, padding=1, bias=False)
    step = trace(convolve, (torch.empty(32, 64, 56, 56, device="meta"),))
    assert len(lower(step, plain).works) == 4
    assert len(lower(step, card).works) == (4 if times == 1.0 else 1)


@pytest.mark.parametrize(
    ("shape", "one"),
    [((2, 3, 1, 1), True), ((2, 3, 5, 1), False), ((2, 3, 1, 5), False), ((2, 3, 1), True)],
)
def test_an_image_of_one_pixel(shape: tuple[int, ...], one: bool) -> None:
    image: Tensor = tensor((shape, "float16"))
    assert has_one_pixel(image) is one


def test_ops_without_a_cost_are_listed() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.ReLU())
    known = trace(network, (torch.zeros(2, 4),))
    assert lower(known, gpu("h200")).unmodelled == []
    relus = [index for index, op in enumerate(known.ops) if op.name == "aten.relu.default"]
    assert len(relus) == 2
    ops = [
        replace(op, signature=replace(op.signature, name="mine.unknown.default"))
        if index in relus
        else op
        for index, op in enumerate(known.ops)
    ]
    lowered = lower(replace(known, ops=ops), gpu("h200"))
    assert lowered.unmodelled == relus
    assert not set(lowered.op_of.tolist()) & set(relus)
