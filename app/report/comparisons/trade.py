"""Recomputation traded for memory, as a sentence and as data."""

from __future__ import annotations

from typing import Any

from app.quantities import change, data, scaled, signed_seconds
from simulator.analysis.compare import Waterfall
from simulator.analysis.trade import trade


def trade_text(fall: Waterfall) -> str:
    """A sentence on recomputed FLOPs and saved bytes, or an empty string."""
    exchange = trade(fall.a, fall.b)
    if exchange is None:
        return ""
    (carried, carries), (peak, peaks) = exchange.carried_bytes, exchange.peak_bytes
    fallen = (
        f"the peak falls by {data(peak - peaks)}" if peaks < peak else "the peak does not change"
    )
    if peaks >= peak and fall.b.trace.ops[fall.b.memory.peak_op].phase == "optimizer":
        fallen += ", because it lies in the optimizer step"
    return (
        f"Recomputation for memory: a step does {scaled(exchange.flops, 'FLOP')} more "
        f"({change(fall.a.flops, fall.b.flops)}), its time changes by "
        f"{signed_seconds(exchange.seconds)}, and it stores {data(carried - carries)} less for the "
        f"backward pass ({data(carried)} → {data(carries)}): "
        f"{scaled(exchange.flops_per_byte, 'FLOP')} per byte; {fallen}."
    )


def trade_document(fall: Waterfall) -> dict[str, Any] | None:
    """The trade as data, or None."""
    exchange = trade(fall.a, fall.b)
    return exchange and {
        "flops_added": exchange.flops,
        "seconds_added": exchange.seconds,
        "carried_before_bytes": exchange.carried_bytes[0],
        "carried_after_bytes": exchange.carried_bytes[1],
        "flops_per_byte": exchange.flops_per_byte,
        "peak_before_bytes": exchange.peak_bytes[0],
        "peak_after_bytes": exchange.peak_bytes[1],
    }
