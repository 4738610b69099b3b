"""When a network queries its tensors and torch, the answers are those of the GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from simulator.records import Op
from simulator.tracing import trace
from tests.simulator.conftest import Calls

X = torch.ones(4, 8)


def answer(question: Callable[[Tensor], object], gpu: str = "h200") -> Any:
    """The answer that a forward pass receives."""
    seen: list[object] = []

    def forward(_: Calls, x: Tensor) -> Tensor:
        seen.append(question(x))
        return x

    trace(Calls(forward), (X,), gpu=gpu)
    return seen[0]


def ops(forward: Callable[[Calls, Tensor], Any]) -> list[Op]:
    return trace(Calls(forward), (X,)).ops


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (lambda x: x.device, torch.device("cuda", 0)),
        (lambda x: x.device.type, "cuda"),
        (lambda x: x.is_cuda, True),
        (lambda x: x.is_meta, False),
        (lambda x: x.is_cpu, False),
        (lambda x: x.get_device(), 0),
        (lambda x: (x + 1).is_cuda, True),
        (lambda x: torch.ones(2).is_cuda, False),
        (lambda x: torch.ones(2).device.type, "cpu"),
        (lambda x: torch.ones(2).get_device(), -1),
        (lambda x: torch.ones(2, device=x.device).is_cuda, True),
        (lambda x: torch.cuda.is_available(), True),
        (lambda x: torch.cuda.device_count(), 1),
        (lambda x: torch.cuda.current_device(), 0),
        (lambda x: torch.cuda.synchronize(), None),
        (lambda x: x.new_zeros(2).is_cuda, True),
        (lambda x: torch.zeros_like(x).is_cuda, True),
    ],
)
def test_tensors_say_that_they_are_on_the_gpu(
    question: Callable[[Tensor], object], expected: object
) -> None:
    assert answer(question) == expected


def test_parameters_of_the_network_are_on_the_gpu_too() -> None:
    seen: list[object] = []

    def forward(self: Calls, x: Tensor) -> Tensor:
        seen.extend((self.w.device, next(self.parameters()).is_cuda))
        return x

    trace(Calls(forward), (X,))
    assert seen == [torch.device("cuda", 0), True]


@pytest.mark.parametrize(
    ("gpu", "name", "capability", "bf16", "units"),
    [
        ("h200", "H200 SXM 141GB", (9, 0), True, 132),
        ("a100", "A100 SXM4 80GB", (8, 0), True, 108),
        ("t4", "T4", (7, 5), False, 40),
    ],
)
def test_the_card_is_the_one_traced_for(
    gpu: str, name: str, capability: tuple[int, int], bf16: bool, units: int
) -> None:
    assert answer(lambda _: torch.cuda.get_device_name(), gpu) == name
    assert answer(lambda _: torch.cuda.get_device_capability(), gpu) == capability
    assert answer(lambda _: torch.cuda.is_bf16_supported(False), gpu) is bf16
    # if necessary by emulation
    assert answer(lambda _: torch.cuda.is_bf16_supported(), gpu) is True
    assert answer(lambda _: torch.cuda.get_device_properties(0).multi_processor_count, gpu) == units


def test_autocast_in_bf16_runs_on_a_card_without_it() -> None:
    inputs = torch.empty(8, 4)
    old, new = (
        trace(Calls(lambda m, x: x @ m.w), (inputs,), gpu=name, autocast="bf16")
        for name in ("v100", "h200")
    )
    assert old.names() == new.names() and old.ops[-1].outputs[0].dtype == "bfloat16"


@pytest.mark.parametrize(
    "make",
    [
        lambda x: torch.zeros(3, device="cuda"),
        lambda x: torch.zeros(3, device="cuda:0"),
        lambda x: torch.zeros(3, device=torch.device("cuda")),
        lambda x: torch.zeros(3, device=0),
        lambda x: torch.zeros(3, device=x.device),
    ],
)
def test_a_tensor_made_on_the_gpu(make: Callable[[Tensor], Tensor]) -> None:
    (op,) = ops(lambda _, x: make(x))
    assert op.name == "aten.zeros.default" and op.outputs[0].device == "cuda"


@pytest.mark.parametrize(
    "move",
    [
        lambda y: y.to("cuda"),
        lambda y: y.to(torch.device("cuda", 0)),
        lambda y: y.to(device="cuda"),
        lambda y: y.cuda(),
        lambda y: y.to("cuda", torch.float32),
    ],
)
def test_a_tensor_moved_to_the_gpu_is_one_copy(move: Callable[[Tensor], Tensor]) -> None:
    created, copied, added = ops(lambda _, x: move(torch.ones(8)) + x)
    assert created.outputs[0].device == "cpu"
    assert copied.name == "aten._to_copy.default"
    assert (copied.inputs[0].device, copied.outputs[0].device) == ("cpu", "cuda")
    assert {t.device for t in (*added.inputs, *added.outputs)} == {"cuda"}


def test_moving_a_tensor_to_its_own_device_does_nothing() -> None:
    assert ops(lambda _, x: x.to("cuda").cuda().to(x.device)) == []


def test_a_device_with_a_dtype() -> None:
    (op,) = ops(lambda _, x: x.to(device="cuda", dtype=torch.float16))
    assert op.name == "aten._to_copy.default" and op.outputs[0].dtype == "float16"


def test_the_default_device_may_be_the_gpu() -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        with torch.device("cuda"):
            return torch.zeros(8) + x

    created, _ = ops(forward)
    assert created.outputs[0].device == "cuda"
