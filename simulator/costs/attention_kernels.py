"""Which kernel `scaled_dot_product_attention` takes: one table, for eager steps and for the calls
that Inductor makes of attention written out.

The needs are those of ATen/native/transformers/cuda/sdp_utils.cpp, read for torch 2.11 and held
against what an H200 answered at 20,160 points (`attention_paths.jsonl.gz`). Hopper and data-centre
Blackwell ask cuDNN first, every other card the flash kernel, then the memory-efficient one; plain
matrix products take what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simulator.records import Tensor

CUDNN_FIRST = ((9, 0), (10, 0))
_AMPERE, _MAXWELL = (8, 0), (5, 0)
_HALVES = ("float16", "bfloat16")
_WIDEST = 256  # of a head, for cuDNN and flash


@dataclass(frozen=True)
class Attention:
    """One call on a card of this compute capability. `grouped` where heads of keys may be fewer
    (`enable_gqa`), `learned` where the mask itself requires a gradient, in any grad mode."""

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


def _filled(a: Attention) -> bool:
    return len(a.query.shape) == 4 and min(a.query.shape[2], a.key.shape[2]) > 0


def _dense(a: Attention) -> bool:
    """`check_last_dim_stride_equals_1_dense`: a mask expanded over the keys fails here."""
    return all(t.stride[-1] == 1 for t in (a.query, a.key, a.value, a.mask) if t is not None)


def _known_heads(a: Attention) -> bool:
    return a.grouped or len(set(a.heads)) == 1


def _half(a: Attention) -> bool:
    return a.query.dtype in _HALVES and a.capability >= _AMPERE


def _narrow(a: Attention) -> bool:
    return max(a.widths) <= _WIDEST


_EVERY: tuple[Need, ...] = (_filled, _dense, _known_heads)
_NEEDS: dict[str, tuple[Need, ...]] = {
    "cudnn": (
        *_EVERY, _half, _narrow,
        lambda a: all(width % 8 == 0 for width in a.widths),
        lambda a: not a.learned,
    ),
    "flash": (
        *_EVERY, _half, _narrow,
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
    """Can "cudnn", "flash", "efficient" or "math" compute the call?"""
    return all(need(call) for need in _NEEDS[kernel])


def choose(call: Attention) -> str:
    """The kernel that PyTorch takes, of those that can."""
    first = ("cudnn",) if call.capability in CUDNN_FIRST else ()
    order = (*first, "flash", "efficient", "math")
    return next(kernel for kernel in order if takes(kernel, call))
