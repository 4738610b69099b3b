"""Kernels whose threads each go through a window of the input."""

from __future__ import annotations

from math import prod
from typing import Any

from simulator.costs.launches import lanes
from simulator.costs.registry import Work
from simulator.records import Signature, Tensor


def window(
    family: str,
    op: Signature,
    outputs: int,
    taps: int,
    read: int,
    write: int,
    *,
    slots: int = 2,
    variant: str | None = None,
    steps: int = 0,
    threads: int = 0,
) -> Work:
    """`taps` values for each output, each an addition or a comparison; `slots` to fetch one.

    `variant` names the kernel where a family has several, `steps` counts what one thread does one
    after the other, and `threads` are as many as the outputs unless given.
    """
    x = op.inputs[0]
    threads = threads or outputs
    dims: dict[str, Any] = {
        "elements": threads,
        "taps": taps,
        "channels_last": channels_last(x),
        "item_bytes": x.itemsize,
        "channels": x.shape[1] if len(x.shape) > 3 else 0,
    }
    if variant:
        dims["variant"] = variant
    if steps:
        dims |= {"steps": steps, "places": threads // steps}
    if variant in ("adaptive", "adaptive_backward") and not dims["channels_last"]:
        dims["runs"] = prod(x.shape[: -spatial_dims(op)])  # a block a plane
    return Work(
        family,
        outputs * taps,
        read,
        write,
        dtype=lanes(x.dtype),
        instructions=threads * (taps * slots + 4),
        dims=dims,
    )


def channels_last(x: Tensor) -> bool:
    return len(x.shape) > 3 and not x.contiguous and x.stride[1] == 1


def spatial_dims(op: Signature) -> int:
    """2 or 3, from the op's name."""
    return 3 if "3d" in op.name else 1 if "1d" in op.name else 2


def covered_bytes(x: Tensor, out: Tensor, taps: int) -> int:
    """Bytes of the inputs that some window covers: strides may leap over the others."""
    return min(x.nbytes, out.numel * taps * x.itemsize)
