"""Offsets of views in their storage, against the offsets of torch's own tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from simulator import trace
from simulator.fusion.dataflow import dataflow
from simulator.fusion.offsets import guessed, offsets
from simulator.records import Trace
from tests.simulator.conftest import Calls

View = Callable[[Tensor], Tensor]


def step_of(*views: View) -> Trace:
    """A step that computes from each of these views of one tensor."""
    return trace(Calls(lambda _, x: [view(x).exp() for view in views]), (torch.zeros(6, 8, 10),))


@pytest.mark.parametrize("view", [
    lambda x: x[2], lambda x: x[-1], lambda x: x[:, 3], lambda x: x.select(-1, -4),
    lambda x: x[1:4], lambda x: x[:, -3:], lambda x: x[..., 2:9:3], lambda x: x[8:],
    lambda x: x.narrow(1, 5, 2), lambda x: x.narrow(-1, -4, 2),
    lambda x: x.split(4)[1], lambda x: x.split(3, dim=-1)[3], lambda x: x.split([1, 4, 3], 1)[2],
    lambda x: x.chunk(4, dim=2)[3], lambda x: x.split([7, 3], -1)[1], lambda x: x[4:][1:, 2],
    lambda x: x[1].t()[3:], lambda x: x.transpose(0, 2)[4, 5:],
    lambda x: x[2].view(2, 40)[1], lambda x: x[3:].flatten()[7:], lambda x: x.T[5],
    lambda x: x.as_strided((3, 3), (7, 1), 31), lambda x: x[4].unsqueeze(0).expand(3, 8, 10),
])  # fmt: skip
def test_a_view_begins_where_that_of_torch_begins(view: View) -> None:
    step = step_of(view)
    (place,) = offsets(step, dataflow(step).computes)[-1]
    assert place == view(torch.zeros(6, 8, 10)).storage_offset()


@pytest.mark.parametrize("cut", [
    lambda x: x.unbind(1), lambda x: x.unbind(-1), lambda x: x.split(2, dim=2),
    lambda x: x.chunk(4, dim=1), lambda x: x.tensor_split(3), lambda x: x.split([3, 3], 0),
])  # fmt: skip
def test_equal_parts_are_read_in_their_order(cut: Callable[[Tensor], Sequence[Tensor]]) -> None:
    step = trace(Calls(lambda _, x: [part.exp() for part in cut(x)]), (torch.zeros(6, 8, 10),))
    flow = dataflow(step)
    read = [
        place
        for place, runs in zip(offsets(step, flow.computes), flow.computes, strict=True)
        if runs
    ]
    assert read == [(part.storage_offset(),) for part in cut(torch.zeros(6, 8, 10))]


def test_the_least_used_of_equal_views_is_read() -> None:
    """Three parts of the same shape are each read once, in order; a fourth read starts again with
    the first."""
    step = trace(Calls(_thirds), (torch.zeros(4, 30),))
    places = offsets(step, dataflow(step).computes)
    read = {
        op.name.split(".")[1]: places[index]
        for index, op in enumerate(step.ops)
        if dataflow(step).computes[index]
    }
    assert read == {"exp": (0,), "tanh": (10,), "cos": (20,), "add": (0, 10)}


def _thirds(_: Calls, x: Tensor) -> list[Tensor]:
    a, b, c = x.split(10, dim=-1)
    return [a.exp(), b.tanh(), c.cos(), a + b]


def test_an_offset_is_a_guess_if_several_views_have_the_same_form() -> None:
    def function(_: Calls, x: Tensor, y: Tensor) -> list[Tensor]:
        a, b = x.unbind(1)
        return [a.exp(), b + y, y.cos(), y[1:].tanh()]

    step = trace(Calls(function), (torch.zeros(4, 2, 8), torch.zeros(4, 8)))
    flow = dataflow(step)
    known = dict(zip((op.name for op in step.ops), guessed(step, flow.computes), strict=True))
    # the offset of the sum of a part and a whole tensor is also a guess
    assert known["aten.exp.default"] and known["aten.add.Tensor"]
    assert not known["aten.cos.default"] and not known["aten.tanh.default"]
