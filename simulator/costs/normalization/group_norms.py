"""Group norm, which normalises each group of channels of each sample.

The kernels are those of ATen/native/cuda/group_norm_kernel.cu. `runs` counts the launched blocks,
`steps` the serial loads of one thread.
"""

from __future__ import annotations

from typing import Any

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.elementwise import Steps, read_of
from simulator.costs.normalization.layer_norms import (
    MOMENTS,
    launch,
    requested_gradients,
    statistics_kernel,
    total_bytes,
)
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor

_APPLY: Steps = (4, 5)
_COLUMNWISE = 128
"""Number of samples up to which one thread sums a channel; tiles of 32 × 32 sum more."""


def _groups(op: Signature) -> tuple[int, int, int, int]:
    n, c, space, groups = (int(op.arg(name)) for name in ("N", "C", "HxW", "group"))
    return n, c, space, groups


def _blocks(source: Tensor, rows: int, cols: int) -> dict[str, Any]:
    """One block per row, of 512 threads, or of 32 if the row is shorter."""
    threads = 512 if cols >= 512 else 32
    return {
        "rows": rows,
        "cols": cols,
        "inner": 1,
        "itemsize": source.itemsize,
        "runs": rows,
        "steps": -(-cols // threads),
        "blocks": rows,
        "threads": threads,
    }


def _applied(source: Tensor, rows: int, cols: int, backward: bool = False) -> dict[str, Any]:
    return {
        "variant": "groups",
        "rows": rows,
        "cols": cols,
        "itemsize": source.itemsize,
        "elements": source.numel,
        "backward": backward,
    }


@cost("aten.native_group_norm.default", traits=Traits(kind="reduction", row_slots=(9, 24)))
def group_norm(op: Signature) -> tuple[Work, ...]:
    """Moments of each row, scale and shift for each channel of each sample, then x·a + b
    (`GroupNormKernelImplInternal`)."""
    source, out = op["input"], op.out
    n, c, space, groups = _groups(op)
    if source.numel == 0:
        return ()
    rows, cols = n * groups, c * space // groups
    saved = total_bytes(*op.outputs[1:])
    affine = read_of(op, "weight", "bias")
    dims = _blocks(source, rows, cols)
    moments = launch(op, MOMENTS, source.numel, source.nbytes, saved, dims, "group_moments")
    whole = _applied(source, n * c, space)
    if space == 1 or not affine:
        read = source.nbytes + saved + affine
        return moments, launch(op, _APPLY, source.numel, read, out.nbytes, whole, "norm_apply")
    fused = 2 * n * c * (8 if source.dtype == "float64" else 4)
    scale = statistics_kernel(op, (3, 5), n * c, saved + affine, fused)
    read = source.nbytes + fused
    return moments, scale, launch(op, (2, 3), source.numel, read, out.nbytes, whole, "norm_apply")


@cost("aten.native_group_norm_backward.default", traits=Traits(kind="reduction"))
def group_norm_backward(op: Signature) -> tuple[Work, ...]:
    """Sums of g·x and g per channel; rstd·weight, the factors fused from these, and the gradient of
    the input; then the gradients of weight and bias (`GroupNormBackwardKernelImplInternal`)."""
    source = op["input"]
    n, c, space, groups = _groups(op)
    if source.numel == 0:
        return ()
    requested = requested_gradients(op)
    wide = 8 if source.dtype == "float64" else 4
    channel, group = n * c * wide, n * groups * wide
    both = read_of(op, "grad_out", "input")
    saved, weight = read_of(op, "mean", "rstd"), read_of(op, "weight")
    dims = {**_blocks(source, n * c, space), "variant": "gradient"}
    launches = [launch(op, (3, 3), source.numel, both, 2 * channel, dims, "group_moments")]
    if requested[0]:
        if weight:
            launches.append(statistics_kernel(op, (1, 4), n * c, group + weight, channel))
        factors = {**_blocks(source, n * groups, c // groups), "variant": "factors"}
        launches.append(launch(op, (6, 8), n * c, 2 * channel + saved + weight, 2 * group, factors))
        read = both + (channel if weight else group) + 2 * group
        applied = _applied(source, n * c, space, True)
        launches.append(
            launch(op, (4, 5), source.numel, read, source.nbytes, applied, "norm_apply")
        )
    if any(requested[1:]):
        write = total_bytes(*op.outputs[1 if requested[0] else 0 :])
        alone = n <= _COLUMNWISE
        # L2 evicts the sums of the channels if many bytes were read and written since
        down = {
            "variant": "channel_gradient",
            "cols": n,
            "channels": c,
            "groups": groups,
            "itemsize": source.itemsize,
            "since": both if requested[0] else 0,
            "columnwise": alone,
            "steps": n if alone else -(-n // 32),
        }
        launches.append(launch(op, (4, 6), n * c, 2 * channel + saved, write, down))
    return tuple(launches)
