"""Ops of other libraries: with their own fake implementation, or with a cost that the user
states.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from app.answers.stated_costs import stated_costs
from simulator import predict
from simulator.errors import InputError
from simulator.tracing import trace

X = (torch.empty(64, 8),)


@pytest.fixture(autouse=True)
def library() -> Iterator[None]:
    library = torch.library.Library("statedlib", "DEF")  # no fake, no kernel
    library.define("f(Tensor x, int n=2) -> Tensor")
    library.define("g(Tensor x) -> int")
    library.define("two(Tensor x) -> (Tensor, Tensor)")
    yield
    library._destroy()


class Net(nn.Module):
    def __init__(self, op: str) -> None:
        super().__init__()
        self.op, self.linear = op, nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        return getattr(torch.ops.statedlib, self.op)(self.linear(x))


def test_an_op_without_a_fake_is_refused_with_a_remedy() -> None:
    with pytest.raises(InputError) as error:
        trace(Net("f"), X)
    assert str(error.value).partition(" (test_stated")[0] == (
        "Net runs an op of another library: statedlib::f has no rule for tensors without data: "
        "expected a fake implementation in the file that defines the op, "
        '@torch.library.register_fake("statedlib::f"), or its cost, '
        "--op statedlib::f=flops:N,bytes:N; with a cost, each result is assumed to be like the "
        "op's first input"
    )


def test_a_stated_cost_prices_an_op_without_a_fake() -> None:
    # 4.8e9 bytes at 4.8e12 bytes/s: 1 ms
    p = predict(Net("f"), X, sizes={"statedlib::f.bytes": 4_800_000_000, "statedlib::f.flops": 7})
    kernel = p.kernels[-1]
    assert (kernel.name, kernel.bytes, kernel.flops) == ("statedlib.f.default", 4_800_000_000, 7)
    assert kernel.duration_s > 1e-3 and p.unmodelled == {}
    taken = "results like its first input, since it has no fake implementation"
    assert [(a.name, a.taken) for a in p.trace.assumptions] == [("statedlib.f.default", taken)]
    op = p.trace.ops[-1].signature
    assert op.outputs[0].shape == (64, 8)
    assert op.args == {"stated_flops": 7, "stated_bytes": 4_800_000_000}


def test_bytes_that_are_not_stated_are_those_of_the_operands() -> None:
    p = predict(Net("two"), X, sizes={"statedlib::two.tensor_flops": 10**12})
    kernel = p.kernels[-1]
    assert kernel.bytes == 3 * 64 * 8 * 4  # one read, two written
    assert kernel.duration_s > 1e12 / 1e15  # slower than the peak of an H200 allows


def test_a_result_other_than_a_tensor_needs_a_fake() -> None:
    with pytest.raises(InputError, match="statedlib::g has no rule for tensors without data"):
        trace(Net("g"), X, sizes={"statedlib::g.flops": 1})


def test_the_option_becomes_data_sizes() -> None:
    assert stated_costs(["a::f=flops:2e9,bytes:8", "b::g=tensor_flops:5"]) == {
        "a::f.flops": 2_000_000_000,
        "a::f.bytes": 8,
        "b::g.tensor_flops": 5,
    }


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("f=flops:1", "--op 'f=flops:1': expected name=value, such as"),
        ("a::f=", "--op 'a::f=': expected name=value, such as"),
        ("a::f=time:1", "--op a::f=time:1: 'time:1' is not a figure: expected flops:N,"),
        ("a::f=flops:-1", "--op a::f=flops:-1: 'flops:-1' is not a figure: expected flops:N,"),
        (
            "a::f=flops:1e99",
            "--op a::f=flops:1e99: 'flops:1e99' is not a figure: expected flops:N,",
        ),
        (
            f"a::f=flops:{'9' * 5000}",
            f"--op a::f=flops:{'9' * 54}…: 'flops:{'9' * 54}…' is not a figure: expected flops:N,",
        ),
        ("a::f=flops:nan", "--op a::f=flops:nan: 'flops:nan' is not a figure: expected flops:N,"),
    ],
)
def test_a_malformed_option_is_refused(option: str, text: str) -> None:
    with pytest.raises(InputError) as error:
        stated_costs([option])
    assert str(error.value).startswith(text)
