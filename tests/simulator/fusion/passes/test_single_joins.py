"""Joins of one tensor with empty ones, as of a new key-value cache."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import predict_trace
from simulator.fusion.passes.single_joins import without_single_joins
from simulator.records import Trace
from simulator.tracing import trace

X = torch.zeros(4, 128, 1024, dtype=torch.bfloat16)


class Attending(nn.Module):
    """Attention to keys and values that join an empty cache."""

    def __init__(self, values: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.layer = nn.Linear(1024, 2048, bias=False, dtype=torch.bfloat16)
        self.values = values

    def forward(self, x: Tensor) -> Tensor:
        heads = self.layer(x).view(4, 128, 16, 128).transpose(1, 2)
        empty = torch.tensor([], dtype=heads.dtype, device=heads.device)
        keys = torch.cat([empty, heads * 2], dim=-2)
        return F.scaled_dot_product_attention(keys, keys, self.values(heads))


def cached(heads: Tensor) -> Tensor:
    return torch.cat([heads.new_empty(0), heads], dim=-2)


def with_a_gap(heads: Tensor) -> Tensor:
    return torch.cat([heads.new_empty(0), heads[..., :64]], dim=-2)


def of_two(heads: Tensor) -> Tensor:
    return torch.cat([heads[:, :, :64], heads.new_empty(0), heads[:, :, 64:]], dim=-2)


def traced(values: Callable[[Tensor], Tensor]) -> Trace:
    return trace(Attending(values), (X,))


def test_a_join_with_nothing_is_a_view_in_the_layout_of_its_tensor() -> None:
    before = traced(cached)
    after = without_single_joins(before)
    joins = [i for i, op in enumerate(before.ops) if op.name == "aten.cat.default"]
    assert [after.ops[i].name for i in joins] == ["aten.alias.default"] * 2
    assert [len(set(after.ops[i].storages)) for i in joins] == [1, 1]
    query, key, value = after.ops[-1].inputs[:3]
    assert [t.stride for t in (query, key, value)] == [(262144, 128, 2048, 1)] * 3
    assert len(after.ops) == len(before.ops)
    assert without_single_joins(after) is after


@pytest.mark.parametrize(("values", "loops"), [(cached, 1), (with_a_gap, 2), (of_two, 2)])
def test_a_compiled_step_copies_only_where_a_layout_changes(
    values: Callable[[Tensor], Tensor], loops: int
) -> None:
    p = predict_trace(traced(values), mode="compiled")
    names = [kernel.name for kernel in p.kernels]
    assert names.count("fused.pointwise.default") == loops


def test_joins_in_eager_mode_and_of_another_dtype_stay() -> None:
    def widened(heads: Tensor) -> Tensor:
        return torch.cat([torch.zeros(0, device=heads.device), heads], dim=-2).bfloat16()

    assert "cat.default" in [k.name for k in predict_trace(traced(cached)).kernels]
    before = traced(widened)
    join = max(i for i, op in enumerate(before.ops) if op.name == "aten.cat.default")
    assert without_single_joins(before).ops[join].name == "aten.cat.default"
