"""The kernels of the fast path of encoder layers, which calls other ops."""

from __future__ import annotations

from typing import Any

import pytest

from calibration.record.read import recordings
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from simulator.lowering.inner_ops import inner_ops
from simulator.records import Signature, Tensor, row_major

B, S, WIDTH, HEADS, INNER = 2, 16, 64, 4, 128
HALF = "bfloat16"


def packed(*shape: int, dtype: str = HALF) -> Tensor:
    return Tensor(shape, dtype, row_major(shape))


WEIGHTS = {
    "qkv_weight": packed(3 * WIDTH, WIDTH),
    "qkv_bias": packed(3 * WIDTH),
    "proj_weight": packed(WIDTH, WIDTH),
    "proj_bias": packed(WIDTH),
}
LAYER = WEIGHTS | {
    "norm_weight_1": packed(WIDTH),
    "norm_bias_1": packed(WIDTH),
    "norm_weight_2": packed(WIDTH),
    "norm_bias_2": packed(WIDTH),
    "ffn_weight_1": packed(INNER, WIDTH),
    "ffn_bias_1": packed(INNER),
    "ffn_weight_2": packed(WIDTH, INNER),
    "ffn_bias_2": packed(WIDTH),
}


def layer(x: Tensor, mask: Tensor | None = None, **args: Any) -> Signature:
    inputs = {"src": x, **LAYER} | ({} if mask is None else {"mask": mask})
    args = {"embed_dim": WIDTH, "num_heads": HEADS, **args}
    name = "aten._transformer_encoder_layer_fwd.default"
    return Signature(name, tuple(inputs.values()), (packed(B, S, WIDTH),), tuple(inputs), args)


def attention(x: Tensor, **args: Any) -> Signature:
    inputs = {"query": x, "key": x, "value": x, **WEIGHTS}
    args = {"embed_dim": WIDTH, "num_head": HEADS, **args}
    name = "aten._native_multi_head_attention.default"
    return Signature(name, tuple(inputs.values()), (x,), tuple(inputs), args)


def families(op: Signature, card: str = "h200") -> list[str]:
    kernels = launches(op, gpu(card))
    assert kernels is not None
    return [work.family for work in kernels if work.family != "fill"]


ATTENTION = ["gemm", "attention", "gemm"]
SEPARATE = ["gemm", "pointwise", "gemm", "softmax", "gemm", "copy", "gemm"]
FEED = ["gemm", "gemm", "pointwise"]


@pytest.mark.parametrize("card", ["h200", "a100", "v100"])
def test_norms_after_or_before(card: str) -> None:
    x = packed(B, S, WIDTH)
    after = [*ATTENTION, "pointwise", "norm", *FEED, "norm"]
    assert families(layer(x), card) == after
    before = ["norm", *ATTENTION, "pointwise", "norm", *FEED]
    assert families(layer(x, norm_first=True), card) == before


def test_a_mask_separates_the_scores() -> None:
    mask = packed(B, S)
    separate = [*SEPARATE[:3], "pointwise", *SEPARATE[3:]]  # the mask becomes boolean
    rest = ["pointwise", "norm", *FEED, "norm"]
    assert families(layer(packed(B, S, WIDTH), mask)) == [*separate, *rest]
    assert families(layer(packed(B, S, WIDTH), packed(B, S, dtype="bool"))) == [*SEPARATE, *rest]


def test_weights_are_averaged_over_the_heads() -> None:
    x = packed(B, S, WIDTH)
    assert families(attention(x, need_weights=False)) == ATTENTION
    assert families(attention(x)) == [*SEPARATE, "reduction", "pointwise"]


def test_a_query_whose_channels_are_apart_is_not_fused() -> None:
    apart = Tensor((B, S, WIDTH), HALF, (S * WIDTH, 1, S))
    kernels = launches(attention(apart, need_weights=False), gpu("h200")) or ()
    assert [work.family for work in kernels if work.family != "fill"] == SEPARATE
    # one product for each sequence, and one for all rows if the sequences are evenly spaced
    products = [work.dims for work in kernels if work.family == "gemm"]
    assert (products[0]["b"], products[0]["m"], products[0]["n"]) == (B, S, 3 * WIDTH)
    even = Tensor((B, S, WIDTH), HALF, (S, 1, B * S))
    (first, *_) = [w.dims for w in launches(attention(even), gpu("h200")) or () if "m" in w.dims]
    assert (first["b"], first["m"], first["n"]) == (1, B * S, 3 * WIDTH)


def test_products_are_those_of_the_layer() -> None:
    kernels = launches(layer(packed(B, S, WIDTH)), gpu("h200")) or ()
    rows = B * S
    per_row = 3 * WIDTH * WIDTH + WIDTH * WIDTH + 2 * WIDTH * INNER
    assert sum(work.flops for work in kernels if work.family == "gemm") == 2 * rows * per_row


def test_called_ops_count_for_the_host() -> None:
    op = layer(packed(B, S, WIDTH))
    kernels = launches(op, gpu("h200")) or ()
    # four products as two plain ops each, attention as five, two norms as two, two additions
    assert inner_ops(op, kernels) == 4 * 2 + 5 + 2 * 2 + 2


@pytest.mark.parametrize("name", ["own-encoder/fp16", "own-perceiver/bf16", "own-clip/bf16"])
def test_kernels_take_as_long_as_recorded(name: str) -> None:
    recording = next(r for r in recordings("own_second") if r.name.startswith(name))
    traced = retrace(recording.case, "eager")
    assert len(traced.ops) == len(recording.ops)
    mine = ("_transformer_encoder_layer_fwd", "_native_multi_head_attention")
    recorded_s = sum(
        seconds
        for op in recording.ops
        if any(part in op.name for part in mine)
        for _, seconds in op.kernels
    )
    predicted_s = sum(
        kernel.duration_s
        for kernel in predict_trace(traced, gpu="h200").kernels
        if any(part in traced.ops[kernel.op].name for part in mine)
    )
    assert predicted_s == pytest.approx(recorded_s, rel=0.1)
