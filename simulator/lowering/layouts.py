"""Copies around a convolution: to one layout, and between NCHW and NHWC.

A tensor in NHWC (channels last) has its channels innermost, as tensor cores require.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from simulator.costs import Work
from simulator.records import Signature, Tensor

_TILE = 32
_LOAD_BYTES = 16


def images(op: Signature) -> tuple[Tensor, Tensor | None]:
    """The input and, in a backward pass, the gradient of the output."""
    return op.get("input") or op["self"], op.get("grad_output")


def dense_copies(op: Signature, dims: dict[str, object]) -> Iterator[Work]:
    """PyTorch's copies of tensors with gaps or in another layout, before cuDNN's kernels.

    cuDNN requires all tensors in the layout of the input. A gradient in the other layout is copied
    once for both directions. A gradient with gaps (a slice of a concatenation's gradient) is copied
    for each direction, since its layout is right and `Tensor.to` does not copy
    (ATen/native/cudnn/ConvShared.cpp).
    """
    last, native = bool(dims["channels_last"]), bool(dims["native"])
    x, grad = images(op)
    alone = not op.arg("output_mask", [True])[0]
    is_first = grad is None or dims["direction"] != "wgrad" or alone
    if grad is not None and not _has_layout(grad, last):
        shared = native or _is_channels_last(grad) != last
        if is_first or not shared:
            yield layout_copy(grad)
    if (grad is None or native) and is_first and not _has_layout(x, last):
        yield layout_copy(x)
    dense = not dims["depthwise"] and dims["direction"] != "wgrad"
    if last and dense and not _has_layout(op["weight"], last):
        yield layout_copy(op["weight"])


def _is_channels_last(tensor: Tensor) -> bool:
    return not tensor.contiguous and tensor.stride[1] == 1


def _has_layout(tensor: Tensor, channels_last: bool) -> bool:
    """Whether the tensor is dense in this layout; with one channel or one pixel both layouts are
    the same."""
    if tensor.contiguous:
        return not channels_last or tensor.shape[1] == 1 or prod(tensor.shape[2:]) == 1
    return channels_last and tensor.dense and tensor.stride[1] == 1


def nhwc_conversion(tensor: Tensor, back: bool = False) -> Work:
    """Conversion from NCHW to NHWC, or back: reads and writes each element once, in tiles of 32
    channels by 32 pixels that cost the same if partly filled."""
    size = tensor.numel * tensor.itemsize
    images, channels, pixels = tensor.shape[0], tensor.shape[1], prod(tensor.shape[2:])
    tiles = images * -(-channels // _TILE) * -(-pixels // _TILE)
    dims = {"elements": tensor.numel, "channels": channels, "pixels": pixels, "back": back}
    return Work("layout", 0, size, size, instructions=2 * tiles * _TILE**2, dims=dims)


def layout_copy(tensor: Tensor) -> Work:
    """PyTorch's copy to another layout: reads and writes each element once."""
    size = tensor.numel * tensor.itemsize
    dims = {"elements": tensor.numel, "transposed": True}
    return Work("copy", 0, size, size, instructions=2 * tensor.numel, dims=dims)


def channels_per_load(tensor: Tensor) -> int:
    """Channels per load of a tensor-core kernel."""
    return _LOAD_BYTES // tensor.itemsize


def needs_padding(tensor: Tensor, is_weight: bool, groups: int) -> bool:
    """Whether the channels per group (input and output channels for a weight) do not fill a whole
    number of loads."""
    shape, step = tensor.shape, channels_per_load(tensor)
    sizes = (shape[0] // groups, shape[1]) if is_weight else (shape[1] // groups,)
    return any(size % step for size in sizes)


def padded_zeros(tensor: Tensor) -> Work:
    """Zeros for the padded NHWC copy of a tensor."""
    wide = -(-tensor.shape[1] // channels_per_load(tensor)) * channels_per_load(tensor)
    return memset(tensor.numel // tensor.shape[1] * wide * tensor.itemsize)


def padding_copy(tensor: Tensor, *, generic: bool = False) -> Work:
    """Copy into or out of a padded NHWC tensor. A weight whose outer dimension is also padded, and
    grouped channels, use a `generic` kernel that computes the index of each element."""
    size = tensor.numel * tensor.itemsize
    dims: dict[str, object] = {
        "elements": tensor.numel,
        "channels": tensor.shape[1],
        "item_bytes": tensor.itemsize,
    }
    if generic:
        dims["variant"] = "generic"
    slots = 40 if generic else 4
    return Work("padding", 0, size, size, instructions=slots * tensor.numel, dims=dims)


def memset(size: int) -> Work:
    """A memset of `size` bytes, such as 4 for a tile counter."""
    return Work("fill", write_bytes=size, instructions=size // 2, dims={"elements": size // 4})


def sum_parts(target: Tensor, parts: int) -> Work:
    """Sum of `parts` float32 partial sums of a tensor."""
    n = target.numel
    dims = {"variant": "parts", "elements": n, "parts": parts, "item_bytes": target.itemsize}
    return Work(
        "reduction",
        parts * n,
        4 * parts * n,
        n * target.itemsize,
        instructions=parts * n,
        dims=dims,
    )
