"""Values of buffers that a network computes from its own constants."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.networks.known_values import Remembering
from simulator.records import Trace
from simulator.tracing import trace
from tests.simulator.conftest import Calls

X = torch.ones(4, 8)


def taken(traced: Trace) -> list[tuple[str, str]]:
    return [(a.name, a.taken) for a in traced.assumptions]


class Pads(nn.Module):
    """Pads by a size that it computes from the values of its buffers."""

    total: Tensor
    stride: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor(7) - 3)
        self.register_buffer("stride", torch.tensor(2))
        self.register_buffer("noise", torch.tensor(1.0).uniform_())

    def forward(self, x: Tensor) -> Tensor:
        more = torch.ceil((x.shape[-1] + self.total) / self.stride).to(torch.int64) - 1
        return F.pad(x, (int(self.total), more))  # pyright: ignore[reportArgumentType]


def test_the_value_of_a_buffer_is_not_an_assumption() -> None:
    with torch.device("meta"), Remembering():
        built_without_data = Pads()
    for network in (Pads(), built_without_data):
        traced = trace(network, (X,))
        assert traced.assumptions == []
        # ceil((8 + 4) / 2) - 1 = 5 are added after, 4 before
        assert traced.ops[-1].outputs[0].shape == (4, 4 + 8 + 5)


def test_the_value_of_a_declared_buffer_is_not_an_assumption() -> None:
    """`nn.Buffer` returns what `requires_grad_` returns: the tensor itself."""

    class Declares(Pads):
        def __init__(self) -> None:
            super().__init__()
            self.total = nn.Buffer(torch.tensor(7) - 3, persistent=False)
            self.stride = nn.Buffer(torch.tensor(2), persistent=False)

    with torch.device("meta"), Remembering():
        network = Declares()
    traced = trace(network, (X,))
    assert traced.assumptions == []
    assert traced.ops[-1].outputs[0].shape == (4, 4 + 8 + 5)


@pytest.mark.parametrize(
    "returns_itself",
    [lambda k: k.to(k.dtype), Tensor.contiguous, lambda k: k.requires_grad_(False)],
)
def test_a_call_that_returns_a_tensor_itself_keeps_its_value(
    returns_itself: Callable[[Tensor], Tensor],
) -> None:
    traced = trace(with_steps(lambda x, steps: x * int(returns_itself(steps))), (X,))
    assert traced.assumptions == []
    (factor,) = [op.signature.arg("other") for op in traced.ops if op.name == "aten.mul.Tensor"]
    assert factor == 6


@pytest.mark.parametrize("read", [int, str, lambda k: k.device, lambda k: k.shape])
def test_a_tensor_that_is_read_keeps_its_value(read: Callable[[Tensor], object]) -> None:
    def scaled(x: Tensor, steps: Tensor) -> Tensor:
        read(steps)
        return x * int(steps)

    traced = trace(with_steps(scaled), (X,))
    assert traced.assumptions == []
    (factor,) = [op.signature.arg("other") for op in traced.ops if op.name == "aten.mul.Tensor"]
    assert factor == 6


def with_steps(function: Callable[[Tensor, Tensor], Tensor]) -> nn.Module:
    """`function` of the input and of a buffer with the value 6."""
    network = Calls(lambda self, x: function(x, self.steps))
    network.register_buffer("steps", torch.tensor(6.0))
    return network


def test_a_value_that_is_written_over_is_not_known() -> None:
    def write(x: Tensor, steps: Tensor) -> Tensor:
        count = torch.zeros((), device=x.device) + 2
        known = steps.add_(1).item()
        return x * known * steps.copy_(count).item()

    traced = trace(with_steps(write), (X,))
    factors = [op.signature.arg("other") for op in traced.ops if op.name == "aten.mul.Tensor"]
    assert factors == [7, 1]
    assert taken(traced) == [("aten._local_scalar_dense.default", "the value 1.0")]


def test_a_random_value_is_not_known() -> None:
    before = torch.get_rng_state()
    traced = trace(with_steps(lambda x, steps: x * torch.rand_like(steps).item()), (X,))
    assert taken(traced) == [("aten._local_scalar_dense.default", "the value 1.0")]
    assert torch.equal(before, torch.get_rng_state())


def filled(k: Tensor) -> None:
    k.fill_(5)


def assigned(k: Tensor) -> None:
    k[0] = 5


def filled_through_a_view(k: Tensor) -> None:
    k.view(1).fill_(5)


def added_to_in_a_list(k: Tensor) -> None:
    torch._foreach_add_([k], 3)


@pytest.mark.parametrize(
    ("write", "times"),
    [(filled, 5), (assigned, None), (filled_through_a_view, None), (added_to_in_a_list, None)],
)
def test_a_value_is_not_known_after_a_write_that_is_not_followed(
    write: Callable[[Tensor], None], times: int | None
) -> None:
    """The buffer was 2: running two layers needs an assumption."""

    def forward(_: Calls, x: Tensor) -> Tensor:
        k = torch.tensor([2], device=x.device)
        write(k)
        for _ in range(int(k)):
            x = x + 1
        return x

    traced = trace(Calls(forward), (X,))
    layers = sum(op.name == "aten.add.Tensor" for op in traced.ops)
    assert (layers, traced.assumptions) == (5, []) if times else taken(traced) != []


class Rates(nn.Module):
    """Layers with rates that its constructor reads from a range."""

    def __init__(self) -> None:
        super().__init__()
        self.rates = [float(rate) for rate in torch.linspace(0, 0.5, 3)]
        self.doubled = (2 * torch.arange(3)).tolist()
        self.middle = torch.linspace(0, 0.5, 3)[1].item()
        self.last = torch.logspace(0, 2, 3).numpy()[-1]


def test_a_constructor_can_read_a_range() -> None:
    with torch.device("meta"), Remembering():
        network = Rates()
    assert network.rates == [0.0, 0.25, 0.5]
    assert network.doubled == [0, 2, 4]
    assert (network.middle, network.last) == (0.25, 100.0)


def test_a_constructor_cannot_read_a_range_that_was_written_to_or_is_random() -> None:
    def written() -> Tensor:
        rates = torch.linspace(0, 0.5, 3)
        rates[1] = torch.rand(())
        return rates

    for unknown in (written, lambda: torch.linspace(0, 0.5, 3) * torch.rand(3)):
        with torch.device("meta"), Remembering(), pytest.raises(RuntimeError, match="meta tensor"):
            unknown().tolist()


def test_the_longest_of_the_lengths_among_the_inputs_is_known() -> None:
    """Frames after a sequence's end are masked, as in a recogniser of speech."""

    def forward(_: Calls, x: Tensor, lengths: Tensor) -> Tensor:
        longest = int(lengths.max().item())
        return x * (torch.arange(longest, device=x.device) < lengths.unsqueeze(1))

    with torch.device("meta"), Remembering():
        equal_lengths = torch.full((4,), 8)
    for lengths in (torch.tensor([8, 5, 3, 2]), equal_lengths):
        traced = trace(Calls(forward), (X, lengths))
        assert traced.assumptions == []
        assert traced.ops[-1].outputs[0].shape == (4, 8)


def test_the_values_of_other_inputs_are_not_known() -> None:
    for values in (torch.ones(4, 8), torch.ones(2, 4, dtype=torch.int64)):
        traced = trace(Calls(lambda _, x: x * int(x.max())), (values,))
        assert taken(traced) != []
