"""Layer, RMS, batch and group normalisation, with the launches that PyTorch makes on CUDA.

`dims` are {"rows": statistics, "cols": elements in each, "inner": 1 where they lie side by side}.
Sums of squares count as a Welford step of 4 FLOPs an element (one for the mean; subtract,
multiply, add for the variance), and normalising as 4: subtract, multiply by the reciprocal root,
multiply by the weight, add the bias.
"""

from __future__ import annotations

from math import prod

from simulator.costs.copies import move
from simulator.costs.pointwise import Steps, lane_dtype, read_of
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor, row_major

_APPLIED, _BATCH, _BATCH_BACKWARD, _GROUP = (
    "norm_apply", "batch_norm", "batch_norm_backward", "group_moments",
)  # fmt: skip
_MOMENTS: Steps = (4, 13)
_APPLY: Steps = (4, 5)


def launch(
    op: Signature,
    steps: Steps,
    elements: int,
    read: int,
    write: int,
    dims: dict[str, int],
    family: str = "norm",
) -> Work:
    """One kernel over `elements`, of (FLOPs, instructions) each; `read` and `write` in bytes."""
    flops, instructions = steps
    dtype = lane_dtype(op.inputs)
    return Work(family, flops * elements, read, write, "vector", dtype, instructions * elements,
                dims)  # fmt: skip


def _bytes(*tensors: Tensor | None) -> int:
    return sum(t.nbytes for t in tensors if t is not None)


def _asked(op: Signature) -> list[bool]:
    return list(op.arg("output_mask", [True, True, True]))


def _given(op: Signature, name: str) -> int:
    return int(name in op.names)


# -- layer and RMS norm: a row is normalised by itself ------------------------------------------


def _rows(op: Signature, source: Tensor) -> tuple[int, int, dict[str, int]]:
    cols = prod(op.arg("normalized_shape"))
    rows = source.numel // max(cols, 1)
    return rows, cols, {"rows": rows, "cols": cols, "inner": 1}


def _packed(source: Tensor) -> tuple[Work, ...]:
    """The copy that lays rows side by side, where they are not."""
    if source.contiguous:
        return ()
    return move(source, Tensor(source.shape, source.dtype, row_major(source.shape)))


@cost("aten.native_layer_norm.default", "aten._fused_rms_norm.default")
def layer_norm(op: Signature) -> tuple[Work, ...]:
    """[..., cols] to the same and the statistics: one vectorized kernel where cols is a multiple
    of 4 and no fp64, else one for the moments and one to apply them
    (ATen/native/cuda/layer_norm_kernel.cu, `LayerNormKernelImplInternal`)."""
    source = op["input"]
    rows, cols, dims = _rows(op, source)
    if rows == 0:
        return ()
    # RMS norm: a square and its sum; a multiply by the root and one by the weight
    moments = (2, 1) if "rms" in op.name else _MOMENTS
    scale = 1 + (1 - int("rms" in op.name)) + _given(op, "weight") + _given(op, "bias")
    apply = (scale, scale + 2)
    out, statistics = op.out, op.outputs[1:]
    affine = read_of(op, "weight", "bias")
    packed = _packed(source)
    if cols % 4 == 0 and cols <= 2**24 and source.dtype != "float64":
        both = (moments[0] + apply[0], moments[1] + apply[1] + 1)
        return (*packed, launch(op, both, source.numel, op.read_bytes, op.write_bytes, dims))
    saved = _bytes(*statistics)
    return (
        *packed,
        launch(op, moments, source.numel, source.nbytes, saved, dims),
        launch(op, apply, source.numel, source.nbytes + saved + affine, out.nbytes, dims),
    )


_TALL = 64 * 1024
"""Rows from which the weight's gradient is summed in two passes..."""
_NARROW = 2048
"""... below these columns: 32 a block, and fewer blocks than half of a large GPU's 128 units."""


