"""Attention that is written as separate ops, in a compiled step. Each expectation is the result of
the real Inductor of torch 2.13 for the same module on an H200 (`predict --mode compiled
--exact`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import trace
from simulator.fusion import fused
from simulator.fusion.passes.attention import attended
from simulator.hardware.gpu import gpu
from simulator.lowering import lower
from simulator.records import Trace

Weigh = Callable[[Tensor], Tensor]


class Attention(nn.Module):
    def __init__(self, weigh: Weigh, scale: float = 1.0) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(256, 256) for _ in range(4))
        self.weigh, self.scale = weigh, scale

    def forward(self, x: Tensor) -> Tensor:
        b, s, w = x.shape
        q, k, v = (f(x).view(b, s, 4, 64).transpose(1, 2) for f in (self.q, self.k, self.v))
        weights = self.weigh((q * self.scale if self.scale != 1 else q) @ k.transpose(-2, -1))
        return self.o((weights @ v).transpose(1, 2).reshape(b, s, w))


def step(
    weigh: Weigh, dtype: torch.dtype = torch.bfloat16, scale: float = 1.0, card: str = "h200"
) -> Trace:
    module = Attention(weigh, scale).to(dtype)
    return trace(module, (torch.zeros(4, 128, 256, dtype=dtype),), gpu=card)


def launches(traced: Trace, card: str = "h200") -> list[str]:
    ops = fused(traced, gpu(card)).trace.ops
    return [op.name.split(".")[0 if op.name.startswith("fused") else 1] for op in ops]


def with_zero_exponentials(scores: Tensor) -> Tensor:
    return (scores / 8.0).softmax(-1)


def multiplied(scores: Tensor) -> Tensor:
    return (scores * 0.125).softmax(-1)


def masked(scores: Tensor) -> Tensor:
    mask = torch.arange(128, device=scores.device).to(scores.dtype)[None, None, None]
    return (scores / 8.0 + mask).softmax(-1)


def in_float32(scores: Tensor) -> Tensor:
    return (scores / 8.0).float().softmax(-1).to(scores.dtype)


def plain(scores: Tensor) -> Tensor:
    return scores.softmax(-1)


def causal(scores: Tensor) -> Tensor:
    later = torch.ones(128, 128, dtype=torch.bool, device=scores.device).triu(1)
    return (scores / 8.0).masked_fill(later, float("-inf")).softmax(-1)


CALL = "_scaled_dot_product_cudnn_attention"
APART = [
    "addmm",
    "addmm",
    "addmm",
    "fused",
    "fused",
    "bmm",
    "fused",
    "fused",
    "bmm",
    "fused",
    "addmm",
]


@pytest.mark.parametrize("weigh", [with_zero_exponentials, in_float32])
def test_scores_that_are_divided_become_one_call(weigh: Weigh) -> None:
    assert launches(step(weigh)) == ["addmm", "addmm", "addmm", CALL, "addmm"]


def test_a_mask_that_is_added_is_the_calls() -> None:
    row = step(masked)
    assert launches(row) == ["addmm", "addmm", "addmm", "fused", CALL, "addmm"]
    call = next(op for op in fused(row, gpu("h200")).trace.ops if CALL in op.name)
    assert call.signature["attn_bias"].shape == (1, 1, 1, 128)


def test_scores_that_are_multiplied_become_one_call_among_its_copies() -> None:
    assert launches(step(multiplied)) == [
        "addmm",
        "addmm",
        "addmm",
        "fused",
        "fused",
        "fused",
        CALL,
        "fused",
        "addmm",
    ]


@pytest.mark.parametrize("weigh", [plain, causal])
def test_ops_outside_the_patterns_stay_separate(weigh: Weigh) -> None:
    assert launches(step(weigh)) == APART


def test_scaled_queries_and_float32_are_not_replaced() -> None:
    assert launches(step(plain, scale=0.125)) == APART
    assert CALL not in launches(step(with_zero_exponentials, torch.float32))


class Activated(Attention):
    """An activation is applied to the weighted values of each token before the heads are joined."""

    def forward(self, x: Tensor) -> Tensor:
        b, s, w = x.shape
        q, k, v = (f(x).view(b, s, 4, 64).transpose(1, 2) for f in (self.q, self.k, self.v))
        tokens = (self.weigh(q @ k.transpose(-2, -1)) @ v).transpose(1, 2)
        return self.o(tokens.relu().reshape(b, s, w))


def test_only_a_copy_of_the_result_is_the_calls() -> None:
    module = Activated(with_zero_exponentials).to(torch.bfloat16)
    traced = trace(module, (torch.zeros(4, 128, 256, dtype=torch.bfloat16),), gpu="h200")
    names = [op.name for op in attended(traced, gpu("h200")).trace.ops]
    assert sum(CALL in name for name in names) == 1
    assert names.count("aten.relu.default") == 1


def test_the_kernel_is_that_of_the_card() -> None:
    flash, efficient = (f"_scaled_dot_product_{name}_attention" for name in ("flash", "efficient"))
    assert flash in launches(step(with_zero_exponentials, card="a100"), "a100")
    assert efficient in launches(step(masked, card="a100"), "a100")
    assert efficient in launches(step(with_zero_exponentials, torch.float16, card="v100"), "v100")
    assert "bmm" in launches(step(with_zero_exponentials, card="mi300x"), "mi300x")


def test_the_call_does_the_same_products_and_moves_less() -> None:
    """Two products of 4·4·128·128·64 multiply-adds; q, k and v are read once and the result is
    written once, each with 4·128·256 elements of 2 bytes."""
    origin = step(with_zero_exponentials)
    compiled = fused(origin, gpu("h200")).trace
    call = next(op for op in compiled.ops if CALL in op.name)
    assert (call.signature.read_bytes, call.signature.write_bytes) == (3 * 262144, 262144)
    works = {w.family: w.flops for w in lower(compiled, gpu("h200")).works}
    assert works["attention"] == 2 * 2 * 4 * 4 * 128 * 128 * 64


def test_the_groups_name_the_replaced_ops() -> None:
    origin = step(with_zero_exponentials)
    compiled = fused(origin, gpu("h200"))
    at = next(i for i, op in enumerate(compiled.trace.ops) if CALL in op.name)
    named = [origin.ops[i].name.split(".")[1] for i in compiled.groups[at].nodes[0].ops]
    assert named == ["clone", "clone", "bmm", "div", "_softmax", "clone", "bmm", "clone"]


def test_pytorchs_own_attention_is_left_alone() -> None:
    class Own(nn.Module):
        def forward(self, q: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(q, q, q)

    q = torch.zeros(2, 4, 16, 64, dtype=torch.bfloat16)
    assert launches(trace(Own(), (q,))) == [CALL]


# [4, 128, 256] viewed as 4 heads of 64: strides of 128·256 between samples and 64 between heads
VIEWED, COPIED = (32768, 64, 256, 1), (32768, 8192, 64, 1)
COPIES, SCORES = 4 * 128 * 256 * 2, 4 * 4 * 128 * 128 * 2  # bytes


@pytest.mark.parametrize(
    ("weigh", "strides", "replaced", "gone"),
    [
        # three copies, two products, the scale, the softmax, and a copy of its result, which stays
        (with_zero_exponentials, VIEWED, 8, 4 * COPIES + 3 * SCORES),
        (multiplied, COPIED, 4, 3 * SCORES),  # two products, the scale and the softmax
        (masked, VIEWED, 9, 4 * COPIES + 4 * SCORES),
        # as above, with a cast to float32, a softmax of twice the width, and a cast back
        (in_float32, VIEWED, 10, 4 * COPIES + (1 + 1 + 2 + 2 + 1) * SCORES),
    ],
)
def test_the_call_reads_and_writes_what_is_left_of_the_replaced_ops(
    weigh: Weigh, strides: tuple[int, ...], replaced: int, gone: int
) -> None:
    before = step(weigh)
    graph = attended(before, gpu("h200"))
    ((place, members),) = graph.members.items()
    call = graph.trace.ops[place]
    shape = (4, 4, 128, 64)
    assert [(t.shape, t.stride) for t in (*call.inputs[:3], call.outputs[0])] == [
        (shape, strides)
    ] * 4
    assert call.signature.names[:3] == ("query", "key", "value")
    assert len(members) == replaced
    # replaces the product with the values
    products = [index for index in members if before.ops[index].name == "aten.bmm.default"]
    assert products[1:] == [graph.source[place]]
    bytes_before, bytes_after = (sum(s.nbytes for s in t.storages) for t in (before, graph.trace))
    assert bytes_before - bytes_after == gone
    # each operand lives until the call has read it; the result's life begins with the call
    storages = [graph.trace.storages[number] for number in call.storages]
    assert all(s.freed is None or s.freed > place for s in storages)
    assert storages[-1].born == place


class Heads(nn.Module):
    """Attention to other tokens, of which the caller drops the averaged weights."""

    def __init__(self) -> None:
        super().__init__()
        self.cross = nn.MultiheadAttention(256, 4, batch_first=True)
        self.o = nn.Linear(256, 256)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.o(self.cross(x, y, y)[0])


def heads(dtype: torch.dtype) -> list[str]:
    inputs = torch.zeros(4, 128, 256, dtype=dtype), torch.zeros(4, 64, 256, dtype=dtype)
    return launches(trace(Heads().to(dtype).eval(), inputs, gpu="h200"))


def test_flat_heads_become_one_call_whose_result_needs_no_copy() -> None:
    assert heads(torch.bfloat16)[-6:] == ["fused", CALL, "addmm", "fused", "mm", "fused"]


def test_averaged_weights_that_nothing_reads_are_not_computed() -> None:
    assert heads(torch.float32)[-8:] == ["bmm", "fused", "bmm", "fused", *2 * ["mm", "fused"]]
