"""Layer norm, RMS norm and weight norm, as PyTorch launches them on CUDA.

`dims` are {"rows": statistics, "cols": elements per row, "inner": 1 if these are adjacent}, `runs`
the launched blocks, one per row, and `steps` the serial loads of one thread. Sums of squares count
as a Welford step of 4 FLOPs per element: one for the mean, and three for the variance (subtract,
multiply, add). Normalising counts as 4: subtract, multiply by the reciprocal root, multiply by the
weight, add the bias.
"""

from __future__ import annotations

from math import prod
from typing import Any

from simulator.costs.compiled_traits import Traits
from simulator.costs.kernels.elementwise import Steps, read_of
from simulator.costs.kernels.iterator import lane_dtype
from simulator.costs.movement.copies import move
from simulator.costs.reductions.dimensions import sum_over_rows
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor, row_major

MOMENTS: Steps = (4, 13)


def launch(
    op: Signature,
    steps: Steps,
    elements: int,
    read: int,
    write: int,
    dims: dict[str, Any],
    family: str = "norm",
) -> Work:
    """One kernel over `elements`; `steps` are the (FLOPs, instructions) of an element, `read` and
    `write` are bytes."""
    flops, instructions = steps
    dtype = lane_dtype(op.inputs)
    return Work(
        family, flops * elements, read, write, "vector", dtype, instructions * elements, dims
    )


def statistics_kernel(op: Signature, steps: Steps, elements: int, read: int, write: int) -> Work:
    """One kernel over a few statistics, one thread each."""
    dims = {"variant": "statistics", "elements": elements}
    return launch(op, steps, elements, read, write, dims)


def total_bytes(*tensors: Tensor | None) -> int:
    """Bytes of all tensors that are not None."""
    return sum(t.nbytes for t in tensors if t is not None)


def requested_gradients(op: Signature) -> list[bool]:
    """Whether a backward op computes the gradient of its input, weight and bias."""
    return list(op.arg("output_mask", [True, True, True]))


def _has_argument(op: Signature, name: str) -> int:
    return int(name in op.names)


def _rows(op: Signature, source: Tensor) -> tuple[int, int]:
    cols = prod(op.arg("normalized_shape"))
    return source.numel // max(cols, 1), cols