@cost("aten.native_layer_norm_backward.default", "aten._fused_rms_norm_backward.default")
def layer_norm_backward(op: Signature) -> tuple[Work, ...]:
    """One kernel for the input's gradient, one for those of weight and bias; the latter leaves
    partial sums, added by one reduction each, where rows are many and columns few
    (layer_norm_kernel.cu, `LaunchGammaBetaBackwardCUDAKernel`)."""
    gradient, source = op["grad_out"], op["input"]
    rows, cols, dims = _rows(op, source)
    if rows == 0:
        return ()
    asked = _asked(op)
    rms = "rms" in op.name
    base = read_of(op, "grad_out", "input", "mean", "rstd")
    found: list[Work] = [*_packed(gradient), *_packed(source)]
    if asked[0]:
        # x̂ of 2 (RMS: 1), g·w 1, the two sums of g·w and g·w·x̂ 3 (RMS: 2), combined in 5 (RMS: 3)
        steps = (7, 10) if rms else (11, 14)
        read = base + read_of(op, "weight")
        found.append(launch(op, steps, source.numel, read, gradient.nbytes, dims))
    affine = sum(asked[1:])
    if affine:
        down = {"rows": cols, "cols": rows, "inner": cols}
        item = source.itemsize
        # x̂ of 2 (RMS: 1), g·x̂ and its sum; the bias's sum
        steps = (2 + (1 if rms else 2) + (affine - 1), 6)
        tall = rows > _TALL and cols < _NARROW
        partial = 128 * cols * item if tall else cols * item
        found.append(
            launch(op, steps, source.numel, base, affine * partial, down, "weight_gradient")
        )
        if tall:
            again = {"rows": cols, "cols": 128, "inner": cols}
            one = Work("reduction", 128 * cols, partial, cols * item, "vector",
                       lane_dtype(op.inputs), 256 * cols, again)  # fmt: skip
            found += [one] * affine
    return tuple(found)


# -- batch norm: a channel is normalised over batch and space -------------------------------------


def _channels(source: Tensor) -> tuple[dict[str, int], bool]:
    """The reduction's shape, and whether channels lie side by side."""
    images, channels = source.shape[0], source.shape[1]
    last = len(source.shape) > 2 and channels > 1 and source.stride[1] == 1
    last = last and not source.contiguous
    cols = source.numel // max(channels, 1)
    inner = channels if last or len(source.shape) == 2 else 1
    # the pixels of one channel of one image lie side by side; channels last are one long run
    runs = 1 if inner > 1 else channels * images
    return {"rows": channels, "cols": cols, "inner": inner, "runs": runs}, last


def _statistics(op: Signature, channels: int) -> int:
    """Bytes of one statistic a channel, kept in fp32 at least."""
    return channels * (8 if op["input"].dtype == "float64" else 4)


@cost("aten.cudnn_batch_norm.default")
def cudnn_batch_norm(op: Signature) -> tuple[Work, ...]:
    """One kernel, in training moments and application together (cuDNN's persistent mode)."""
    source = op["input"]
    dims, _ = _channels(source)
    running = read_of(op, "running_mean", "running_var")
    if not op.arg("training"):
        return (launch(op, _APPLY, source.numel, op.read_bytes, op.out.nbytes, dims, _APPLIED),)
    write = op.out.nbytes + _bytes(*op.outputs[1:3]) + running
    both = (_MOMENTS[0] + _APPLY[0], _MOMENTS[1] + _APPLY[1])
    return (launch(op, both, source.numel, op.read_bytes, write, dims, _BATCH),)


@cost("aten.cudnn_batch_norm_backward.default")
def cudnn_batch_norm_backward(op: Signature) -> tuple[Work, ...]:
    """One kernel: the sums of g and g·x̂, then the gradient of the input."""
    source = op["input"]
    dims, _ = _channels(source)
    read = read_of(op, "input", "grad_output", "weight", "save_mean", "save_var")
    return (launch(op, (11, 14), source.numel, read, op.write_bytes, dims, _BATCH_BACKWARD),)


