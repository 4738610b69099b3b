"""The ops that the fast path of encoder layers calls, with their sizes and strides.

The batch is 2 sequences of 16 tokens, each of 64 numbers in 4 heads; the inner layer has 128.
"""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import launched, sig

HALF = "bfloat16"
X = ((2, 16, 64), HALF)
WEIGHTS: dict[str, Any] = {
    "qkv_weight": ((192, 64), HALF), "qkv_bias": ((192,), HALF),
    "proj_weight": ((64, 64), HALF), "proj_bias": ((64,), HALF),
}  # fmt: skip
LAYER: dict[str, Any] = {
    **WEIGHTS,
    "norm_weight_1": ((64,), HALF), "norm_bias_1": ((64,), HALF),
    "norm_weight_2": ((64,), "float32"), "norm_bias_2": ((64,), HALF),
    "ffn_weight_1": ((128, 64), HALF), "ffn_bias_1": ((128,), HALF),
    "ffn_weight_2": ((64, 128), HALF), "ffn_bias_2": ((64,), HALF),
}  # fmt: skip


def called(works: tuple[Work, ...]) -> list[Signature]:
    return [work.dims["op"] for work in works if work.family == "call"]


def short(works: tuple[Work, ...]) -> list[tuple[object, ...]]:
    """For each called op: its name, and the shape and strides of its inputs and of its result."""
    return [
        (
            op.name.split(".")[1],
            *((t.shape, t.stride) for t in op.inputs),
            "->",
            (op.out.shape, op.out.stride),
        )
        for op in called(works)
    ]


def attention(x: Any = X, mask: Any = None, **args: Any) -> tuple[Work, ...]:
    masks = {} if mask is None else {"mask": mask}
    name = "aten._native_multi_head_attention.default"
    op = sig(name, X, None, {"num_head": 4, **args}, query=x, key=x, value=x, **WEIGHTS, **masks)
    return launched(op)


def layer(x: Any = X, mask: Any = None, **args: Any) -> tuple[Work, ...]:
    masks = {} if mask is None else {"mask": mask}
    name = "aten._transformer_encoder_layer_fwd.default"
    return launched(sig(name, X, None, {"num_heads": 4, **args}, src=x, **LAYER, **masks))


QKV = (
    "addmm", ((192,), (1,)), ((32, 64), (64, 1)), ((64, 192), (1, 64)), "->", ((32, 192), (192, 1)),
)  # fmt: skip
OUT = (
    "addmm", ((64,), (1,)), ((32, 64), (64, 1)), ((64, 64), (1, 64)), "->", ((32, 64), (64, 1)),
)  # fmt: skip
HEAD = ((2, 4, 16, 16), (3072, 16, 192, 1))  # a view of projections of 3·64 numbers for each token
FUSED = (
    "scaled_dot_product_attention", HEAD, HEAD, HEAD, "->", ((2, 4, 16, 16), (1024, 16, 64, 1)),
)  # fmt: skip


def test_fused_attention_reads_the_projections_in_place() -> None:
    assert short(attention(need_weights=False)) == [QKV, FUSED, OUT]


def test_a_query_with_gaps_is_packed_for_fused_attention() -> None:
    gaps = Tensor((2, 16, 64), HALF, (2048, 128, 1))
    copied = ("clone", ((2, 16, 64), (2048, 128, 1)), "->", ((2, 16, 64), (1024, 64, 1)))
    assert short(attention(gaps, need_weights=False)) == [copied, QKV, FUSED, OUT]


ROWS = ("mm", ((32, 64), (64, 1)), ((64, 192), (1, 64)), "->", ((32, 192), (192, 1)))
SCORES = (
    "bmm", ((8, 16, 16), (256, 16, 1)), ((8, 16, 16), (256, 1, 16)), "->",
    ((8, 16, 16), (256, 16, 1)),
)  # fmt: skip
ALL_SCORES = ((2, 4, 16, 16), (1024, 256, 16, 1))
SOFTMAX = ("_softmax", ALL_SCORES, "->", ALL_SCORES)
VALUES = (
    "bmm", ((8, 16, 16), (256, 16, 1)), ((8, 16, 16), (256, 16, 1)), "->",
    ((8, 16, 16), (256, 16, 1)),
)  # fmt: skip
JOINED = (
    "clone", ((2, 16, 4, 16), (1024, 16, 256, 1)), "->", ((2, 16, 4, 16), (1024, 64, 16, 1)),
)  # fmt: skip
MEAN = ((2, 16, 16), (256, 16, 1))


