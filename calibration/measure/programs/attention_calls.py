"""One call of attention: its backward pass, its lowered ops and its capture in a CUDA graph."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

from calibration.cases.calls.attention_points import Operands


class DispatchedOps(TorchDispatchMode):
    """Records the names of dispatched ops."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def capture(call: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """Capture one call in a CUDA graph and replay it once.

    Raises the error of a failed capture, after repairing CUDA's state.
    """
    torch.cuda.synchronize()
    graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
    try:
        graph.capture_begin(pool=pool)
        try:
            call()
        finally:
            graph.capture_end()
        graph.replay()
        torch.cuda.synchronize()
    except RuntimeError:
        importlib.import_module("calibration.measure.instruments.timing").mend(pool)
        raise
    return graph


def attend(
    operands: Operands, training: bool, attention: Any = scaled_dot_product_attention
) -> None:
    """Run one call, in training with its backward pass."""
    with nullcontext() if training else torch.no_grad():
        out = attention(*operands.args[:3], **operands.call)
        if training:
            torch.autograd.grad(out.sum(), [t for t in operands.args[:3] if t.requires_grad])


def decomposed_ops(operands: Operands) -> list[str]:
    """Names of the forward pass's ops as AOTAutograd passes them to Inductor."""
    # private modules of torch; without them only this call fails
    from torch._inductor.decomposition import select_decomp_table
    from torch.fx.experimental.proxy_tensor import make_fx

    def call(q: Any, k: Any, v: Any, mask: Any) -> Any:
        options = {**operands.call, "attn_mask": mask}
        return scaled_dot_product_attention(q, k, v, **options)

    graph = make_fx(call, select_decomp_table(), tracing_mode="fake")(
        *[t.detach() for t in operands.args[:3]], operands.call["attn_mask"]
    )
    return [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
