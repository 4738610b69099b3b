"""Conditions that a trace assumes to be true, in steps that then fail."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from simulator.errors import InputError
from simulator.records import Trace
from simulator.tracing import trace
from tests.simulator.conftest import Calls

X = torch.ones(4, 8)
FALSE = "the value False, because the network fails or does not end if it is True"


def taken(traced: Trace) -> list[str]:
    return [a.taken for a in traced.assumptions if a.name == "aten._local_scalar_dense.default"]


class Clears(nn.Module):
    """Clears a tensor that the gradient needs if its sum is not positive, as `torch.cov` does."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x: Tensor) -> Tensor:
        y = (x * self.weight).exp()
        if (y.sum() <= 0).item():
            y.zero_()
        return y.sum()


def test_a_condition_whose_gradient_fails_is_false() -> None:
    traced = trace(Clears(), (X,), phase="training", optimizer=None)
    assert taken(traced) == [FALSE]
    assert "aten.zero_.default" not in traced.names()


@pytest.mark.parametrize("values", [(5,), (2, 5), (1, 5)])
def test_a_condition_of_values_that_do_not_fit_is_false(values: tuple[int, ...]) -> None:
    """Rows of 8 columns cannot be 5 wide."""

    def forward(_: Calls, x: Tensor) -> Tensor:
        x = x + 1
        chosen = x[:, 0] > 1
        if chosen.any():
            x[chosen] = torch.zeros(values, device=x.device)
        return x

    traced = trace(Calls(forward), (X,))
    assert taken(traced) == [FALSE]
    assert "aten.index_put_.default" not in traced.names()


def test_a_condition_whose_loop_does_not_end_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rejection sampling draws again as long as any number is too large."""
    monkeypatch.setattr("simulator.tracing.data_sizes._MOST_READS", 20)

    def forward(_: Calls, x: Tensor) -> Tensor:
        while (large := x > 2).any():
            x = torch.where(large, torch.randn_like(x), x)
        return x

    traced = trace(Calls(forward), (X,))
    assert taken(traced) == [FALSE]
    assert traced.names().count("aten.where.self") == 0


def test_a_loop_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulator.tracing.data_sizes._MOST_READS", 20)

    def forward(_: Calls, x: Tensor) -> Tensor:
        while True:
            x = x + 1 if (x < 2).any() else x - 1

    with pytest.raises(InputError, match="was read 20 times in one step, always as True: expected"):
        trace(Calls(forward), (X,))


def test_values_that_do_not_fit_are_an_error() -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        x = x + 1
        x[:, x[0] > 1] = torch.zeros(4, 3, 5, device=x.device)
        x[x[:, 0] > 1] = torch.zeros(5, device=x.device)
        return x

    text = r"value tensor of shape \[5\] cannot be broadcast to indexing result of shape \[..., 8\]"
    with pytest.raises(InputError, match=text):
        trace(Calls(forward), (X,))


@pytest.mark.parametrize("values", [(), (8,), (1, 8), (2, 1), (1,)])
def test_values_that_fit_are_written(values: tuple[int, ...]) -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        x = x + 1
        x[x[:, 0] > 1] = torch.zeros(values, device=x.device)
        return x

    assert "aten.index_put_.default" in trace(Calls(forward), (X,)).names()


def test_the_check_of_an_inverse_transform_does_not_fail() -> None:
    """`torch.istft` raises an error if the sum of its windows is zero somewhere."""

    def forward(_: Calls, x: Tensor) -> Tensor:
        window = torch.hann_window(16, device=x.device)
        spectrum = torch.stft(x, 16, window=window, return_complex=True)
        return torch.istft(spectrum, 16, window=window, length=x.shape[-1])

    traced = trace(Calls(forward), (torch.ones(2, 64),))
    assert [(a.name, a.taken) for a in traced.assumptions] == [("aten.equal.default", FALSE)]
    assert traced.ops[-1].outputs[0].shape == (2, 64)
