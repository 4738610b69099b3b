"""Ops that must not run again: each heuristic of the partitioner alone, at its threshold."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.fusion.passes.banning import Bans, banned
from simulator.fusion.passes.rematerialization import Joint
from tests.simulator.fusion.passes.test_rematerialization import (
    ONE,
    ROWS,
    WIDTH,
    Between,
    cut,
    sin_cos_exp,
    stepped,
)

NONE = {
    "used_far_apart": False,
    "long_chains": False,
    "materialized_backward": False,
    "not_listed": False,
    "reductions": False,
}
PRODUCTS = {"addmm", "mean"}
"""The layers around the function, and the loss, which a reduction to one number is."""


def bans(module: nn.Module, only: str = "") -> list[tuple[int, str]]:
    """The banned ops between the products, with their places."""
    step = stepped(module)
    names = [op.name.split(".")[1] for op in step.ops]
    chosen = Bans(**(NONE | ({only: True} if only else {})))
    every = sorted(banned(Joint(step), chosen))
    return [(index, names[index]) for index in every if names[index] not in PRODUCTS]


def named(function: Callable[[Tensor], Tensor], only: str = "") -> list[str]:
    return [name for _, name in bans(Between(function).train(), only)]


@pytest.mark.parametrize(("cols", "expected"), [(3, []), (4, []), (5, ["sum"]), (32, ["sum"])])
def test_a_result_more_than_four_times_smaller_is_kept(cols: int, expected: list[str]) -> None:
    def scaled(x: Tensor) -> Tensor:
        return x * torch.cos(x[:, :cols]).sum(-1, keepdim=True)

    assert named(scaled, "reductions") == expected
    assert named(scaled) == []


@pytest.mark.parametrize(("dtype", "expected"), [(torch.float32, []), (torch.float64, ["gt"])])
def test_bytes_count_and_not_elements(dtype: torch.dtype, expected: list[str]) -> None:
    """A mask has one byte for each element, of 4 bytes or of 8."""
    assert named(lambda x: torch.where(x.to(dtype) > 0, x, -x), "reductions") == expected


def test_random_ops_and_products_are_banned_by_every_choice() -> None:
    assert named(lambda x: F.dropout(torch.tanh(x), 0.1)) == ["native_dropout"]
    assert [name for _, name in bans(Between(lambda x: x @ x.mT @ x))] == ["mm", "mm"]


def test_ops_that_are_not_listed() -> None:
    assert named(lambda x: torch.sin(x).cumsum(1)) == []
    assert named(lambda x: torch.sin(x).cumsum(1), "not_listed") == ["cumsum"]
    assert named(sin_cos_exp, "not_listed") == []


@pytest.mark.parametrize("viewed", [False, True])
def test_what_a_product_of_the_backward_pass_reads_is_stored(viewed: bool) -> None:
    """The gradient of the second layer's weight reads the result of the function, or a view."""

    def function(x: Tensor) -> Tensor:
        y = torch.exp(torch.sin(x))
        return y.view(-1, 4, 8).view(-1, 32) if viewed else y

    assert named(function, "materialized_backward") == ["exp"]
    assert [n for _, n in bans(Between(function, last=False), "materialized_backward")] == []


@pytest.mark.parametrize(("count", "places"), [
    (101, []), (102, [103]), (103, [103]), (203, [103]), (204, [103, 205]), (306, [103, 205, 307]),
])  # fmt: skip
def test_a_chain_of_more_than_a_hundred_ops_is_cut(count: int, places: list[int]) -> None:
    """The chain begins at op 2, after a transpose and a product. The op that is more than 100 ops
    further is stored, and the next chain begins at the following op."""

    def often(x: Tensor) -> Tensor:
        for _ in range(count):
            x = torch.sin(x)
        return x

    assert bans(Between(often), "long_chains") == [(place, "sin") for place in places]


@pytest.mark.parametrize(("sines", "cosines", "places"), [
    (100, 5, [103]), (101, 5, []), (101, 120, [205]),
])  # fmt: skip
def test_a_view_at_the_end_of_a_chain_is_not_stored(
    sines: int, cosines: int, places: list[int]
) -> None:
    """A view follows the sines; it has no memory of its own."""

    def function(x: Tensor) -> Tensor:
        for _ in range(sines):
            x = torch.sin(x)
        x = x.view(-1, 4, 8)
        for _ in range(cosines):
            x = torch.cos(x)
        return x.view(-1, 32)

    assert bans(Between(function), "long_chains") == [(place, "cos") for place in places]


def test_a_result_that_is_also_read_beyond_an_unfusible_op_is_stored_there() -> None:
    """sin is read by cos and, beyond the running sums, by the addition: what that reads last is
    stored. If all readers precede the running sums, nothing is."""

    def apart(x: Tensor) -> Tensor:
        y = torch.sin(x)
        return torch.cos(y).cumsum(1) + y

    def close(x: Tensor) -> Tensor:
        y = torch.sin(x)
        return (torch.cos(y) + y).cumsum(1)

    def viewed(x: Tensor) -> Tensor:
        y = torch.sin(x)
        return torch.cos(y).cumsum(1) + torch.cos(y.view(-1, 4, 8)).view(-1, 32)

    assert named(apart, "used_far_apart") == ["add"]
    assert named(viewed, "used_far_apart") == []  # the view reads it, and has no memory
    assert named(close, "used_far_apart") == []


class Summed(nn.Module):
    """Running sums of a part of a product, between layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(8, WIDTH)
        self.third = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        sums = self.first(x)[:, :8].cumsum(1)
        return torch.sin(self.third(torch.sin(self.second(torch.sin(sums)))))


def test_a_small_budget_lifts_the_list_of_ops():
    # by default two products, the running sums, which are not on the list, and the sines that the
    # gradients of weights read: 64·8·4 = 2048 bytes each, or 8192
    narrow = ROWS * 8 * 4
    step = stepped(Summed())
    assert cut(step)[::2] == (3 * ONE + 2 * narrow, ["sin"])
    # sines run again within 70%, one product too within 60%, both within 50%
    assert [cut(step, share)[0] for share in (0.7, 0.6, 0.5)] == [
        2 * ONE + narrow,
        ONE + narrow,
        narrow,
    ]
    # with 20% of 28,672 bytes the running sums would fit, but the list no longer counts
    saved, _, ran = cut(step, 0.2)
    assert saved == 0 and "cumsum" in ran
