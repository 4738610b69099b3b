"""Functions that Dynamo puts into its graph whole: what they call breaks no graph."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor

from simulator.networks.product_settings import own_settings
from simulator.tracing import trace
from tests.simulator.conftest import Calls
from tests.simulator.tracing.python_code.conftest import Explained

PLANNER = '''
"""As opt_einsum: plans products, with a function that is written in C."""

import bisect


def contract_path(equation, *operands, optimize):
    last = bisect.bisect_left([0, 1, 2], 2)
    return [(last - 1, last), (0, 1)], optimize
'''
LEFT, INNER, RIGHT, LAST = 4, 64, 8, 2
SIZES = (LEFT, INNER), (INNER, RIGHT), (RIGHT, LAST)


@pytest.fixture
def planner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package in opt_einsum's place, which contracts from right to left."""
    path = tmp_path / "planner.py"
    path.write_text(PLANNER)
    spec = importlib.util.spec_from_file_location("planner", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "planner", module)
    spec.loader.exec_module(module)
    settings = torch.backends.opt_einsum
    before = settings.m._opt_einsum, settings.m.enabled  # pyright: ignore
    settings.m._opt_einsum, settings.m.enabled = module, True  # pyright: ignore
    settings.is_available.cache_clear()
    yield module
    settings.m._opt_einsum, settings.m.enabled = before  # pyright: ignore
    settings.is_available.cache_clear()


def product(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.einsum("ij,jk,kl->il", a, b, c).relu()


def operands() -> tuple[Tensor, ...]:
    return tuple(torch.zeros(*size) for size in SIZES)


def products(network: Callable[..., Tensor]) -> list[int]:
    """The elements of the products' results, in order."""
    step = trace(Calls(lambda _, *tensors: network(*tensors)), operands())
    return [op.outputs[0].numel for op in step.ops if "mm" in op.name]


def test_the_planner_of_einsum_breaks_no_graph(planner: ModuleType, explained: Explained) -> None:
    step = trace(Calls(lambda _, *tensors: product(*tensors)), operands())
    assert step.breaks == []
    assert explained(product, *operands()).graph_count == 1


def test_a_planner_that_the_network_calls_does(planner: ModuleType, explained: Explained) -> None:
    def planned(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        a = a.sin()
        path, _ = planner.contract_path("", a, b, c, optimize="auto")
        return product(a, b, c) * len(path)

    step = trace(Calls(lambda _, *tensors: planned(*tensors)), operands())
    assert [b.reason for b in step.breaks] == ["_bisect.bisect_left is written in C"]
    assert explained(planned, *operands()).graph_break_count == 1


FROM_THE_LEFT = [LEFT * RIGHT, LEFT * LAST]
PLANNED = [INNER * LAST, LEFT * LAST]


def test_einsum_contracts_along_the_planned_path(planner: ModuleType) -> None:
    assert products(product) == PLANNED
    torch.backends.opt_einsum.m.enabled = False  # pyright: ignore
    assert products(product) == FROM_THE_LEFT


def test_a_network_that_disables_the_planner_changes_no_other(planner: ModuleType) -> None:
    def disabled(*tensors: Tensor) -> Tensor:
        torch.backends.opt_einsum.enabled = False
        return product(*tensors)

    with own_settings():
        assert products(disabled) == FROM_THE_LEFT
    with own_settings():
        assert products(product) == PLANNED
