"""Matrix products of float32 numbers on TF32 tensor cores.

A trace marks the products for which the network's code allows TF32 by the argument `tf32`. A
what-if replaces the others by ops of their own (`tf32.addmm.default`). Convolutions use TF32 in
stock PyTorch already.
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
    """The work of the product, in TF32."""
    args = {**op.args, "tf32": True}
    return works(replace(op, name=f"aten.{op.name.partition('.')[2]}", args=args)) or ()
