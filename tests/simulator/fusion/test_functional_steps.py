"""Loops in place and their out-of-place replacements: hand-computed storages and lifetimes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from msgspec.structs import replace

from simulator.fusion.passes.functional import functional
from simulator.fusion.passes.joint_graph import joint_graph
from simulator.records import Trace
from simulator.tracing import trace
from tests.simulator.conftest import Calls


def step(function: Callable[..., Any], *shape: int) -> Trace:
    return trace(Calls(lambda _, x: function(x)), (torch.zeros(shape or (100,)),))


def test_two_loops_in_place_write_two_new_storages() -> None:
    row = step(lambda x: (x * 2).relu_().mul_(3).sin())
    x, own, result = row.ops[0].storages[0], row.ops[0].storages[-1], row.ops[3].storages[-1]
    assert [op.storages for op in row.ops] == [(x, own), (own, own), (own, own), (own, result)]
    plain = functional(row)
    first, second = len(row.storages), len(row.storages) + 1
    assert [op.name for op in plain.ops] == [
        "aten.mul.Tensor",
        "aten.relu.default",
        "aten.mul.Tensor",
        "aten.sin.default",
    ]
    assert [op.storages for op in plain.ops] == [
        (x, own),
        (own, first),
        (first, second),
        (second, result),
    ]
    # each storage ends with its last use, but the newest ends where the original did
    lives = [(plain.storages[s].born, plain.storages[s].freed) for s in (own, first, second)]
    assert lives == [(0, 2), (1, 3), (2, row.storages[own].freed)]
    assert [plain.storages[s].nbytes for s in (own, first, second)] == [400] * 3
    # the result has its own memory, so the loop reads one storage and writes another
    for op in plain.ops[1:3]:
        assert (op.signature.read_bytes, op.signature.write_bytes) == (400, 400)
        assert op.signature.aliases[-1] not in op.signature.aliases[:-1]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.mul_(2) + 1,  # the caller sees it
        lambda x: x[:, :5].mul_(2) + 1,
    ],
)
def test_loops_on_inputs_stay_in_place(function: Callable[..., Any]) -> None:
    row = step(function, 10, 10)
    assert functional(row) is row


def test_a_loop_on_a_part_writes_the_whole() -> None:
    row = step(lambda x: _half(x * 2, x), 10, 10)
    x, own = row.ops[0].storages
    plain = functional(row)
    new = len(row.storages)
    loop, last = (next(op for op in plain.ops if base in op.name) for base in (".add.", ".sin."))
    assert loop.storages == (own, x, new) and last.storages[0] == new
    # 10 · 10 · 4 bytes of the old value, and 10 · 5 · 4 of the part that is added
    assert (loop.signature.read_bytes, loop.signature.write_bytes) == (400 + 200, 400)
    assert loop.signature.out == row.ops[0].outputs[0]


def test_a_step_that_writes_no_part_stays_as_it_is_without_a_backward_pass() -> None:
    row = step(lambda x: (x * 2).relu_().sin(), 10, 10)
    assert functional(row) is not row and functional(row, parts_only=True) is row
    part = step(lambda x: _half(x * 2, x), 10, 10)
    assert functional(part, parts_only=True) == functional(part)


def _half(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x[:, :5].add_(y[:, 5:])
    return x.sin()


def test_a_step_that_trains_nothing_has_no_joint_graph() -> None:
    row = step(lambda x: (x * 2).relu_().sin())
    assert joint_graph(row).trace is row
    idle = replace(row, phase="training")
    assert joint_graph(idle).trace is idle


def test_a_power_in_place_has_other_names_out_of_place() -> None:
    """`aten.pow.Scalar` is a number to the power of a tensor."""
    row = step(lambda x: (x * 2).pow_(-0.5).pow_(x))
    assert [op.name for op in row.ops[1:]] == ["aten.pow_.Scalar", "aten.pow_.Tensor"]
    assert [op.name for op in functional(row).ops[1:]] == [
        "aten.pow.Tensor_Scalar",
        "aten.pow.Tensor_Tensor",
    ]
