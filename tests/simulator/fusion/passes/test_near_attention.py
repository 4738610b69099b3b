"""Ops that resemble attention but match none of the patterns that are replaced by a call: each
differs from a match in one op."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from simulator import trace
from simulator.fusion.passes.attention import attended
from simulator.hardware.gpu import gpu
from simulator.records import Trace
from tests.simulator.conftest import Calls

Q = torch.zeros(2, 4, 16, 64, dtype=torch.bfloat16)
Attend = Callable[..., object]


def step(function: Attend, *more: Tensor) -> Trace:
    return trace(Calls(lambda _, q, k, v, *m: function(q, k, v, *m)), (Q, Q + 1, Q + 2, *more))


def replaced(function: Attend, *more: Tensor) -> int:
    return len(attended(step(function, *more), gpu("h200")).members)


MASK = torch.zeros(2, 1, 16, 16, dtype=torch.bfloat16)


def test_the_pattern_itself() -> None:
    assert replaced(lambda q, k, v: (q @ k.mT / 8.0).softmax(-1) @ v) == 1
    assert replaced(lambda q, k, v: (q @ k.mT * 0.125).softmax(3) @ v) == 1
    assert replaced(lambda q, k, v, m: (q @ k.mT / 8.0 + m).softmax(-1) @ v, MASK) == 1
    assert replaced(lambda q, k, v: (q @ k.mT / 8.0).float().softmax(-1).to(v.dtype) @ v) == 1


def first_differs(q: Tensor, k: Tensor, v: Tensor) -> object:
    scores = q @ k.mT / 8.0
    return scores.softmax(-1) @ v, scores.exp()


def weights_are_read(q: Tensor, k: Tensor, v: Tensor) -> object:
    weights = (q @ k.mT / 8.0).softmax(-1)
    return weights @ v, weights.exp()


@pytest.mark.parametrize("function", [
    # softmax over the queries instead of the keys
    lambda q, k, v: (q @ k.mT / 8.0).softmax(-2) @ v,
    lambda q, k, v: (q @ k.mT / 8.0 / 2.0).softmax(-1) @ v,  # two scales
    lambda q, k, v: (q @ k.mT).tanh().softmax(-1) @ v,
    lambda q, k, v: (q @ k.mT / 8.0).tanh().softmax(-1) @ v,
    lambda q, k, v: (q @ k.mT / 8.0).softmax(-1).tanh() @ v,
    lambda q, k, v: v.mT @ (q @ k.mT / 8.0).softmax(-1),  # the weights are the right operand
    lambda q, k, v: (q @ k.mT / 8.0).double().softmax(-1).to(v.dtype) @ v,
    lambda q, k, v: (q @ k.mT / 8.0).softmax(-1).float() @ v.float(),
    first_differs, weights_are_read,
])  # fmt: skip
def test_one_other_op_is_no_match(function: Attend) -> None:
    assert replaced(function) == 0


@pytest.mark.parametrize(
    "function",
    [
        # scaled by multiplication, with a mask
        lambda q, k, v, m: (q @ k.mT * 0.125 + m).softmax(-1) @ v,
        # the mask is added before the scale
        lambda q, k, v, m: ((q @ k.mT + m) / 8.0).softmax(-1) @ v,
        lambda q, k, v, m: (q @ k.mT / 8.0 + m + m).softmax(-1) @ v,
        lambda q, k, v, m: (m + q @ k.mT / m).softmax(-1) @ v,  # scaled by a tensor
    ],
)
def test_other_masks_are_no_match(function: Attend) -> None:
    assert replaced(function, MASK) == 0


def test_batches_of_products_alone_and_training_are_no_match() -> None:
    def flat(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, k, v = (t.flatten(0, 1) for t in (q, k, v))
        return (q @ k.mT / 8.0).softmax(-1) @ v

    assert replaced(flat) == 0
    matching = step(lambda q, k, v: (q @ k.mT / 8.0).softmax(-1) @ v)
    assert len(attended(matching, gpu("h200")).members) == 1
    assert len(attended(matching, gpu("mi300x")).members) == 0
    calls = Calls(lambda own, q: ((q @ q.mT / 8.0).softmax(-1) @ (q * own.b.sum())).mean())
    training = trace(calls.bfloat16(), (Q,), phase="training", optimizer=None)
    assert len(attended(training, gpu("h200")).members) == 0
