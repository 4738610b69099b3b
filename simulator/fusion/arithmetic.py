"""What a generated kernel computes for an op: as eager kernels do, but for what it does anew for
each element."""

from __future__ import annotations

from simulator.fusion.costed import costed
from simulator.records import Signature

_NORMALIZED = (7, 34)
"""FLOPs and instructions of an inference batch norm an element: x − mean, var + ε, square root of
6, reciprocal of 8, ·, ·weight, + bias are 19; five loads with their addresses and the channel's
number 14; a store. Eager kernels find the channel's factors once."""

_PHILOX = 140
"""Instructions of a random number: ten rounds of four multiplies at half the rate, four exclusive
ors and two additions. Eager kernels share a round's four numbers among four elements."""


def arithmetic(op: Signature) -> tuple[int, int]:
    """FLOPs and instructions of an op in a generated kernel."""
    found = costed(op) or ()
    flops, instructions = sum(w.flops for w in found), sum(w.instructions for w in found)
    if "batch_norm." in op.name and not op.arg("training", op.arg("train", False)):
        return _NORMALIZED[0] * op.out.numel, _NORMALIZED[1] * op.out.numel
    if any(w.family == "random" for w in found):
        instructions += _PHILOX * op.out.numel
    return flops, instructions
