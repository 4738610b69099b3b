"""`flex_attention` without data: one kernel if compiled, else the ops that torch runs.

A compiled `flex_attention` is one Triton kernel forward and one backward. They compute the blocks
of the mask in which a query sees a key. Outside of `torch.compile` torch materializes all scores
(`sdpa_dense` of torch/_higher_order_ops/flex_attention.py); its gradients are taken to be those of
the same ops.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch

from simulator.modes import Run
from simulator.records import Assumption
from simulator.tracing.recorder import Recorder
from simulator.tracing.substituted import substituted

MODULE = "torch.nn.attention.flex_attention"
_NAME = "compiled.flex_attention"
_MOST_BLOCKS = 64  # blocks of queries, and of keys, at which a mask is sampled
_COMPILED_CALL = "torch/_dynamo/eval_frame.py"


@contextmanager
def traceable_flex_attention(recorder: Recorder, run: Run) -> Generator[None]:
    """Replace the functions that `flex_attention` calls, if its module is imported."""
    module = sys.modules.get(MODULE)
    if module is None:
        yield
        return

    empty_mask = module._create_empty_block_mask

    def compiled() -> bool:
        return run == "compiled" or _in_compiled_call()

    def constant_mask(q: torch.Tensor, k: torch.Tensor) -> Any:
        if not compiled():
            return empty_mask(q, k)
        with recorder.paused():
            return empty_mask(q, k)

    def call(
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        score_mod: Callable[..., torch.Tensor],
        block_mask: tuple[Any, ...],
        *rest: Any,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if not compiled():
            from torch._higher_order_ops.flex_attention import sdpa_dense

            return sdpa_dense(q, k, v, score_mod, block_mask, *rest)
        share = _share_of_blocks(recorder, block_mask, q.shape[-2], k.shape[-2])
        taken = "all blocks of the mask computed" if share is None else f"{share:.3g} of the blocks"
        if recorder.recording:
            recorder.assumptions.append(Assumption(len(recorder.ops), _NAME, taken))
        out, lse = _OneKernel.apply(recorder, 1.0 if share is None else share, q, k, v)
        return out, lse, lse

    with substituted(
        module,
        flex_attention_hop=call,
        _create_empty_block_mask=constant_mask,
        _FLEX_ATTENTION_DISABLE_COMPILE_DEBUG=True,
    ):
        yield


def _in_compiled_call() -> bool:
    """Whether a function that `torch.compile` returned calls the caller of this function."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.replace("\\", "/").endswith(_COMPILED_CALL):
            return True
        frame = frame.f_back
    return False


def _share_of_blocks(
    recorder: Recorder, block_mask: tuple[Any, ...], queries: int, keys: int
) -> float | None:
    """Share of the mask's blocks in which a query sees a key. Blocks are judged by their corners
    and centres, up to 64 × 64 blocks of the first head. None if the mask depends on data of the
    GPU."""
    *_, query_block, key_block, mask = block_mask
    with recorder.paused():
        m, rows = _samples(queries, query_block)
        n, columns = _samples(keys, key_block)
        zero = torch.zeros((), dtype=torch.int64, device="cpu")
        try:
            seen = mask(zero, zero, m[:, None], n[None, :])
            visible = seen.expand(len(m), len(n)).view(rows, -1, columns, len(n) // columns)
            return float(visible.any(3).any(1).float().mean())
        except (RuntimeError, NotImplementedError, IndexError, TypeError):
            return None


def _samples(length: int, block: int) -> tuple[torch.Tensor, int]:
    """Corners and centres of evenly spaced blocks, as positions, and the number of those blocks."""
    count = -(-length // block)
    chosen = torch.linspace(0, count - 1, min(count, _MOST_BLOCKS), device="cpu").round().long()
    inside = torch.tensor([0, block // 2, block - 1], device="cpu")
    return (chosen[:, None] * block + inside).clamp(max=length - 1).flatten(), len(chosen)


class _OneKernel(torch.autograd.Function):
    """softmax(q·kᵀ)·v in one kernel, of a share of the blocks, and its gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        recorder: Recorder,
        share: float,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with recorder.paused():
            order = sorted(range(3), key=lambda d: (-q.stride(d), d))
            shape = (*q.shape[:-1], v.shape[-1])
            out = q.new_empty([shape[d] for d in (*order, 3)])
            out = out.permute([*(order.index(d) for d in range(3)), 3])
            lse = q.new_empty(q.shape[:-1], dtype=torch.float32)
        if recorder.recording:
            inputs = {"query": q, "key": k, "value": v}
            recorder.emit(f"{_NAME}.default", inputs, {"share": share}, (out, lse))
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.recorder, ctx.share = recorder, share
        ctx.mark_non_differentiable(lse)
        return out, lse

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[Any, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        recorder: Recorder = ctx.recorder
        with recorder.paused():
            gradients = tuple(torch.empty_like(t) for t in (q, k, v))
        if recorder.recording:
            inputs = {"grad_out": grads[0], "query": q, "key": k, "value": v}
            inputs |= {"out": out, "logsumexp": lse}
            recorder.emit(f"{_NAME}_backward.default", inputs, {"share": ctx.share}, gradients)
        return None, None, *gradients
