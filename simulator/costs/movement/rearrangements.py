"""Copies between views of a tensor with split dimensions: shuffled channels and pixels, and
repeated elements."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from simulator.costs.movement.copies import move
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor, row_major


@cost("aten.native_channel_shuffle.default", "aten.channel_shuffle.default")
def channel_shuffle(op: Signature) -> tuple[Work, ...]:
    """Groups and the channels of a group change places; nothing is copied if either is 1
    (ATen/native/ChanelShuffle.cpp, `math_channel_shuffle`)."""
    x, groups = op.inputs[0], op.arg("groups")
    split = _split(x, 1, (groups, x.shape[1] // groups))
    if 1 in split.shape[1:3]:
        return ()
    order = (0, 2, 1, *range(3, len(split.shape)))
    return _packed(split, order, op.out)


@cost("aten.pixel_shuffle.default")
def pixel_shuffle(op: Signature) -> tuple[Work, ...]:
    """Channels become the pixels of squares (ATen/native/PixelShuffle.cpp)."""
    x, side = op.inputs[0], op.arg("upscale_factor")
    first = len(x.shape) - 3
    split = _split(x, first, (x.shape[first] // side**2, side, side))
    return _packed(split, (*range(first + 1), *(first + d for d in (3, 1, 4, 2))), op.out)


@cost("aten.pixel_unshuffle.default")
def pixel_unshuffle(op: Signature) -> tuple[Work, ...]:
    """The pixels of squares become channels."""
    x, side = op.inputs[0], op.arg("downscale_factor")
    first = len(x.shape) - 3
    high = _split(x, first + 1, (x.shape[first + 1] // side, side))
    split = _split(high, first + 3, (x.shape[first + 2] // side, side))
    return _packed(split, (*range(first + 1), *(first + d for d in (2, 4, 1, 3))), op.out)


@cost("aten.repeat.default")
def repeat(op: Signature) -> tuple[Work, ...]:
    """Each dimension is written as (times, size); the source does not advance along the times
    (ATen/native/TensorShape.cpp, `repeat`)."""
    x, times = op["self"], op.arg("repeats")
    lead = len(times) - len(x.shape)
    sizes = (*[1] * lead, *x.shape)
    steps = (*[0] * lead, *x.stride)
    out = op.out
    for d in reversed(range(len(times))):
        out = _split(out, d, (times[d], sizes[d]))
    zeros = [0] * len(times)
    source = replace(x, shape=out.shape, stride=_alternating(zeros, steps))
    return move(source, out) if out.numel else ()


def _alternating(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    return tuple(step for pair in zip(first, second, strict=True) for step in pair)


def _split(x: Tensor, d: int, sizes: Sequence[int]) -> Tensor:
    """A view with dimension `d` split into dimensions of these sizes."""
    inside = [step * x.stride[d] for step in row_major(tuple(sizes))]
    shape = (*x.shape[:d], *sizes, *x.shape[d + 1 :])
    return replace(x, shape=shape, stride=(*x.stride[:d], *inside, *x.stride[d + 1 :]))


def _packed(split: Tensor, order: Sequence[int], out: Tensor) -> tuple[Work, ...]:
    """The copy of a view whose dimensions are put in this order."""
    if not out.numel:
        return ()
    shape = tuple(split.shape[d] for d in order)
    source = replace(split, shape=shape, stride=tuple(split.stride[d] for d in order))
    return move(source, replace(out, shape=shape, stride=row_major(shape)))
