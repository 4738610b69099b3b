"""Kernels whose threads each visit a window of the input."""

from __future__ import annotations

from math import prod
from typing import Any

from simulator.costs.kernels.launches import vector_dtype
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
    serial: int = 0,
) -> Work:
    """One addition or comparison per output and tap, and `slots` instructions to load each tap.

    `variant` names the kernel if a family has several; `steps` counts the serial steps of one
    thread of a plane, and `serial` those of a thread that has no plane; `threads` defaults to the
    number of outputs.
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
    if serial:
        dims["steps"] = serial
    if variant in ("adaptive", "adaptive_backward") and not dims["channels_last"]:
        dims["runs"] = prod(x.shape[: -spatial_dims(op)])  # one block per plane
    return Work(
        family,
        outputs * taps,
        read,
        write,
        dtype=vector_dtype(x.dtype),
        instructions=threads * (taps * slots + 4),
        dims=dims,
    )


def starts(taps: int, stride: int, dilation: int) -> int:
    """Number of windows along a dimension whose extent covers an element, which a kernel checks one
    after another."""
    return -(-((taps - 1) * dilation + 1) // stride)


def channels_last(x: Tensor) -> bool:
    return len(x.shape) > 3 and not x.contiguous and x.stride[1] == 1


def spatial_dims(op: Signature) -> int:
    """Spatial dimensions (1 to 3), from the name of the op."""
    return 3 if "3d" in op.name else 1 if "1d" in op.name else 2


def covered_bytes(x: Tensor, out: Tensor, taps: int) -> int:
    """Bytes of the inputs that at least one window covers; strides may skip others."""
    return min(x.nbytes, out.numel * taps * x.itemsize)
