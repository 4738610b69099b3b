"""Copies around a convolution: into one layout, and between NCHW and NHWC.

A tensor in NHWC (channels last) has its channels innermost, as tensor cores want it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from simulator.costs import Work
from simulator.records import Signature, Tensor

_TILE = 32
_LOAD_BYTES = 16


def images(op: Signature) -> tuple[Tensor, Tensor | None]:
    """The input, and in a backward the gradient of the output."""
    return op.get("input") or op["self"], op.get("grad_output")


def made_dense(op: Signature, dims: dict[str, object]) -> Iterator[Work]:
    """PyTorch's copies before cuDNN's kernels: of tensors with gaps or in another layout.

    cuDNN wants all tensors in the input's layout. A gradient in the other layout is copied once
    for both directions; one with gaps (a slice of a concatenation's gradient) for each, since
    `Tensor.to` sees the right layout and leaves it (ATen/native/cudnn/ConvShared.cpp).
    """
    last, native = bool(dims["channels_last"]), bool(dims["native"])
    x, grad = images(op)
    alone = not op.arg("output_mask", [True])[0]
    is_first = grad is None or dims["direction"] != "wgrad" or alone
    if grad is not None and not _lies(grad, last):
        shared = native or _is_channels_last(grad) != last
        if is_first or not shared:
            yield copied(grad)
    if (grad is None or native) and is_first and not _lies(x, last):
        yield copied(x)
    dense = not dims["depthwise"] and dims["direction"] != "wgrad"
    if last and dense and not _lies(op["weight"], last):
        yield copied(op["weight"])


def _is_channels_last(tensor: Tensor) -> bool:
    return not tensor.contiguous and tensor.stride[1] == 1


def _lies(tensor: Tensor, channels_last: bool) -> bool:
    """Is it dense in this layout? One channel or one pixel lies alike in both."""
    if tensor.contiguous:
        return not channels_last or tensor.shape[1] == 1 or prod(tensor.shape[2:]) == 1
    return channels_last and tensor.dense and tensor.stride[1] == 1


def converted(tensor: Tensor, back: bool = False) -> Work:
    """A tensor from NCHW to NHWC, or back: read once and written once, in tiles of 32 channels
    by 32 pixels, which take their time however few of them there are."""
    size = tensor.numel * tensor.itemsize
    images, channels, pixels = tensor.shape[0], tensor.shape[1], prod(tensor.shape[2:])
    tiles = images * -(-channels // _TILE) * -(-pixels // _TILE)
    dims = {"elements": tensor.numel, "channels": channels, "pixels": pixels, "back": back}
    return Work("layout", 0, size, size, instructions=2 * tiles * _TILE**2, dims=dims)


def copied(tensor: Tensor) -> Work:
    """A tensor in another layout by PyTorch's own copy: read once and written once."""
    size = tensor.numel * tensor.itemsize
    dims = {"elements": tensor.numel, "transposed": True}
    return Work("copy", 0, size, size, instructions=2 * tensor.numel, dims=dims)


def loaded(tensor: Tensor) -> int:
    """Channels that a tensor core kernel loads at once."""
    return _LOAD_BYTES // tensor.itemsize


def padded(tensor: Tensor, is_weight: bool, groups: int) -> bool:
    """Does it have channels that no vector load divides? Of each group, and a weight of both."""
    shape, step = tensor.shape, loaded(tensor)
    sizes = (shape[0] // groups, shape[1]) if is_weight else (shape[1] // groups,)
    return any(size % step for size in sizes)


def zeros(tensor: Tensor) -> Work:
    """The padded NHWC copy of a tensor, before its elements are put in."""
    wide = -(-tensor.shape[1] // loaded(tensor)) * loaded(tensor)
    return fill(tensor.numel // tensor.shape[1] * wide * tensor.itemsize)


def spread(tensor: Tensor, *, generic: bool = False) -> Work:
    """A tensor into (or out of) a padded one in NHWC. A weight whose outer dimension is padded
    too, and channels by groups, are for a generic kernel, which finds each element's place."""
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


def fill(size: int) -> Work:
    """A memset of `size` bytes; of 4 where a counter of tiles starts at 0."""
    return Work("fill", write_bytes=size, instructions=size // 2, dims={"elements": size // 4})


def summed(target: Tensor, parts: int) -> Work:
    """`parts` partial sums of a tensor, kept in float32, into one."""
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
