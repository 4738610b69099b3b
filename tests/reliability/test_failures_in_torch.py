"""Which of a network's failures are torch's own, without Ridgepoint."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from tests.reliability.networks import failure_in_torch


class Net(nn.Module):
    """A layer of the width of its configuration."""

    def __init__(self, config: int) -> None:
        super().__init__()
        self.config = config
        self.layer = nn.Linear(config, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class ReadsData(Net):
    def forward(self, x: Tensor) -> Tensor:
        if (x.sum() > 0).item():
            x = x[:, :5]
        return self.layer(x)


class FailsInTraining(Net):
    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            raise ValueError("labels are missing")
        return self.layer(x)


class TakesNothing(nn.Module):
    def forward(self) -> None: ...


def failure(kind: type[nn.Module], width: int, phase: str = "inference") -> str:
    with torch.device("meta"):
        module = kind(8) if issubclass(kind, Net) else kind()
        inputs = (torch.empty(2, width),)
    return failure_in_torch(SimpleNamespace(module=module, args=inputs, kwargs={}), phase)


def test_a_pass_that_ends_has_no_failure() -> None:
    assert failure(Net, 8) == ""


def test_a_failure_is_named_by_its_line() -> None:
    assert failure(Net, 7).startswith(" (test_failures_in_torch.py, line ")


def test_a_pass_that_reads_data_runs_with_data() -> None:
    """The layer gets 5 columns if the sum of the inputs is positive."""
    line = ReadsData.forward.__code__.co_firstlineno + 3
    assert failure(ReadsData, 8) == f" (test_failures_in_torch.py, line {line})"


@pytest.mark.parametrize(("phase", "fails"), [("inference", False), ("training", True)])
def test_the_module_is_in_the_mode_of_the_phase(phase: str, fails: bool) -> None:
    assert bool(failure(FailsInTraining, 8, phase)) == fails


def test_a_call_that_no_line_of_the_network_refuses_is_named_by_its_text() -> None:
    assert failure(TakesNothing, 8) == (
        "TypeError: TakesNothing.forward() takes 1 positional argument but 2 were given"
    )
