"""Transfers between host and GPU within a step, as in a GPU build of torch."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from simulator import predict_trace
from simulator.errors import InputError
from simulator.hardware.waits import syncs
from simulator.tracing import trace
from tests.simulator.conftest import Calls

X = torch.zeros(8, 8)


def number_under_a_mask(_: Calls, x: Tensor) -> Tensor:
    x = x.clone()
    x[x > 0] = 1.0
    return x


def number_of_the_host(_: Calls, x: Tensor) -> Tensor:
    return x.masked_fill(x > 0, torch.tensor(1.0))


def number_of_the_gpu(_: Calls, x: Tensor) -> Tensor:
    return x.masked_fill(x > 0, x[0, 0])


def made_from_data(_: Calls, x: Tensor) -> Tensor:
    return x + torch.tensor([1.0] * 8, device=x.device)


def made_like(_: Calls, x: Tensor) -> Tensor:
    return x + x.new_tensor([1.0] * 8)


def rows_by_a_list(_: Calls, x: Tensor) -> Tensor:
    return x[[0, 2]]


def repeats_of_known_size(_: Calls, x: Tensor) -> Tensor:
    return x.repeat_interleave(x[0].long(), dim=0, output_size=8)


def empty_of_the_host(_: Calls, x: Tensor) -> Tensor:
    """The empty tensor with which transformers initialises its caches."""
    return torch.cat([torch.empty(0, device="cpu").to(x.device), x.flatten()])


@pytest.mark.parametrize(
    ("step", "waits"),
    [
        (number_under_a_mask, False), (number_of_the_host, False), (number_of_the_gpu, True),
        (made_from_data, True), (made_like, True), (rows_by_a_list, True),
        (repeats_of_known_size, False), (empty_of_the_host, False),
    ],
)  # fmt: skip
def test_the_host_waits_for_torchs_copies(step: Callable[..., Tensor], waits: bool) -> None:
    traced = trace(Calls(step), (X,))
    assert any(syncs(op.signature) for op in traced.ops) is waits
    if not waits:
        predict_trace(traced, mode="cuda_graph")
        return
    with pytest.raises(InputError, match=r"cannot capture .*: it waits for the GPU; predict mode="):
        predict_trace(traced, mode="cuda_graph")


def test_data_becomes_one_copy_of_its_bytes() -> None:
    copy = trace(Calls(made_from_data), (X,)).ops[0]
    assert copy.name == "aten._to_copy.default"
    assert [(t.shape, t.device) for t in (*copy.inputs, *copy.outputs)] == [
        ((8,), "cpu"),
        ((8,), "cuda"),
    ]


def test_memory_that_is_not_pinned_is_not_captured() -> None:
    def unwaited(_: Calls, x: Tensor) -> Tensor:
        return x + torch.zeros(8, device="cpu").to("cuda", non_blocking=True)

    step = trace(Calls(unwaited), (X,))
    assert not any(syncs(op.signature) for op in step.ops)
    with pytest.raises(InputError, match=r"_to_copy\.default: it copies unpinned memory; predict"):
        predict_trace(step, mode="cuda_graph")


def test_an_encoder_takes_padding() -> None:
    """It checks whether the padding ends each row, which depends on data; compiled, it does not
    check.
    """
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 1).eval()
    inputs = {"src": torch.zeros(2, 8, 16), "src_key_padding_mask": torch.zeros(2, 8).bool()}
    asks = "aten._nested_tensor_from_mask_left_aligned.default"
    eager = trace(encoder, (), inputs)
    assert asks in eager.names()
    assert [a.name for a in eager.assumptions] == [asks]
    compiled = trace(encoder, (), inputs, run="compiled")
    assert asks not in compiled.names() and "torch.compiler.is_compiling" in compiled.asked
