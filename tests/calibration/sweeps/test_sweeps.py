"""Every sweep of the libraries' kernels: its points trace, lower and run, and no operand is all
zeros.
"""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from calibration.sweeps import OPERATIONS, Point, operation, points
from calibration.sweeps.shapes import ODD_SHARE, sweep, width
from simulator.errors import InputError
from simulator.hardware.gpu import gpu as find_gpu
from simulator.lowering import lower
from simulator.tracing import trace_call

CARD = find_gpu("h200")
LIBRARY = [name for name, each in OPERATIONS.items() if each.kind == "library"]
COUNTS_STEPS_ON_THE_HOST = "optimizer_step"
FROM_NOTHING = {"arange"}


ON_GPUS_ONLY = {"scaled_grouped_product"}
"""Calls for which torch has no CPU kernel."""


def smallest(name: str, **params: Any) -> Point:
    def size(point: Point) -> tuple[bool, int]:
        sizes = [v for v in tree_leaves(point.params) if isinstance(v, int) and v > 0]
        return point.params.get("dtype") != "fp32", prod(sizes)

    candidates = OPERATIONS[name].points
    return min((p for p in candidates if params.items() <= p.params.items()), key=size)


def sample() -> list[Point]:
    return [*map(smallest, LIBRARY), *Random(0).sample(list(points("library")), 200)]


def test_names_are_unique_and_a_fifth_is_held_out() -> None:
    library = list(points("library"))
    assert len({p.name for p in library}) == len(library)
    assert 26_000 <= len(library) <= 28_000
    assert 0.17 < sum(p.held_out for p in library) / len(library) < 0.23


def test_every_kind_of_call_is_modelled_and_launches() -> None:
    for point in sample():
        traced = trace_call(point.make, CARD)
        lowered = lower(traced, CARD)
        assert [traced.ops[i].name for i in lowered.unmodelled] == [], point.name
        assert len(lowered.work_of) > 0, point.name
        assert traced.assumptions == [], f"{point.name} depends on data"
        before = [s for s in traced.storages if s.born < 0]
        assert {s.role for s in before if s.nbytes} <= {"input", "weight"}, point.name
        assert before or point.operation in FROM_NOTHING, point.name
        if point.operation != COUNTS_STEPS_ON_THE_HOST:
            assert {s.device for s in traced.storages} == {"cuda"}, point.name
        assert sum(s.nbytes for s in traced.storages) < 6e9, point.name


class Zeros(TorchDispatchMode):
    """Collects the ops that read a tensor of zeros created before the call."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[torch.Tensor] = []
        self.read_by: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        own = {t.untyped_storage().data_ptr() for t in self.made}
        for t in tree_leaves((args, kwargs or {})):
            if isinstance(t, torch.Tensor) and t.is_floating_point() and t.numel() > 1:
                uninitialised = t.untyped_storage().data_ptr() not in own
                if uninitialised and not bool(t.float().any()):
                    self.read_by.append(str(func))
        result = func(*args, **(kwargs or {}))
        self.made += [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
        return result


@pytest.mark.parametrize("name", sorted(set(LIBRARY) - ON_GPUS_ONLY))
def test_calls_run_twice_on_operands_that_are_not_zeros(name: str) -> None:
    torch.manual_seed(0)
    params = {"backend": "math"} if "backend" in smallest(name).params else {}
    with torch.device("cpu"):
        call = smallest(name, **params).make()
    with torch.device("meta"):  # the call uses only its operands
        call()
        with Zeros() as zeros:
            call()
    assert zeros.read_by == []


def test_a_product_is_the_product_that_its_name_says() -> None:
    point = Point("product", {"dtype": "bf16", "layout": "tn", "m": 3, "n": 5, "k": 7})
    traced = trace_call(point.make)
    (op,) = (op for op in traced.ops if not op.name.endswith("t.default"))
    assert op.name == "aten.mm.default"
    assert [(t.shape, t.stride) for t in op.inputs] == [((3, 7), (1, 3)), ((7, 5), (5, 1))]
    (work,) = lower(traced, CARD).works
    assert work.flops == 210  # 2·3·5·7
    assert work.bytes == 142  # (3·7 + 7·5 + 3·5) · 2


def test_only_the_backward_pass_of_a_backward_call_is_traced() -> None:
    point = Point("softmax_backward", {"dtype": "fp32", "rows": 4, "cols": 8})
    names = trace_call(point.make).names()
    assert "aten._softmax_backward_data.default" in names
    assert "aten._softmax.default" not in names


@pytest.mark.parametrize(
    "backend, op", [("flash", "flash"), ("cudnn", "cudnn"), ("efficient", "efficient")]
)
def test_attention_runs_by_the_backend_asked_for(backend: str, op: str) -> None:
    for name, end in (("attention", ""), ("attention_backward", "_backward")):
        traced = trace_call(smallest(name, backend=backend).make)
        assert f"aten._scaled_dot_product_{op}_attention{end}.default" in traced.names()


def test_operands_are_inputs_and_results_are_not() -> None:
    def make() -> Any:
        x, y = torch.randn(6), torch.randn(6)
        return lambda: torch.add(x, y)

    traced = trace_call(make)
    assert [(s.nbytes, s.born, s.role) for s in traced.storages] == [
        (24, -1, "input"),
        (24, -1, "input"),
        (24, 0, "activation"),
    ]
    assert (traced.phase, traced.samples, traced.gpu) == ("inference", 1, "h200_sxm")


def test_a_call_that_cannot_run_says_why() -> None:
    def make() -> Any:
        x = torch.randn(2, 3)
        return lambda: x @ x

    with pytest.raises(InputError, match=r"the call cannot be traced: RuntimeError.*meta device"):
        trace_call(make)


def test_the_same_seed_gives_the_same_points_and_another_does_not() -> None:
    def draw(rng: Random) -> dict[str, Any]:
        return {"cols": width(rng, 64, 8192)}

    assert sweep("a", 20, draw)() == sweep("a", 20, draw)()
    assert sweep("a", 20, draw)() != sweep("b", 20, draw)()
    with pytest.raises(ValueError, match="c: 0 points found, expected 5: widen the draw"):
        sweep("c", 5, lambda rng: None)()


def test_widths_are_mostly_multiples_of_64_within_bounds() -> None:
    rng = Random(1)
    widths = [width(rng, 64, 8192) for _ in range(2000)]
    assert all(64 <= w <= 8192 for w in widths)
    odd = sum(w % 64 != 0 for w in widths) / len(widths)
    assert abs(odd - ODD_SHARE) < 0.03


def test_an_operation_is_registered_once_and_a_point_too() -> None:
    with pytest.raises(ValueError, match="softmax is already an operation"):

        @operation(lambda: [])
        def softmax() -> Any: ...

    with pytest.raises(ValueError, match="twins has a point twice"):

        @operation(lambda: [{"n": 1}, {"n": 1}])
        def twins(n: int) -> Any: ...

    assert "twins" not in OPERATIONS
