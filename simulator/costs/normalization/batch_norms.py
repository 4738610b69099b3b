"""Batch norm, which normalises each channel over batch and space.

The kernels are those of ATen (ATen/native/cuda/Normalization.cuh) and cuDNN. A kernel launches
`blocks` of `threads`; `steps` counts the serial loads of one thread.
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

_APPLIED, _BATCH, _BACKWARD = "norm_apply", "batch_norm", "batch_norm_backward"
_APPLY: Steps = (4, 5)
_THREADS = 512
_CHANNEL_BYTES = 112 * 1024
"""Bytes of the largest channel that a block of cuDNN keeps on chip: half the shared memory of an
SM."""


def _is_last(source: Tensor) -> bool:
    """Whether the channels of one pixel are adjacent in memory."""
    last = len(source.shape) > 2 and source.shape[1] > 1 and source.stride[1] == 1
    return last and not source.contiguous


def _is_last_in_aten(*sources: Tensor) -> bool:
    """Whether ATen uses its channels-last kernels: all tensors are channels last, or have one pixel
    (`batch_norm_choose_impl`, ATen/native/cuda/Normalization.cu)."""
    return all(_is_last(t) or (t.contiguous and t.stride[1] == 1) for t in sources)


def _channels(source: Tensor) -> dict[str, Any]:
    """Shape of the reduction."""
    images, channels = source.shape[0], source.shape[1]
    cols = source.numel // max(channels, 1)
    inner = channels if _is_last(source) or cols == images else 1
    # the pixels of one channel of one image are adjacent; a channels-last tensor is one long run
    runs = 1 if inner > 1 else channels * images
    return {
        "rows": channels,
        "cols": cols,
        "inner": inner,
        "runs": runs,
        "itemsize": source.itemsize,
    }


def _power(value: int) -> int:
    """The largest power of 2 that is at most `value`."""
    return 1 << (max(value, 1).bit_length() - 1)


def _width(elements: int) -> int:
    """Threads along a plane of `elements` (`getNumThreads`)."""
    return next((n for n in (32, 64, 128, 256) if elements <= n), _THREADS)


def _tall(source: Tensor, shares: bool) -> tuple[int, int, int]:
    """Blocks along the channels, blocks along the pixels, and threads of a block along the pixels:
    16 pixels per thread. If blocks may share a channel (`shares`), there are at least 8 blocks
    along the pixels, or 1 (`flexible_launch_configs`)."""
    channels = source.shape[1]
    pixels = source.numel // channels
    high = min(_power(-(-pixels // 16)), _THREADS // min(_power(channels), 32))
    wide = min(_power(channels), _THREADS // high)
    down = min(-(-pixels // (16 * high)), 128)
    return -(-channels // wide), 1 if shares and down < 8 else down, high


def _reducing(source: Tensor, passes: int, last: bool) -> dict[str, Any]:
    """Coordinates of a reduction in ATen: one block per channel, or tiles if channels are last."""
    dims, pixels = _channels(source), source.numel // max(source.shape[1], 1)
    if last:
        across, down, high = _tall(source, True)
        steps = -(-pixels // (4 * high * down))
        return {
            **dims,
            "variant": "last",
            "blocks": across * down,
            "threads": _THREADS,
            "steps": steps,
            "shared": down > 1,
        }
    images = source.shape[0]
    plane = pixels // max(images, 1)
    wide = _width(plane)
    steps = passes * -(-plane // wide) * -(-images // (_THREADS // wide))
    return {
        **dims,
        "variant": "planes",
        "blocks": dims["rows"],
        "threads": _THREADS,
        "steps": steps,
    }


def _applying(source: Tensor, again: bool, last: bool) -> dict[str, Any]:
    """Coordinates of ATen's kernels that apply the statistics: tiles if channels are last, else
    planes; `again` is true if the previous kernel has just read the same tensor."""
    dims, pixels = _channels(source), source.numel // max(source.shape[1], 1)
    dims["again"] = again
    if last:
        across, down, high = _tall(source, False)
        return {
            **dims,
            "variant": "last",
            "blocks": across * down,
            "threads": _THREADS,
            "steps": -(-pixels // (4 * high * down)),
        }
    images = max(source.shape[0], 1)
    plane = pixels // images
    wide = max(_width(plane // 4), min(_width(plane), 64))
    high = max(64 // wide, 1)
    down = max(min(256 * 1024 // max(dims["rows"], 1), -(-images // high)), 1)
    steps = -(-plane // wide) * -(-images // (high * down))
    return {**dims, "variant": "planes", "steps": steps, "threads": wide * high}


def _statistics(op: Signature, channels: int) -> int:
    """Bytes of one statistic per channel, stored in at least float32."""
    return channels * (8 if op["input"].dtype == "float64" else 4)


def _cudnn(source: Tensor, tensors: int) -> dict[str, Any]:
    """Coordinates of cuDNN's kernels: persistent on all SMs if channels are last, else one block
    per channel, which reads its elements once if they fit on chip."""
    dims, last = _channels(source), _is_last(source)
    if last:
        return {**dims, "variant": "cudnn_last"}
    channel_bytes = dims["cols"] * source.itemsize * tensors
    return {
        **dims,
        "variant": "cudnn_planes",
        "blocks": dims["rows"],
        "threads": _THREADS,
        "steps": -(-dims["cols"] // _THREADS),
        "once": channel_bytes <= _CHANNEL_BYTES,
    }


def _counters(last: bool) -> tuple[Work, ...]:
    """The memset of the counter of blocks that share a channel."""
    return (Work("fill", write_bytes=4, instructions=2, dims={"elements": 1}),) if last else ()


@cost("aten.cudnn_batch_norm.default")
def cudnn_batch_norm(op: Signature) -> tuple[Work, ...]:
    """One kernel, which in training also computes the moments; with channels last a memset precedes
    it."""
    source = op["input"]
    running = read_of(op, "running_mean", "running_var")
    if not op.arg("training"):
        name = "cudnn_last" if _is_last(source) else "cudnn_planes"
        dims = {**_channels(source), "variant": name}
        return (launch(op, _APPLY, source.numel, op.read_bytes, op.out.nbytes, dims, _APPLIED),)
    write = op.out.nbytes + total_bytes(*op.outputs[1:3]) + running
    both = (MOMENTS[0] + _APPLY[0], MOMENTS[1] + _APPLY[1])
    dims = _cudnn(source, 1)
    work = launch(op, both, source.numel, op.read_bytes, write, dims, _BATCH)
    return (*_counters(_is_last(source)), work)


@cost("aten.cudnn_batch_norm_backward.default")
def cudnn_batch_norm_backward(op: Signature) -> tuple[Work, ...]:
    """One kernel: the sums of g and g·x̂, then the gradient of the input."""
    source = op["input"]
    read = read_of(op, "input", "grad_output", "weight", "save_mean", "save_var")
    dims = _cudnn(source, 2)
    work = launch(op, (11, 14), source.numel, read, op.write_bytes, dims, _BACKWARD)
    return (*_counters(_is_last(source)), work)


@cost(
    "aten.native_batch_norm.default",
    "aten._native_batch_norm_legit.default",
    "aten._native_batch_norm_legit.no_stats",
    "aten._batch_norm_with_update.default",
    "aten._native_batch_norm_legit_no_training.default",
    "aten._batch_norm_no_update.default",
)
def batch_norm(op: Signature) -> tuple[Work, ...]:
    """Training: moments, their inverse root with the running update, and the application.
    Inference: a copy of the mean, the inverse root, and the application
    (ATen/native/cuda/Normalization.cu, `batch_norm_cuda_out`)."""
    source = op["input"]
    if len(source.shape) < 2:  # torch accepts a single dimension if it is empty
        return ()
    channels = source.shape[1]
    statistic_bytes = _statistics(op, channels)
    default = op.name.endswith("with_update.default")
    training = bool(op.arg("training", default))
    running = read_of(op, "running_mean", "running_var")
    read = source.nbytes + 2 * statistic_bytes + read_of(op, "weight", "bias")
    last = _is_last_in_aten(source)
    tiles = _applying(source, training, last)
    apply = launch(op, _APPLY, source.numel, read, op.out.nbytes, tiles, _APPLIED)
    if not training:
        mean = op.get("running_mean")
        mean_bytes = mean.nbytes if mean is not None else statistic_bytes
        copy = Work(
            "memcpy",
            0,
            mean_bytes,
            statistic_bytes,
            dims={"direction": "d2d", "bytes": statistic_bytes},
        )
        if mean is not None and mean_bytes != statistic_bytes:  # a cast is a separate kernel
            copy = Work(
                "pointwise",
                0,
                mean_bytes,
                statistic_bytes,
                instructions=2 * channels,
                dims={"elements": channels, "inputs": 1, "contiguous": True},
            )
        return (
            copy,
            statistics_kernel(op, (2, 10), channels, running - mean_bytes, statistic_bytes),
            apply,
        )
    dims = _reducing(source, 1, last)
    moments = launch(op, MOMENTS, source.numel, source.nbytes, 2 * statistic_bytes, dims, _BATCH)
    # variance + eps, its root; each running value is an interpolation of 3 FLOPs
    update = statistics_kernel(
        op, (8, 16), channels, 2 * statistic_bytes + running, statistic_bytes + running
    )
    return (*_semaphores(dims), moments, update, apply)


@cost("aten.batch_norm_stats.default")
def batch_norm_stats(op: Signature) -> tuple[Work, ...]:
    """Mean and reciprocal deviation of each channel by one kernel."""
    source = op["input"]
    dims = _reducing(source, 1, _is_last_in_aten(source))
    work = launch(op, MOMENTS, source.numel, source.nbytes, op.write_bytes, dims, _BATCH)
    return (*_semaphores(dims), work)


@cost("aten.batch_norm_elemt.default", traits=Traits(recompute="decomposed"))
def batch_norm_elemt(op: Signature) -> Work:
    """(x − mean)·rstd·weight + bias with given moments."""
    source = op["input"]
    tiles = _applying(source, True, _is_last_in_aten(source))
    return launch(op, _APPLY, source.numel, op.read_bytes, op.out.nbytes, tiles, _APPLIED)


def _semaphores(dims: dict[str, Any]) -> tuple[Work, ...]:
    """Clear the semaphores of blocks that share channels, one per 32 channels
    (`batch_norm_stats_channels_last_cuda_template`)."""
    if not dims.get("shared"):
        return ()
    count = -(-dims["rows"] // 32)
    return (Work("fill", write_bytes=4 * count, instructions=count, dims={"elements": count}),)


@cost("aten.native_batch_norm_backward.default", "aten.batch_norm_backward.default")
def batch_norm_backward(op: Signature) -> tuple[Work, ...]:
    """One kernel reduces and applies; with channels last there is one kernel for each of the two
    (Normalization.cu, `batch_norm_backward_cuda`)."""
    source = op["input"]
    requested = requested_gradients(op)
    statistic_bytes = _statistics(op, source.shape[1])
    base = read_of(op, "grad_out", "input")
    affine = total_bytes(*op.outputs[1:])
    last = _is_last_in_aten(source, op.inputs[0])
    if not last and requested[0]:
        read = base + 2 * statistic_bytes + read_of(op, "weight")
        dims, write = _reducing(source, 2, last), source.nbytes + affine
        return (launch(op, (11, 14), source.numel, read, write, dims, _BACKWARD),)
    dims = _reducing(source, 1, last)
    reduce = launch(
        op,
        (5, 6),
        source.numel,
        base + 2 * statistic_bytes,
        2 * statistic_bytes + affine,
        dims,
        _BACKWARD,
    )
    launches = [*_semaphores(dims), reduce]
    if requested[0]:
        read = base + 4 * statistic_bytes + read_of(op, "weight")
        dims = _applying(source, True, last)
        launches.append(launch(op, (6, 8), source.numel, read, source.nbytes, dims, _APPLIED))
    return tuple(launches)
