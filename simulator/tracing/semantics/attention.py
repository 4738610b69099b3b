"""Which backend `scaled_dot_product_attention` takes on a GPU.

The rules are those of ATen/native/transformers/cuda/sdp_utils.cpp, read for torch 2.11 and held
against recordings: Hopper and data-centre Blackwell ask cuDNN first, every other card the flash
kernel, then the memory-efficient one, then plain matrix products.
"""

from __future__ import annotations

import torch

from simulator.tracing.semantics.registry import Situation, on_gpu, shape_rule

aten = torch.ops.aten
Tensor = torch.Tensor
_HALF = (torch.float16, torch.bfloat16)


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
    backend = choose(situation.capability, q, k, v, attn_mask, dropout_p, is_causal, enable_gqa)
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


def choose(
    capability: tuple[int, int],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    enable_gqa: bool,
) -> str:
    """ "cudnn", "flash", "efficient" or "math"."""
    if q.dim() != 4 or min(q.shape[2], k.shape[2]) == 0:
        return "math"
    width = max(q.shape[-1], v.shape[-1])
    half = q.dtype in _HALF and capability >= (8, 0)
    same_width = q.shape[-1] == k.shape[-1] == v.shape[-1]
    grouped = q.shape[1] != k.shape[1] or k.shape[1] != v.shape[1]
    if grouped and not enable_gqa:
        return "math"
    if any(t.stride(-1) != 1 for t in (q, k, v)):
        return "math"
    if mask is not None and mask.stride(-1) != 1:  # as of one expanded over the keys
        return "math"
    prefers_cudnn = capability in ((9, 0), (10, 0))
    wants_bias = mask is not None and mask.requires_grad and torch.is_grad_enabled()
    if prefers_cudnn and half and width <= 256 and width % 8 == 0 and not wants_bias:
        return "cudnn"
    square = not is_causal or q.shape[2] == k.shape[2]
    if half and mask is None and same_width and width <= 256 and square:
        return "flash"
    aligned = all(t.shape[-1] % (8 if q.dtype in _HALF else 4) == 0 for t in (q, v))
    supported = q.dtype in (torch.float32, torch.float16) or half
    if supported and aligned and not grouped and capability >= (5, 0):
        return "efficient"
    return "math"


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
    """Output laid out as the query is, log-sum-exp where a backward pass wants it, and the
    seed and offset of dropout, which live on the GPU."""
    shape = (*q.shape[:3], v.shape[-1])
    order = sorted(range(4), key=lambda d: (-q.stride(d), d))
    out = q.new_empty([shape[d] for d in order]).permute([order.index(d) for d in range(4)])
    lse = q.new_empty((*q.shape[:3], 1), dtype=torch.float32) if compute_log_sumexp else None
    seed, offset = (torch.empty((), dtype=torch.int64, device=q.device) for _ in range(2))
    return out, lse, None, None, q.shape[2], k.shape[2], seed, offset, None


def _additive(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """A boolean mask as 0 and −∞."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.where(
        mask, 0.0, torch.scalar_tensor(float("-inf"), dtype=dtype, device=mask.device)
    )


def _pad_to_8(x: Tensor) -> Tensor:
    """The flash kernel wants a head width divisible by 8."""
    missing = -x.shape[-1] % 8
    return torch.constant_pad_nd(x, [0, missing]) if missing else x


def _align(mask: Tensor) -> Tensor:
    """The efficient kernel wants rows of 16 elements: pad, then look at a slice."""
    missing = -mask.shape[-1] % 16
    if not missing:
        return mask
    return torch.constant_pad_nd(mask, [0, missing])[..., : mask.shape[-1]]
