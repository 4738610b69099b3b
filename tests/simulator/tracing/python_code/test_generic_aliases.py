"""Calls of generic aliases and type arguments of classes, which break Dynamo's graph."""

from __future__ import annotations

import collections
import typing
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest
import torch
from torch import Tensor

from simulator.tracing import trace
from simulator.tracing.python_code.generic_aliases import CALLED
from tests.simulator.conftest import Calls
from tests.simulator.tracing.python_code.conftest import Explained

T = TypeVar("T")
TENSORS = list[Tensor]
DEQUE, LIST = vars(typing)["Deque"], vars(typing)["List"]


class Box(Generic[T]):
    """A class with a type parameter."""

    def __init__(self, value: int) -> None:
        self.value = value


class Own(list[T]):
    """A list of one's own."""


class Kinds:
    """A class with an alias."""

    sizes = tuple[int, ...]


FILLED = Box[int]

BROKEN: dict[str, Callable[[], Any]] = {
    "list": lambda: list[Tensor](),
    "dict": lambda: dict[str, int](a=1),
    "dict of pairs": lambda: dict[str, int]([("a", 1)]),
    "tuple": lambda: tuple[int, ...]((1, 2)),
    "of a list": lambda: list[list[int]]((1,)),  # pyright: ignore
    "deque": lambda: collections.deque[int](),
    "defaultdict": lambda: collections.defaultdict[str, int](int),
    "a global": lambda: TENSORS(),
    "an attribute": lambda: Kinds.sizes((1,)),
    "own list": lambda: Own[int](),
    "of typing": lambda: DEQUE[int](),
    "with a choice": lambda: list[int]([] if T is None else [1]),
    "with names": lambda: dict[str, int](**{"a": 1}),
    "type arguments": lambda: Box[int],
    "own class": lambda: FILLED(3),
}
TRACED: dict[str, Callable[[], Any]] = {
    "no call": lambda: list[int],
    "a plain list": lambda: list(),
    "a cast": lambda: typing.cast("list[int]", 3),
    "typing": lambda: LIST[int],
    "an element": lambda: [list][0](),
    "without type arguments": lambda: Box(3),
    "a global alone": lambda: TENSORS,
}


def network(between: Callable[[], Any]) -> Callable[[Tensor], Tensor]:
    def forward(x: Tensor) -> Tensor:
        y = x + 1
        between()
        return y.relu()

    return forward


def breaks(between: Callable[[], Any]) -> list[tuple[int, str]]:
    forward = network(between)
    step = trace(Calls(lambda _, x: forward(x)), (torch.zeros(4),))
    return [(each.op, each.reason) for each in step.breaks if each.reason]


@pytest.mark.parametrize("name", BROKEN)
def test_a_called_alias_breaks_the_graph(name: str, explained: Explained) -> None:
    (at, reason), *others = breaks(BROKEN[name])
    expected = "Box is given type arguments" if name == "type arguments" else CALLED
    assert (at, reason, others) == (1, expected, [])
    assert explained(network(BROKEN[name]), torch.zeros(4)).graph_break_count == 1


@pytest.mark.parametrize("name", TRACED)
def test_an_alias_that_is_not_called_breaks_nothing(name: str, explained: Explained) -> None:
    assert breaks(TRACED[name]) == []
    assert explained(network(TRACED[name]), torch.zeros(4)).graph_break_count == 0


def test_a_break_has_its_line_and_lies_between_the_ops_around_it() -> None:
    def forward(x: Tensor) -> Tensor:
        y = x + 1
        z = y * 2
        shifted = list[Tensor]()
        shifted.append(z - 3)
        return shifted[0].relu()

    step = trace(Calls(lambda _, x: forward(x)), (torch.zeros(4),))
    line = forward.__code__.co_firstlineno + 3
    (own,) = [each for each in step.breaks if each.reason]
    assert (own.op, own.until, own.where) == (2, 2, f"test_generic_aliases.py, line {line}")


def test_an_alias_in_a_loop_leaves_its_function_uncompiled() -> None:
    def forward(x: Tensor) -> Tensor:
        for _ in range(2):
            shifted = list[Tensor]()
            shifted.append(x + 1)
            x = shifted[0].relu()
        return x

    step = trace(Calls(lambda _, x: forward(x)), (torch.zeros(4),))
    assert sum(each.reason == CALLED for each in step.breaks) == 2
    eager = {op for each in step.breaks for op in range(each.op, each.until)}
    assert eager == {0, 1, 2, 3}
