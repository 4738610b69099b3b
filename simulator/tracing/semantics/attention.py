"""The ops that `scaled_dot_product_attention` becomes on a GPU: a fused kernel after padding, or
plain matrix products (`simulator.costs.attention.selection` chooses)."""

from __future__ import annotations

import torch

from simulator.costs.attention.selection import Attention, choose
from simulator.records import Tensor as Operand
from simulator.tracing.layouts.strides import layout_of, packed, preserved
from simulator.tracing.semantics.registry import Situation, on_gpu, shape_rule

aten = torch.ops.aten
Tensor = torch.Tensor
_ALIGNED = 8  # in elements; `preprocess_mask` of ATen/native/transformers/attention.cpp


@on_gpu("scaled_dot_product_attention")
def attention(
    situation: Situation,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """q [B, H, Sq, D], k [B, Hk, Sk, D], v [B, Hk, Sk, Dv] to [B, H, Sq, Dv]."""
    backend = choose(call_of(situation, q, k, v, attn_mask, is_causal, enable_gqa))
    mask = _additive(attn_mask, q.dtype)
    wants_grad = torch.is_grad_enabled() and any(t.requires_grad for t in (q, k, v))
    if backend == "cudnn":
        return aten._scaled_dot_product_cudnn_attention(
            q, k, v, mask, wants_grad, dropout_p, is_causal, False, scale=scale
        )[0]
    if backend == "flash":
        width = q.shape[-1]
        scale = width**-0.5 if scale is None else scale
        padded = [_pad_to_8(t) for t in (q, k, v)]
        out = aten._scaled_dot_product_flash_attention(
            *padded, dropout_p, is_causal, False, scale=scale
        )[0]
        return out if out.shape[-1] == width else out[..., :width]
    if backend == "efficient":
        if mask is not None:
            mask = _align(mask).expand(q.shape[0], q.shape[1], q.shape[2], k.shape[2])
        return aten._scaled_dot_product_efficient_attention(
            q, k, v, mask, wants_grad, dropout_p, is_causal, scale=scale
        )[0]
    return aten._scaled_dot_product_attention_math(
        q, k, v, mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
    )[0]


def call_of(
    situation: Situation,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    causal: bool,
    grouped: bool,
) -> Attention:
    """The attention call in the form that `choose` takes."""
    learned = mask is not None and mask.requires_grad
    tensors = [t if t is None else _operand(t) for t in (q, k, v, mask)]
    query, key, value, bias = tensors
    assert query is not None and key is not None and value is not None
    return Attention(situation.capability, query, key, value, bias, causal, grouped, learned)


def _operand(tensor: Tensor) -> Operand:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Operand(tuple(tensor.shape), dtype, tuple(tensor.stride()))


@shape_rule("_scaled_dot_product_cudnn_attention")
def cudnn_attention(
    situation: Situation,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_bias: Tensor | None,
    compute_log_sumexp: bool,
    *rest: object,
    **options: object,
) -> tuple[object, ...]:
    """The output in the layout of the query (`alloc_with_matching_layout`), the log-sum-exp if a
    backward pass needs it, and the seed and offset of dropout, which live on the GPU."""
    shape = (*q.shape[:3], v.shape[-1])
    same = v.shape[-1] == q.shape[-1]
    strides = preserved(layout_of(q)) if same else packed(shape, sorted(range(4), key=q.stride))
    out = q.new_empty_strided(shape, strides)
    lse = q.new_empty((*q.shape[:3], 1), dtype=torch.float32) if compute_log_sumexp else None
    seed, offset = (torch.empty((), dtype=torch.int64, device=q.device) for _ in range(2))
    return out, lse, None, None, q.shape[2], k.shape[2], seed, offset, None


def _additive(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Convert a boolean mask to 0 and −∞; return other masks unchanged."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.where(
        mask, 0.0, torch.scalar_tensor(float("-inf"), dtype=dtype, device=mask.device)
    )


def _pad_to_8(x: Tensor) -> Tensor:
    """Pad the head width to a multiple of 8, which the flash kernel requires."""
    missing = -x.shape[-1] % 8
    return torch.constant_pad_nd(x, [0, missing]) if missing else x


def _align(mask: Tensor) -> Tensor:
    """Pad and slice a mask so that its rows begin at multiples of 8 elements, which the efficient
    kernel requires. A row whose length is a multiple is padded by 8 elements (`pad_bias`)."""
    if all(stride % _ALIGNED == 0 for stride in mask.stride()[:-1]):
        return mask
    keys = mask.shape[-1]
    return torch.constant_pad_nd(mask, [0, _ALIGNED - keys % _ALIGNED])[..., :keys]
