"""Work that a network does in its first step alone is not part of the traced step."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from simulator import predict_trace, trace


class Placed(nn.Module):
    """Adds a table of positions, which it makes on the host for the first input of a length."""

    table: Tensor | None

    def __init__(self, table: Literal["buffer", "attribute", "in each step"]) -> None:
        super().__init__()
        self.linear, self.again = nn.Linear(8, 8), table == "in each step"
        if table == "buffer":
            self.register_buffer("table", torch.zeros(1, 8), persistent=False)
        else:
            self.table = None

    def forward(self, x: Tensor) -> Tensor:
        if self.again or self.table is None or len(self.table) != x.shape[1]:
            places = torch.arange(x.shape[1], dtype=torch.float32)
            self.table = places[:, None].expand(-1, 8).to(self.linear.weight.device)
        return self.linear(x) + self.table


X = torch.zeros(4, 16, 8)


@pytest.mark.parametrize("table", ["buffer", "attribute"])
def test_a_table_of_the_first_step_is_not_made_again(
    table: Literal["buffer", "attribute"],
) -> None:
    network = Placed(table)
    step = trace(network, (X,), gpu="h200")
    assert [op.name for op in step.ops][-2:] == ["aten.view.default", "aten.add.Tensor"]
    assert "aten.arange.default" not in [op.name for op in step.ops]
    assert predict_trace(step, mode="cuda_graph").kernel_count == 2  # no copy from the host
    assert network.table is None or network.table.shape == (1, 8)  # the caller's is not changed


def test_a_table_that_is_made_in_each_step_stays() -> None:
    step = trace(Placed("in each step"), (X,), gpu="h200")
    assert [op.name for op in step.ops].count("aten.arange.default") == 1


def test_gradients_are_not_summed_over_the_steps() -> None:
    once, again = (
        trace(Placed(table), (X,), gpu="h200", phase="training", optimizer=None)
        for table in ("attribute", "in each step")
    )
    further = [op.name for op in again.ops]
    for op in once.ops:
        further.remove(op.name)
    assert set(further) == {
        "aten.arange.default", "aten.unsqueeze.default", "aten.expand.default",
        "aten._to_copy.default",
    }  # fmt: skip


class Remembering(nn.Module):
    """Keeps its latest result, which the next step replaces."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.latest: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear(x)
        before, self.latest = self.latest, result
        return result if before is None else result + before


def test_a_first_step_with_fewer_ops_is_traced() -> None:
    step = trace(Remembering(), (X,), gpu="h200")
    assert "aten.add.Tensor" not in [op.name for op in step.ops]


class Once(nn.Module):
    """Keeps its result, and runs only once."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.result: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.result is not None:
            raise RuntimeError("a second call")
        result: Tensor = self.linear(x)
        self.result = result
        return result * 2


def test_a_network_that_runs_only_once_is_traced() -> None:
    assert [op.name for op in trace(Once(), (X,), gpu="h200").ops][-1] == "aten.mul.Tensor"
