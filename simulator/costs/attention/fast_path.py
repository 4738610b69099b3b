"""The inference fast path of `nn.TransformerEncoderLayer` and `nn.MultiheadAttention`: one op that
calls others (ATen/native/transformers/transformer.cpp and cuda/attention.cu).

Without a mask, fused attention reads the projections in place. With a mask, with the weights
returned, or with a query that no fused kernel accepts, one kernel adds the bias, scales the queries
and separates the heads, and the scores are a product, a softmax and another product. The second
layer norm and the activation follow the first as in the module; the activation is part of the
product's kernel. Residuals are added in place.

A `Work` of family "call" stands for an op that the fast path calls. Its lowering knows the GPU,
which decides on the attention kernel.
"""

from __future__ import annotations

from typing import Any

from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor, row_major


def call(name: str, out: Tensor, arguments: dict[str, Any] | None = None, **inputs: Tensor) -> Work:
    """The work of an op that another op calls, such as `aten.addmm.default`."""
    op = Signature(name, tuple(inputs.values()), (out,), tuple(inputs), arguments or {})
    return Work("call", dims={"op": op})


@cost("aten._native_multi_head_attention.default")
def native_attention(op: Signature) -> tuple[Work, ...]:
    """Projections to heads, attention, and the projection of its result: [b, s, width]."""
    query, mask = op["query"], op.get("mask")
    weights = bool(op.arg("need_weights", True))
    heads: int = op.args["num_head"]
    return _attention(
        query, heads, op["qkv_weight"], op["qkv_bias"], op["proj_weight"], op["proj_bias"],
        mask, weights,
    )  # fmt: skip


@cost("aten._transformer_encoder_layer_fwd.default")
def encoder_layer(op: Signature) -> tuple[Work, ...]:
    """Attention and the two linear layers, each with a residual and a layer norm."""
    src = op["src"]
    x = packed(src.shape, src.dtype)
    first = bool(op.arg("norm_first", False))
    gelu = bool(op.arg("use_gelu", False))
    norms = [
        _norm(src if first else x, op["norm_weight_1"], op["norm_bias_1"]),
        _norm(x, op["norm_weight_2"], op["norm_bias_2"]),
    ]
    attended = _attention(
        x if first else src, op.args["num_heads"], op["qkv_weight"], op["qkv_bias"],
        op["proj_weight"], op["proj_bias"], op.get("mask"), False,
    )  # fmt: skip
    add = call("aten.add_.Tensor", x, self=x, other=src)
    inner = op["ffn_weight_1"].shape[0]
    rows = _rows(x)
    hidden = packed((rows, inner), x.dtype)
    feed = (
        call(
            "aten._addmm_activation.default", hidden, {"use_gelu": gelu},
            self=op["ffn_bias_1"], mat1=packed((rows, x.shape[-1]), x.dtype),
            mat2=_transposed(op["ffn_weight_1"]),
        ),
        _linear(hidden, op["ffn_weight_2"], op["ffn_bias_2"]),
    )  # fmt: skip
    last = call("aten.add_.Tensor", x, self=x, other=x)
    if first:
        return norms[0], *attended, add, norms[1], *feed, last
    return *attended, add, norms[0], *feed, last, norms[1]


def is_fused(stride: int, width: int, masked: bool, weights: bool) -> bool:
    """Whether the attention is one fused kernel, by the stride of the query's last dimension and
    the width of a head."""
    return not masked and not weights and stride == 1 and width % 8 == 0


