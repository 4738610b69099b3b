"""The kernel that `scaled_dot_product_attention` selects, in eager mode and in the calls that
Inductor substitutes for attention patterns.

The requirements are those of ATen/native/transformers/cuda/sdp_utils.cpp, as of torch 2.11. They
were compared with the choice on an H200 at 20,160 points (`attention_paths.jsonl.gz`). Hopper and
data-centre Blackwell try cuDNN first; all GPUs then try the flash kernel, the memory-efficient one,
and plain matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simulator.records import Tensor

CUDNN_FIRST = ((9, 0), (10, 0))
_AMPERE, _MAXWELL = (8, 0), (5, 0)
_HALVES = ("float16", "bfloat16")
_WIDEST = 256  # head width for cuDNN and flash


@dataclass(frozen=True)
class Attention:
    """One call on a GPU of this compute capability. `grouped`: key heads may be fewer
    (`enable_gqa`); `learned`: the mask requires a gradient, in any grad mode."""

    capability: tuple[int, int]
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None = None
    causal: bool = False
    grouped: bool = False
    learned: bool = False

    @property
    def heads(self) -> tuple[int, int, int]:
        return self.query.shape[1], self.key.shape[1], self.value.shape[1]

    @property
    def widths(self) -> tuple[int, int, int]:
        return self.query.shape[-1], self.key.shape[-1], self.value.shape[-1]


Need = Callable[[Attention], bool]


def _is_nonempty(a: Attention) -> bool:
    return len(a.query.shape) == 4 and min(a.query.shape[2], a.key.shape[2]) > 0


def _is_dense(a: Attention) -> bool:
    """PyTorch's `check_last_dim_stride_equals_1_dense`. A mask that is expanded over the keys fails
    it."""
    return all(t.stride[-1] == 1 for t in (a.query, a.key, a.value, a.mask) if t is not None)


def _heads_match(a: Attention) -> bool:
    return a.grouped or len(set(a.heads)) == 1


def _is_half(a: Attention) -> bool:
    return a.query.dtype in _HALVES and a.capability >= _AMPERE


def _is_narrow(a: Attention) -> bool:
    return max(a.widths) <= _WIDEST


_EVERY: tuple[Need, ...] = (_is_nonempty, _is_dense, _heads_match)
_NEEDS: dict[str, tuple[Need, ...]] = {
    "cudnn": (
        *_EVERY, _is_half, _is_narrow,
        lambda a: all(width % 8 == 0 for width in a.widths),
        lambda a: not a.learned,
    ),
    "flash": (
        *_EVERY, _is_half, _is_narrow,
        lambda a: a.mask is None,
        lambda a: len(set(a.widths)) == 1,
        lambda a: not a.causal or a.query.shape[2] == a.key.shape[2],
    ),
    "efficient": (
        *_EVERY,
        lambda a: a.capability >= (_AMPERE if a.query.dtype == "bfloat16" else _MAXWELL),
        lambda a: a.query.dtype in (*_HALVES, "float32"),
        lambda a: all(width % (16 // a.query.itemsize) == 0 for width in a.widths),
        lambda a: len(set(a.heads)) == 1,
    ),
    "math": (),
}  # fmt: skip


def takes(kernel: str, call: Attention) -> bool:
    """Whether "cudnn", "flash", "efficient" or "math" can compute the call."""
    return all(need(call) for need in _NEEDS[kernel])


def choose(call: Attention) -> str:
    """The first kernel in PyTorch's order that can compute the call."""
    first = ("cudnn",) if call.capability in CUDNN_FIRST else ()
    order = (*first, "flash", "efficient", "math")
    return next(kernel for kernel in order if takes(kernel, call))