def _blocks(
    variant: str, source: Tensor, rows: int, cols: int, threads: int, width: int = 1
) -> dict[str, Any]:
    """Coordinates of a kernel with one block per row, whose threads load `width` elements at
    once."""
    return {
        "variant": variant,
        "rows": rows,
        "cols": cols,
        "inner": 1,
        "runs": rows,
        "steps": -(-cols // (threads * width)),
        "itemsize": source.itemsize,
    }


def _rms_variant(variant: str, rms: bool) -> str:
    """The variant of a kernel. RMS norm has separate variants: its rows take half the clocks of
    layer norm, which combines means and variances by divisions."""
    return f"{variant}_rms" if rms else variant


def _packed(source: Tensor) -> tuple[Work, ...]:
    """The copy that makes rows contiguous, if they are not."""
    if source.contiguous:
        return ()
    return move(source, Tensor(source.shape, source.dtype, row_major(source.shape)))


@cost("aten.native_layer_norm.default", traits=Traits(row_slots=(9, 24), autocast="float32"))
@cost("aten._fused_rms_norm.default", traits=Traits(row_slots=(6, 7)))
def layer_norm(op: Signature) -> tuple[Work, ...]:
    """[..., cols] to the same shape and the statistics. One vectorized kernel of 128 threads per
    row if cols is a multiple of 4 and the dtype is not float64. Otherwise one of 512 threads for
    the moments and one of 256 to apply them (ATen/native/cuda/layer_norm_kernel.cu,
    `LayerNormKernelImplInternal`)."""
    source = op["input"]
    rows, cols = _rows(op, source)
    if rows == 0:
        return ()
    rms = "rms" in op.name
    # RMS norm: a square and its sum; a multiply by the root and one by the weight
    moments = (2, 1) if rms else MOMENTS
    scale = 1 + (1 - int(rms)) + _has_argument(op, "weight") + _has_argument(op, "bias")
    apply = (scale, scale + 2)
    out, statistics = op.out, op.outputs[1:]
    affine = read_of(op, "weight", "bias")
    packed = _packed(source)
    if cols % 4 == 0 and cols <= 2**24 and source.dtype != "float64":
        both = (moments[0] + apply[0], moments[1] + apply[1] + 1)
        dims = {**_blocks(_rms_variant("fused", rms), source, rows, cols, 128, 4), "rms": rms}
        return (*packed, launch(op, both, source.numel, op.read_bytes, op.write_bytes, dims))
    saved = total_bytes(*statistics)
    first = {**_blocks("moments", source, rows, cols, 512), "rms": rms}
    scaling = _blocks("scaling", source, rows, cols, 256)
    return (
        *packed,
        launch(op, moments, source.numel, source.nbytes, saved, first),
        launch(op, apply, source.numel, source.nbytes + saved + affine, out.nbytes, scaling),
    )


_TALL = 64 * 1024
"""With more rows than this and fewer than `_NARROW` columns, the gradient of the weight is summed
in two passes."""
_NARROW = 2048
"""With fewer columns, at 32 per block, there are fewer blocks than half of a large GPU's 128
SMs."""
_PARTIAL_ROWS = 32
"""Rows that each block of the first pass sums."""


@cost("aten.native_layer_norm_backward.default", "aten._fused_rms_norm_backward.default")
def layer_norm_backward(op: Signature) -> tuple[Work, ...]:
    """One kernel for the gradient of the input, with a block of 128 threads per row, and those of
    `_weight_gradient` for weight and bias (layer_norm_kernel.cu,
    `LayerNormBackwardKernelImplInternal`)."""
    gradient, source = op["grad_out"], op["input"]
    rows, cols = _rows(op, source)
    if rows == 0:
        return ()
    requested = requested_gradients(op)
    rms = "rms" in op.name
    base = read_of(op, "grad_out", "input", "mean", "rstd")
    launches: list[Work] = [*_packed(gradient), *_packed(source)]
    if requested[0]:
        # FLOPs: x̂ 2 (RMS: 1), g·w 1, the sums of g·w and g·w·x̂ 3 (RMS: 2), combining them 5 (RMS:
        # 3)
        steps = (7, 10) if rms else (11, 14)
        read = base + read_of(op, "weight")
        width = 4 if cols % 4 == 0 and source.dtype != "float64" else 1
        variant = _rms_variant("input_gradient", rms)
        dims = {
            **_blocks(variant, source, rows, cols, 128, width),
            "rms": rms,
            "vectorized": width > 1,
        }
        launches.append(launch(op, steps, source.numel, read, gradient.nbytes, dims))
    if affine := sum(requested[1:]):
        launches += _weight_gradient(op, source, rows, cols, base, affine)
    return tuple(launches)


def _weight_gradient(
    op: Signature, source: Tensor, rows: int, cols: int, base: int, affine: int
) -> tuple[Work, ...]:
    """Column sums, 32 columns per block: the more rows, the more warps in a block, each of 8 rows
    at a time. With many rows and few columns a warp sums 32 rows, and a reduction adds the partial
    sums (`ConfigureAndLaunchGammaBetaBackwardKernel`)."""
    # x̂ (2 FLOPs; RMS: 1), g·x̂ and its sum; the bias's sum
    steps = (2 + (1 if "rms" in op.name else 2) + (affine - 1), 6)
    item, across = source.itemsize, -(-cols // 32)
    dims = {"outputs": cols, "cols": rows, "itemsize": item, "affine": affine}
    if rows > _TALL and cols < _NARROW:
        parts = -(-rows // _PARTIAL_ROWS)
        partial = parts * cols * item
        dims |= {"variant": "partial", "runs": parts * across}
        first = launch(op, steps, source.numel, base, affine * partial, dims, "weight_gradient")
        return first, *(sum_over_rows(parts, cols, source.dtype),) * affine
    warps = next((w for w, least in ((32, 256), (16, 128), (8, 64)) if rows >= least), 1)
    # an SM holds 32 warps of this many registers
    dims |= {"steps": -(-rows // (8 * warps)), "blocks": across, "threads": 64 * warps}
    write = affine * cols * item
    return (launch(op, steps, source.numel, base, write, dims, "weight_gradient"),)


@cost("aten._weight_norm_interface.default")
def weight_norm(op: Signature) -> tuple[Work, ...]:
    """g·v / |v| of each slice: square and sum, then scale (ATen/native/cuda/WeightNorm.cu)."""
    v = op["v"]
    dims = _weight_norm_dims(op, v, op["g"].numel)
    return (launch(op, (3, 4), v.numel, op.read_bytes, op.write_bytes, dims),)


@cost("aten._weight_norm_interface_backward.default")
def weight_norm_backward(op: Signature) -> tuple[Work, ...]:
    """The sum of the gradient times v, then the gradients of v and g."""
    v = op["saved_v"]
    dims = _weight_norm_dims(op, v, op["saved_g"].numel)
    return (launch(op, (6, 8), v.numel, op.read_bytes, op.write_bytes, dims),)


def _weight_norm_dims(op: Signature, v: Tensor, norms: int) -> dict[str, Any]:
    """One block per norm. Along the last dimension another kernel runs
    (`weight_norm_fwd_last_dim_kernel`). It is assumed to have one block per 16 norms, with 64
    threads per norm that pass twice over its elements, like a channels-last batch norm."""
    cols = v.numel // max(norms, 1)
    if op.arg("dim", 0) % len(v.shape) == 0:
        return {"rows": norms, "cols": cols, "inner": 1}
    steps = 2 * -(-cols // 64)
    blocks = -(-norms // 16)
    dims = {"outputs": norms, "cols": cols, "steps": steps, "blocks": blocks, "threads": 16 * 64}
    return {"variant": "apply_last", **dims}
