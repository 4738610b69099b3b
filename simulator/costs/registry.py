"""What an op asks of a GPU: one decorated function an op, FLOPs and bytes together.

A cost function sees shapes, never tensors, and knows no GPU: it can be checked by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from simulator.records import Signature

Engine = Literal["tensor", "vector"]


class Work(msgspec.Struct, frozen=True):
    """The work of one launch (or, until a GPU is known, of several that are one algorithm).

    family        which calibration curve applies: "gemm", "conv", "attention", "pointwise",
                  "reduction", "norm", "softmax", "copy", "gather", "scatter", ...
    flops         arithmetic operations, a multiply-add being 2; a special function counts 1
    read_bytes    DRAM bytes read, each distinct byte once
    write_bytes   DRAM bytes written
    engine        the unit that does the FLOPs
    dtype         the dtype in which it does them
    instructions  vector-lane instructions issued (a fused multiply-add is 1, exp about 10)
    dims          the family's shape coordinates, such as {"b": 1, "m": 8, "n": 8, "k": 8}
    """

    family: str
    flops: int = 0
    read_bytes: int = 0
    write_bytes: int = 0
    engine: Engine = "vector"
    dtype: str = "float32"
    instructions: int = 0
    dims: dict[str, Any] = {}

    @property
    def bytes(self) -> int:
        return self.read_bytes + self.write_bytes

    @property
    def computed_flops(self) -> float:
        """What the kernel itself computes: of attention's pairs those that its mask leaves."""
        return self.flops * self.dims.get("fraction", 1)


Cost = Callable[[Signature], Work | tuple[Work, ...]]
COSTS: dict[str, Cost] = {}


def cost(*names: str) -> Callable[[Cost], Cost]:
    """Register the cost of overloads such as "aten.addmm.default"; a second one raises."""

    def decorate(function: Cost) -> Cost:
        for name in names:
            if name.count(".") != 2:
                raise ValueError(f"{name!r} is no overload: expected one like 'aten.mm.default'")
            if name in COSTS:
                raise ValueError(f"{name} has a cost already: {COSTS[name].__name__}")
            COSTS[name] = function
        return function

    return decorate


def works(op: Signature) -> tuple[Work, ...] | None:
    """The work of an op, () when it launches nothing, None when it has no cost function."""
    function = COSTS.get(op.name)
    if function is None:
        return None
    found = function(op)
    return (found,) if isinstance(found, Work) else found
