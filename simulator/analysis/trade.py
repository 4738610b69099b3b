"""The trade-off between arithmetic and memory: the cost of recomputation and the memory that it
saves."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.prediction import Prediction
from simulator.schedule.memory import carried_bytes


@dataclass(frozen=True)
class Trade:
    """`flops` and `seconds` added per step; and, as pairs (before, after), the bytes of activations
    stored from the forward to the backward pass and the peak bytes."""

    flops: int
    seconds: float
    carried_bytes: tuple[int, int]
    peak_bytes: tuple[int, int]

    @property
    def flops_per_byte(self) -> float:
        """FLOPs added for each byte of activations that is no longer stored."""
        before, after = self.carried_bytes
        return self.flops / (before - after)


def trade(before: Prediction, after: Prediction) -> Trade | None:
    """The trade-off between two training steps of the same batch; None if no FLOPs are added or
    no bytes saved."""
    if before.trace.samples != after.trace.samples or before.trace.phase != after.trace.phase:
        return None
    flops = after.flops - before.flops
    stored_bytes = carried_bytes(before.trace), carried_bytes(after.trace)
    if flops <= 0 or stored_bytes[1] >= stored_bytes[0]:
        return None
    peaks = before.peak_memory_bytes, after.peak_memory_bytes
    return Trade(flops, after.period_s - before.period_s, stored_bytes, peaks)