@pytest.mark.parametrize("args", [{}, {"need_weights": True}])
def test_weights_are_averaged_over_the_heads(args: dict[str, Any]) -> None:
    works = attention(**args)
    assert short(works) == [
        ROWS, SCORES, SOFTMAX, VALUES, JOINED, OUT,
        ("sum", ALL_SCORES, "->", MEAN), ("div_", MEAN, "->", MEAN),
    ]  # fmt: skip
    own = {op.name: op.args for op in called(works) if op.args}
    assert own == {
        "aten._softmax.default": {"dim": 3},
        "aten.sum.dim_IntList": {"dim": [1]},
        "aten.div_.Scalar": {"other": 4},
    }
    (separate,) = (work for work in works if work.family != "call")
    # 2·16·192 numbers of 2 bytes and a bias of 192: a sum and a scale for each
    assert separate == Work(
        "pointwise", 2 * 6144, 12288 + 384, 12288, instructions=8 * 6144,
        dims={"elements": 6144, "inputs": 2},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "converted"),
    [("bool", []), (HALF, [("_to_copy", ((2, 16), (16, 1)), "->", ((2, 16), (16, 1)))])],
)
def test_a_mask_of_numbers_becomes_boolean(dtype: str, converted: list[tuple[object, ...]]) -> None:
    works = attention(X, ((2, 16), dtype), need_weights=False)
    masked = ("_masked_softmax", ALL_SCORES, ((2, 16), (16, 1)), "->", ALL_SCORES)
    assert short(works) == [ROWS, SCORES, *converted, masked, VALUES, JOINED, OUT]
    (softmax,) = (op for op in called(works) if "softmax" in op.name)
    assert softmax.inputs[1].dtype == "bool" and softmax.args == {"dim": 3}


def test_sequences_that_are_not_evenly_spaced_are_multiplied_one_by_one() -> None:
    apart = Tensor((2, 16, 64), HALF, (1024, 1, 16))
    assert short(attention(apart, need_weights=False))[0] == (
        "bmm", ((2, 16, 64), (1024, 1, 16)), ((2, 64, 192), (0, 1, 64)), "->",
        ((2, 16, 192), (3072, 192, 1)),
    )  # fmt: skip
    even = Tensor((2, 16, 64), HALF, (16, 1, 32))
    assert short(attention(even, need_weights=False))[0] == (
        "mm", ((32, 64), (1, 32)), ((64, 192), (1, 64)), "->", ((32, 192), (192, 1)),
    )  # fmt: skip


FLAT = ((2, 16, 64), (1024, 64, 1))
ADDED = ("add_", FLAT, FLAT, "->", FLAT)
NORMED = ("native_layer_norm", FLAT, ((64,), (1,)), ((64,), (1,)), "->", FLAT)
FEED = [
    ("_addmm_activation", ((128,), (1,)), ((32, 64), (64, 1)), ((64, 128), (1, 64)), "->",
     ((32, 128), (128, 1))),
    ("addmm", ((64,), (1,)), ((32, 128), (128, 1)), ((128, 64), (1, 128)), "->",
     ((32, 64), (64, 1))),
]  # fmt: skip


@pytest.mark.parametrize("gelu", [False, True])
def test_an_encoder_layer_normalizes_after_or_before(gelu: bool) -> None:
    attended = [QKV, FUSED, OUT]
    after, before = layer(use_gelu=gelu), layer(norm_first=True, use_gelu=gelu)
    assert short(after) == [*attended, ADDED, NORMED, *FEED, ADDED, NORMED]
    assert short(before) == [NORMED, *attended, ADDED, NORMED, *FEED, ADDED]
    for works in (after, before):
        norms = [op for op in called(works) if "norm" in op.name]
        assert [op["weight"].dtype for op in norms] == [HALF, "float32"]  # the first, the second
        assert [op.args for op in norms] == [{"normalized_shape": [64]}] * 2
        (inner,) = (op for op in called(works) if "activation" in op.name)
        assert inner.args == {"use_gelu": gelu}
    assert short(layer()) == short(after)


def test_a_source_with_gaps_is_read_where_it_comes_first() -> None:
    gaps = Tensor((2, 16, 64), HALF, (2048, 128, 1))
    source = ((2, 16, 64), (2048, 128, 1))
    copied = ("clone", source, "->", FLAT)
    added = ("add_", FLAT, source, "->", FLAT)
    attended = [QKV, FUSED, OUT]
    assert short(layer(gaps)) == [copied, *attended, added, NORMED, *FEED, ADDED, NORMED]
    first = ("native_layer_norm", source, ((64,), (1,)), ((64,), (1,)), "->", FLAT)
    assert short(layer(gaps, norm_first=True)) == [first, *attended, added, NORMED, *FEED, ADDED]


def test_a_mask_of_an_encoder_layer_separates_its_scores_without_their_mean() -> None:
    names = [name for name, *_ in short(layer(X, ((2, 16), "bool")))]
    scores = ["mm", "bmm", "_masked_softmax", "bmm", "clone", "addmm"]
    assert names[:6] == scores and names[6:8] == ["add_", "native_layer_norm"]
