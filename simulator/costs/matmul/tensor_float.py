"""Matrix products of float32 numbers on TF32 tensor cores.

A separate op (`tf32.addmm.default`) does the work of the op that it replaces, but with its products
on tensor cores. Convolutions use TF32 in stock PyTorch already.
"""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.matmul import products
from simulator.costs.registry import COSTS, Work, cost, works
from simulator.records import Signature

_OPS = (
    "mm",
    "addmm",
    "addmm_",
    "_addmm_activation",
    "bmm",
    "baddbmm",
    "baddbmm_",
    "addbmm",
    "addbmm_",
)
PRODUCTS = frozenset(
    name
    for name, function in COSTS.items()
    if function.__module__ == products.__name__ and name.split(".")[1] in _OPS
)
"""The products that `torch.set_float32_matmul_precision("high")` moves to TF32."""


def in_tensor_float(name: str) -> str:
    """The name of a product in TF32."""
    return f"tf32.{name.partition('.')[2]}"


@cost(*map(in_tensor_float, sorted(PRODUCTS)))
def product(op: Signature) -> tuple[Work, ...]:
    """FLOPs and bytes of the product, in TF32."""
    kernels = works(replace(op, name=f"aten.{op.name.partition('.')[2]}")) or ()
    return tuple(
        replace(w, engine="tensor", dtype="tf32", instructions=0) if w.family == "gemm" else w
        for w in kernels
    )
