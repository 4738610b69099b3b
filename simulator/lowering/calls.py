"""The kernels of an op that another op of ATen calls."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs import Work
from simulator.costs.attention.selection import Attention, choose
from simulator.hardware.gpu import GPU
from simulator.lowering.registry import launches, lowering
from simulator.records import Signature

_ATTENTION = "aten.scaled_dot_product_attention.default"


@lowering("call")
def called(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The kernels of the op that a work of family "call" stands for."""
    inner: Signature = work.dims["op"]
    if inner.name == _ATTENTION:
        inner = _attention(inner, gpu)
    return launches(inner, gpu) or ()


def _attention(op: Signature, gpu: GPU) -> Signature:
    """The fused attention kernel that `scaled_dot_product_attention` selects on this GPU. For bf16
    before Ampere, which has none, it is the memory-efficient one."""
    capability = gpu.compute_capability or (8, 0)
    query, key, value = op.inputs
    backend = choose(Attention(capability, query, key, value))
    name = {
        "cudnn": "aten._scaled_dot_product_cudnn_attention.default",
        "flash": "aten._scaled_dot_product_flash_attention.default",
    }.get(backend, "aten._scaled_dot_product_efficient_attention.default")
    return replace(op, name=name)