@cost(
    "aten.native_batch_norm.default", "aten._native_batch_norm_legit.default",
    "aten._native_batch_norm_legit.no_stats", "aten._batch_norm_with_update.default",
    "aten._native_batch_norm_legit_no_training.default", "aten._batch_norm_no_update.default",
)  # fmt: skip
def batch_norm(op: Signature) -> tuple[Work, ...]:
    """Training: moments, their inverse root with the running update, and the application.
    Inference: a copy of the mean, the inverse root, and the application
    (ATen/native/cuda/Normalization.cu, `batch_norm_cuda_out`)."""
    source = op["input"]
    dims, last = _channels(source)
    channels = dims["rows"]
    one = _statistics(op, channels)
    small = {"rows": channels, "cols": 1, "inner": 1}
    default = op.name.endswith("with_update.default")
    training = bool(op.arg("training", default))
    running = read_of(op, "running_mean", "running_var")
    read = source.nbytes + 2 * one + read_of(op, "weight", "bias")
    apply = launch(op, _APPLY, source.numel, read, op.out.nbytes, dims, _APPLIED)
    if not training:
        mean = op.get("running_mean")
        kept = mean.nbytes if mean is not None else one
        copy = Work("memcpy", 0, kept, one, dims={"direction": "d2d", "bytes": one})
        if mean is not None and kept != one:  # a cast is a kernel
            copy = Work("pointwise", 0, kept, one, instructions=2 * channels,
                        dims={"elements": channels, "inputs": 1, "contiguous": True})  # fmt: skip
        invert = launch(op, (2, 10), channels, running - kept, one, small)
        return (copy, invert, apply)
    moments = launch(op, _MOMENTS, source.numel, source.nbytes, 2 * one, dims, _BATCH)
    # variance + eps, its root; each running value an interpolation of 3
    update = launch(op, (8, 16), channels, 2 * one + running, one + running, small)
    return (*_semaphores(last, channels), moments, update, apply)


