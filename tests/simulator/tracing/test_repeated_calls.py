"""A step whose repeated calls are dispatched only once has the same trace as one with separate
calls."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from simulator.hardware.gpu import gpu as find_gpu
from simulator.records import Trace
from simulator.tracing import repeated_calls, trace
from simulator.tracing.repeated_calls import RepeatedCalls

aten = torch.ops.aten


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


def layouts(result: Any) -> list[Any]:
    results = result if isinstance(result, (tuple, list)) else (result,)
    return [t if t is None else (t.shape, t.stride(), t.dtype, t.device) for t in results]


X, HALF, WIDE = empty(4, 6), empty(4, 6, dtype=torch.float16), empty(4, 1)
CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (aten.mul.Tensor, (X, X), {}),
    (aten.mul.Tensor, (X, HALF), {}),
    (aten.mul.Tensor, (X, WIDE), {}),
    (aten.mul.Tensor, (X.t(), X.t()), {}),
    (aten.mul.Tensor, (X, 2), {}),
    (aten.mul.Tensor, (X, 2.0), {}),
    (aten.mul.Tensor, (X, True), {}),
    (aten.mul.Tensor, (empty(4, dtype=torch.int64), 2), {}),
    (aten.mul.Tensor, (empty(4, dtype=torch.int64), 2.0), {}),
    (aten.mul.Tensor, (empty(4, dtype=torch.int64), True), {}),
    (aten.cat.default, ([X, X],), {}),
    (aten.cat.default, ([X, X], 1), {}),
    (aten.sum.dim_IntList, (X, [0]), {"dtype": torch.float64}),
    (aten.sum.dim_IntList, (X, [0], True), {}),
    (aten.empty_like.default, (X.t(),), {"memory_format": torch.contiguous_format}),
    (aten.empty_like.default, (X.t(),), {}),
    (aten.native_layer_norm.default, (X, [6], None, None, 1e-5), {}),
    (
        aten.native_layer_norm_backward.default,
        (X, X, [6], WIDE, WIDE, None, None, [True, False, False]),
        {},
    ),
    (aten.topk.default, (X, 2), {}),
]


def test_each_call_returns_its_own_layouts() -> None:
    repeated = RepeatedCalls()
    for func, args, kwargs in (*CALLS, *reversed(CALLS), *CALLS):
        assert layouts(repeated.result(func, args, kwargs)) == layouts(func(*args, **kwargs))


def test_each_result_has_its_own_memory() -> None:
    repeated = RepeatedCalls()
    first, second = (repeated.result(aten.topk.default, (X, 2), {}) for _ in range(2))
    storages = {t.untyped_storage()._cdata for t in (*first, *second)}
    assert len(storages) == 4 and X.untyped_storage()._cdata not in storages


@pytest.mark.parametrize(
    ("func", "args"),
    [
        (aten.view.default, (X, [24])),
        (aten.add_.Tensor, (X, X)),
        (aten.split.Tensor, (X, 2)),
        (aten._unsafe_view.default, (X, [24])),
        (aten.mul.Tensor, (X, torch.ones(()))),
        (aten.bernoulli.p, (X, 0.5)),
    ],
)
def test_views_writes_lists_data_and_random_numbers_run_each_time(func: Any, args: Any) -> None:
    repeated = RepeatedCalls()
    for _ in range(2):
        assert layouts(repeated.result(func, args, {})) == layouts(func(*args))
    assert not repeated._layouts


def test_the_default_dtype_is_part_of_the_call() -> None:
    repeated = RepeatedCalls()
    call: Any = (aten.full.default, ([3], 1.0), {"device": torch.device("meta")})
    assert repeated.result(*call).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert repeated.result(*call).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_traces_share_layouts_only_under_the_same_rules_and_on_the_same_gpu() -> None:
    def shared(gpu: str, *excluded: str) -> RepeatedCalls:
        calls = RepeatedCalls()
        calls.share(frozenset(excluded), find_gpu(gpu))
        return calls

    first = shared("h200", "a")
    first.result(aten.mul.Tensor, (X, WIDE), {})
    assert first._layouts
    assert shared("h200", "a")._layouts is first._layouts
    assert shared("a100", "a")._layouts is not first._layouts
    assert shared("h200", "a", "mul.Tensor")._layouts == {}


def test_shared_layouts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_calls, "_MOST", 2)
    for columns in range(1, 6):
        calls = RepeatedCalls()
        calls.share(frozenset({"b"}), find_gpu("h200"))
        assert len(calls._layouts) <= 3
        result = calls.result(aten.mul.Tensor, (X, empty(4, columns)[:, :1]), {})
        assert result.shape == (4, 6)


class Mixed(nn.Module):
    """Equal blocks, with views, copies and ops that return a view without declaring it."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU()) for _ in range(3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x) + x
            x = torch.cat([x, x.transpose(0, 1).softmax(-1)])[:8]
            x = block[1](x.transpose(0, 1)).transpose(0, 1).reshape(8, 64).view(8, 8, 8)
        return x


@pytest.mark.parametrize("autocast", [None, "bf16"])
def test_a_step_equals_one_with_every_call_dispatched(
    autocast: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step() -> Trace:
        inputs = (torch.empty(8, 8, 8),)
        return trace(Mixed(), inputs, phase="training", autocast=autocast)

    step()  # work that a process does only once is done here
    repeated = step()
    monkeypatch.setattr(
        RepeatedCalls, "result", lambda self, func, args, kwargs: func(*args, **kwargs)
    )
    assert step() == repeated
