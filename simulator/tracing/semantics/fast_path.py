"""The fast path that `nn.TransformerEncoderLayer` and `nn.MultiheadAttention` take in inference.

They take it if `torch.overrides.has_torch_function` is False, which is never so under a mode for
torch functions, as the one of a trace.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from simulator.costs.attention.fast_path import is_fused
from simulator.tracing.host_counts import NotCounting
from simulator.tracing.recorder import Recorder
from simulator.tracing.semantics.registry import Situation, shape_rule
from simulator.tracing.substituted import substituted

_OVERRIDES: Any = torch.overrides
_DISABLED: Any = vars(torch._C)["_disabled_torch_function_impl"]
_MODULES = {nn.MultiheadAttention.__module__, nn.TransformerEncoderLayer.__module__}


@contextmanager
def without_mode(recorder: Recorder, mode: type) -> Generator[None]:
    """Let `torch.overrides.has_torch_function` ignore modes of this class if these modules call it;
    torch's own functions on symbolic numbers rely on its answer."""
    original = torch.overrides.has_torch_function

    def has_torch_function(arguments: Iterable[object]) -> bool:
        with NotCounting(recorder):
            if sys._getframe(1).f_globals.get("__name__") not in _MODULES:
                return original(arguments)
            modes = _OVERRIDES._get_current_function_mode_stack()
            others = any(not isinstance(each, mode) for each in modes)
            return others or any(map(_overrides, arguments))

    with substituted(torch.overrides, has_torch_function=has_torch_function):
        yield


def _overrides(tensor: object) -> bool:
    """Whether a tensor is of a class with functions of its own."""
    kind: Any = type(tensor)
    if kind is Tensor or not isinstance(tensor, Tensor):
        return False
    return kind.__torch_function__ is not _DISABLED


@shape_rule("_transformer_encoder_layer_fwd")
def encoder_layer(
    situation: Situation,
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """A contiguous tensor of the same shape. Of the tensors inside, the largest at a time are those
    of the attention, or the hidden layer and the residual."""
    result = src.numel()
    rows, further = result // embed_dim, result if norm_first else 0
    hidden = rows * ffn_weight_1.shape[0] + result + further
    attention = _attention_numel(src, num_heads, mask, weights=False) + further - result
    situation.recorder.storages.during(max(hidden, attention) * src.element_size())
    return src.new_empty(src.shape)


@shape_rule("_native_multi_head_attention")
def native_attention(
    situation: Situation,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The result [b, s, width], and the weights [b, s, s] or [b, heads, s, s] if requested."""
    numel = _attention_numel(query, num_head, mask, need_weights)
    situation.recorder.storages.during((numel - query.numel()) * query.element_size())
    b, s, _ = query.shape
    if not need_weights:
        return query.new_empty(query.shape), None
    heads = () if average_attn_weights else (num_head,)
    return query.new_empty(query.shape), query.new_empty((b, *heads, s, s))


def _attention_numel(query: Tensor, heads: int, mask: Tensor | None, weights: bool) -> int:
    """Elements of the tensors inside the attention that exist at a time: the projections and the
    result, or the projections before and after the heads are separated, or these and the scores. A
    masked softmax is not in place."""
    if is_fused(query.stride(-1), query.shape[-1] // heads, mask is not None, weights):
        return 4 * query.numel()
    b, s, _ = query.shape
    scores = b * heads * s * s
    return 3 * query.numel() + max(3 * query.numel(), scores * (1 if mask is None else 2))