def _semaphores(last: bool, channels: int) -> tuple[Work, ...]:
    """Channels last sums over blocks, whose semaphores (one in 32 channels) are zeroed first
    (ATen/native/cuda/Normalization.cuh, `batch_norm_stats_channels_last_cuda_template`)."""
    if not last:
        return ()
    count = -(-channels // 32)
    return (Work("fill", write_bytes=4 * count, instructions=count, dims={"elements": count}),)


@cost("aten.native_batch_norm_backward.default", "aten.batch_norm_backward.default")
def batch_norm_backward(op: Signature) -> tuple[Work, ...]:
    """One kernel reduces and applies; channels last takes one each (Normalization.cu,
    `batch_norm_backward_cuda`)."""
    source = op["input"]
    dims, last = _channels(source)
    asked = _asked(op)
    one = _statistics(op, dims["rows"])
    base = read_of(op, "grad_out", "input")
    affine = _bytes(*op.outputs[1:])
    if not last and asked[0]:
        read = base + 2 * one + read_of(op, "weight")
        return (
            launch(op, (11, 14), source.numel, read, source.nbytes + affine, dims, _BATCH_BACKWARD),
        )
    reduce = launch(
        op, (5, 6), source.numel, base + 2 * one, 2 * one + affine, dims, _BATCH_BACKWARD
    )
    found = [*_semaphores(last, dims["rows"]), reduce]
    if asked[0]:
        read = base + 4 * one + read_of(op, "weight")
        found.append(launch(op, (6, 8), source.numel, read, source.nbytes, dims, _APPLIED))
    return tuple(found)


# -- group norm: a group of channels of one sample ------------------------------------------------


def _groups(op: Signature) -> tuple[int, int, int, int, dict[str, int]]:
    n, c, space, groups = (int(op.arg(name)) for name in ("N", "C", "HxW", "group"))
    dims = {"rows": n * groups, "cols": c * space // groups, "inner": 1}
    return n, c, space, groups, dims


@cost("aten.native_group_norm.default")
def group_norm(op: Signature) -> tuple[Work, ...]:
    """Row moments, then a scale and a shift for each channel of each sample, then x·a + b
    (ATen/native/cuda/group_norm_kernel.cu, `GroupNormKernelImplInternal`)."""
    source, out = op["input"], op.out
    n, c, space, _, dims = _groups(op)
    if source.numel == 0:
        return ()
    saved = _bytes(*op.outputs[1:])
    affine = read_of(op, "weight", "bias")
    moments = launch(op, _MOMENTS, source.numel, source.nbytes, saved, dims, _GROUP)
    if space == 1 or not affine:
        read = source.nbytes + saved + affine
        return (moments, launch(op, _APPLY, source.numel, read, out.nbytes, dims, _APPLIED))
    fused = 2 * n * c * (8 if source.dtype == "float64" else 4)
    scale = launch(op, (3, 5), n * c, saved + affine, fused, {**dims, "cols": 1, "rows": n * c})
    apply = launch(op, (2, 3), source.numel, source.nbytes + fused, out.nbytes, dims, _APPLIED)
    return (moments, scale, apply)


@cost("aten.native_group_norm_backward.default")
def group_norm_backward(op: Signature) -> tuple[Work, ...]:
    """Sums of g·x and g for each channel; rstd·weight, its fused factors and the input's
    gradient; then weight and bias (group_norm_kernel.cu, `GroupNormBackwardKernelImplInternal`)."""
    source = op["input"]
    n, c, _, groups, dims = _groups(op)
    if source.numel == 0:
        return ()
    asked = _asked(op)
    wide = 8 if source.dtype == "float64" else 4
    channel, group = n * c * wide, n * groups * wide
    both = read_of(op, "grad_out", "input")
    saved, weight = read_of(op, "mean", "rstd"), read_of(op, "weight")
    small = {"rows": n * c, "cols": 1, "inner": 1}
    per_channel = {"rows": n * c, "cols": source.numel // (n * c), "inner": 1}
    found = [launch(op, (3, 3), source.numel, both, 2 * channel, per_channel, _GROUP)]
    if asked[0]:
        if weight:
            found.append(launch(op, (1, 4), n * c, group + weight, channel, small))
        factors = {"rows": n * groups, "cols": c // groups, "inner": 1}
        found.append(
            launch(op, (6, 8), n * c, 2 * channel + saved + weight, 2 * group, factors)
        )  # fmt: skip
        read = both + (channel if weight else group) + 2 * group
        found.append(launch(op, (4, 5), source.numel, read, source.nbytes, dims, _APPLIED))
    if any(asked[1:]):
        write = _bytes(*op.outputs[1 if asked[0] else 0 :])
        found.append(
            launch(op, (4, 6), n * c, 2 * channel + saved, write, {**small, "rows": c, "cols": n})
        )  # fmt: skip
    return tuple(found)


# -- weight norm ----------------------------------------------------------------------------------


@cost("aten._weight_norm_interface.default")
def weight_norm(op: Signature) -> tuple[Work, ...]:
    """g·v / |v| of each slice: square and sum, then scale (ATen/native/cuda/WeightNorm.cu)."""
    v = op["v"]
    dims = {"rows": op["g"].numel, "cols": v.numel // max(op["g"].numel, 1), "inner": 1}
    return (launch(op, (3, 4), v.numel, op.read_bytes, op.write_bytes, dims),)


@cost("aten._weight_norm_interface_backward.default")
def weight_norm_backward(op: Signature) -> tuple[Work, ...]:
    """The sum of the gradient times v, then the gradients of v and g."""
    v = op["saved_v"]
    rows = op["saved_g"].numel
    dims = {"rows": rows, "cols": v.numel // max(rows, 1), "inner": 1}
    return (launch(op, (6, 8), v.numel, op.read_bytes, op.write_bytes, dims),)
