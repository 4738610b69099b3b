"""What a generated kernel asks of a GPU: bytes that cross its border, and all its arithmetic."""

from __future__ import annotations

from simulator.costs import Work, cost
from simulator.records import Signature


@cost("fused.pointwise.default", "fused.reduction.default")
def fused(op: Signature) -> Work:
    """One launch: each value from outside read once, each that others need written once."""
    rows = op.arg("rows", 0)
    dims = {"variant": op.name.split(".")[1]} | ({"rows": rows} if rows else {})
    return Work(
        "fused", op.arg("flops", 0), op.read_bytes, op.write_bytes,
        instructions=op.arg("instructions", 0), dims=dims,
    )  # fmt: skip