def _attention(
    query: Tensor,
    heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    out_weight: Tensor,
    out_bias: Tensor,
    mask: Tensor | None,
    weights: bool,
) -> tuple[Work, ...]:
    b, s, width = query.shape
    size = width // heads
    rows = b * s
    attended = packed((rows, width), query.dtype)
    after = _linear(attended, out_weight, out_bias)
    if is_fused(query.stride[-1], size, mask is not None, weights):
        head = Tensor(
            (b, heads, s, size), query.dtype, (3 * s * width, size, 3 * width, 1)
        )  # a view of the projections
        by_token = Tensor((b, heads, s, size), query.dtype, (s * width, size, width, 1))
        return (
            *_copied(query),
            _linear(packed((rows, width), query.dtype), qkv_weight, qkv_bias),
            call(
                "aten.scaled_dot_product_attention.default",
                by_token,
                query=head,
                key=head,
                value=head,
            ),
            after,
        )
    projected = packed((b, s, 3 * width), query.dtype)
    split = packed((3, b, heads, s, size), query.dtype)
    one = packed((b * heads, s, size), query.dtype)
    turned = Tensor((b * heads, size, s), query.dtype, (s * size, 1, size))
    scores = packed((b * heads, s, s), query.dtype)
    return (
        _product(query, qkv_weight),
        Work(
            "pointwise",
            2 * split.numel,
            projected.nbytes + qkv_bias.nbytes,
            split.nbytes,
            instructions=8 * split.numel,
            dims={"elements": split.numel, "inputs": 2},
        ),
        call("aten.bmm.default", scores, self=one, mat2=turned),
        *_softmax(packed((b, heads, s, s), query.dtype), mask),
        call("aten.bmm.default", one, self=scores, mat2=one),
        call(
            "aten.clone.default", packed((b, s, heads, size), query.dtype),
            self=Tensor((b, s, heads, size), query.dtype, (heads * s * size, size, s * size, 1)),
        ),
        after,
        *((_mean_of_heads(b, heads, s, query.dtype)) if weights else ()),
    )  # fmt: skip


def _softmax(scores: Tensor, mask: Tensor | None) -> tuple[Work, ...]:
    if mask is None:
        return (call("aten._softmax.default", scores, {"dim": 3}, self=scores),)
    boolean = packed(mask.shape, "bool")
    converted = (
        ()
        if mask.dtype == "bool"
        else (call("aten._to_copy.default", boolean, {"dtype": "torch.bool"}, self=mask),)
    )
    masked = call("aten._masked_softmax.default", scores, {"dim": 3}, self=scores, mask=boolean)
    return *converted, masked


def _mean_of_heads(b: int, heads: int, s: int, dtype: str) -> tuple[Work, ...]:
    """The weights, summed over the heads and divided by their number."""
    scores, mean = packed((b, heads, s, s), dtype), packed((b, s, s), dtype)
    return (
        call("aten.sum.dim_IntList", mean, {"dim": [1]}, self=scores),
        call("aten.div_.Scalar", mean, {"other": heads}, self=mean),
    )


def _product(x: Tensor, weight: Tensor) -> Work:
    """x · weightᵀ without a bias: one product of all rows, or one for each element of the batch if
    the rows are not evenly spaced (`should_fold` of ATen/native/LinearAlgebra.cpp)."""
    b, s, width = x.shape
    columns = weight.shape[0]
    if x.stride[0] == s * x.stride[1]:
        rows = Tensor((b * s, width), x.dtype, x.stride[1:])
        out = packed((b * s, columns), x.dtype)
        return call("aten.mm.default", out, self=rows, mat2=_transposed(weight))
    expanded = Tensor((b, width, columns), x.dtype, (0, *_transposed(weight).stride))
    return call("aten.bmm.default", packed((b, s, columns), x.dtype), self=x, mat2=expanded)


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Work:
    out = packed((x.shape[0], weight.shape[0]), x.dtype)
    return call("aten.addmm.default", out, self=bias, mat1=x, mat2=_transposed(weight))


def _norm(x: Tensor, weight: Tensor, bias: Tensor) -> Work:
    out = packed(x.shape, x.dtype)
    sizes = {"normalized_shape": [x.shape[-1]]}
    return call("aten.native_layer_norm.default", out, sizes, input=x, weight=weight, bias=bias)


def _copied(x: Tensor) -> tuple[Work, ...]:
    if x.contiguous:
        return ()
    return (call("aten.clone.default", packed(x.shape, x.dtype), self=x),)


def _rows(x: Tensor) -> int:
    return x.numel // x.shape[-1]


def packed(shape: tuple[int, ...], dtype: str) -> Tensor:
    """A contiguous tensor."""
    return Tensor(shape, dtype, row_major(shape))


def _transposed(weight: Tensor) -> Tensor:
    return Tensor(weight.shape[::-1], weight.dtype, weight.stride[::-1])
