"""Convolutions as cuDNN and PyTorch launch them: copies, layout conversions, splits, reductions.

Tensor cores want the channels innermost (NHWC), so a network in NCHW pays for conversions around
every convolution that is no plain matrix product. The rules were read off an H200 (cuDNN 9.19,
torch 2.11): whole networks, and a random sweep of 900 shapes forward and backward. cuDNN's own
choice is a table of heuristics; the thresholds here are where that choice usually turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, prod

from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware import GPU
from simulator.lowering.registry import lowering
from simulator.records import Signature, Tensor

_SHORT = {"tf32": "tf32", "float16": "fp16", "bfloat16": "bf16"}
_BLOCK = 128
_UNITS_SEEN = 132
_PERSISTENT_WAVES = 2.25  # more tiles than this are handed out by a counter, which is reset first
_ALIGNED = 8  # channels that a half-precision tensor core kernel loads at once
_DIRECT = 5e7  # multiply-adds below which a float32 kernel reads NCHW as it is
_SPLIT = 2e8  # ... and below which a float32 kernel converts its inputs, but writes NCHW itself
_FIRST_LAYER = 5e8  # ... below which few channels aren't worth a conversion
_SMALL_GRADIENT = 40_000  # elements below which float32 gradients are gathered by atomic adds


@dataclass(frozen=True)
class _Convolution:
    """One direction as a product: `rows` x `depth` times `depth` x `columns`, `groups` times."""

    op: Signature
    work: Work
    gpu: GPU
    sources: tuple[Tensor, Tensor]
    target: Tensor
    rows: int
    columns: int
    depth: int

    @property
    def direction(self) -> str:
        return self.work.dims["direction"]

    @property
    def half(self) -> bool:
        return self.work.dtype in ("float16", "bfloat16")

    @property
    def products(self) -> int:
        return self.work.flops // 2

    @property
    def blocks(self) -> int:
        return self.work.dims["groups"] * ceil(self.rows / _BLOCK) * ceil(self.columns / _BLOCK)

    @property
    def hopper(self) -> bool:
        return (self.gpu.compute_capability or (0, 0)) >= (9, 0)

    @property
    def pointwise(self) -> bool:
        return prod(self.work.dims["kernel"]) == 1

    @property
    def strided(self) -> bool:
        return prod(self.work.dims["stride"]) > 1

    @property
    def few_channels(self) -> bool:
        return self.work.dims["cin"] < _ALIGNED

    @property
    def counted(self) -> bool:
        """Hopper's kernels stay on their unit and take tile after tile from a counter."""
        waves = self.busy / _UNITS_SEEN
        uneven = self.direction == "wgrad" and 1 < waves < 1.25  # a last wave that is nearly empty
        return self.hopper and not self.few_channels and (waves > _PERSISTENT_WAVES or uneven)

    @property
    def busy(self) -> float:
        """Blocks by units of the GPU, scaled to the GPU that the rules were read off."""
        return self.blocks * _UNITS_SEEN / (self.gpu.units or _UNITS_SEEN)


@lowering("conv")
def convolution(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The kernels of one direction, in launch order."""
    c = _convolution(op, work, gpu)
    return (*_made_dense(c), *_kernels(c))


def _kernels(c: _Convolution) -> Iterator[Work]:
    d = c.work.dims
    if d["depthwise"]:
        yield from _depthwise(c)
    elif c.work.engine != "tensor" or not c.gpu.peak("tensor", _SHORT.get(c.work.dtype, "fp32")):
        yield _on_vectors(c.work)  # no tensor core for this dtype: NCHW suits as well as NHWC
    elif d["channels_last"]:
        yield from _channels_last(c)
    elif c.pointwise and not c.strided and d["groups"] == 1:
        yield from _product(c)
    elif not c.half and c.direction == "fwd" and not c.few_channels and c.products < _SPLIT:
        yield from _small(c)
    elif c.few_channels and c.direction == "fwd" and not _worth_padding(c):
        if prod(d["kernel"]) % 2 == 0 and c.half and c.products > 2 * _DIRECT:
            yield _copy(c.sources[1].numel, 4)  # a table of the offsets of patches
        yield c.work
    elif not c.half and c.direction == "dgrad" and c.pointwise and c.products < _SPLIT:
        yield c.work
    elif not c.half and c.direction != "fwd" and (_light(c) or _narrow(c)):
        yield _fill(c.target.numel * 4)  # partial gradients are added to zeros
        yield c.work
    else:
        yield from _implicit(c)


def _depthwise(c: _Convolution) -> Iterator[Work]:
    """One kernel, in NCHW (ATen's own) and in NHWC; the NHWC weight gradient sums partial ones."""
    reduced = c.direction == "wgrad" and c.work.dims["channels_last"] and not c.pointwise
    if reduced and c.work.dims["channels_last"] and c.sources[0].itemsize == 4:
        yield _fill(c.target.numel * 4)
    yield c.work
    if reduced:
        yield _sum(c.target, 2)


def _product(c: _Convolution) -> Iterator[Work]:
    """1×1 of stride 1: NCHW is a batch of products W [cout, cin] @ x [cin, h·w] as it lies.

    Rows of an odd number of elements defeat vector loads, so large products are then converted. A
    weight gradient sums over the batch (one more kernel), unless one product's output is larger
    than what would have to be converted for a single product over all images.
    """
    d = c.work.dims
    n, pixels, cin, cout = d["n"], prod(d["spatial_out"]), d["cin"], d["cout"]
    if c.direction == "wgrad":
        large = cin * cout > 250_000 and cin * cout > pixels * (cin + cout) * (1 if c.half else 1.2)
        thin = not c.half and cin <= 32 and c.depth > 20_000
        if large or thin:
            yield from (_converted(c, t, pad=False) for t in c.sources)
            if thin or _divided(c):
                yield _fill(4)
            yield c.work
        else:
            yield c.work
            yield _sum(c.target, n)
        return
    worth = 1e8 if c.half else 1e9 if c.direction == "fwd" else 4e8
    if pixels % 2 and c.products >= worth:
        yield _converted(c, c.sources[0], pad=False)
        yield c.work
        yield _back(c)
        return
    deep = not c.half and c.depth >= max(256, c.columns) and c.direction == "fwd"
    if deep and c.counted:
        yield _fill(4)
    yield c.work
    if deep and n == 1 and c.depth >= 1024 and ceil(c.rows / 64) * ceil(c.columns / 64) <= 32:
        yield _sum(c.target, 2)  # a batch of one may be split along its depth


def _small(c: _Convolution) -> Iterator[Work]:
    """Small float32 convolutions forward run on kernels that write NCHW themselves."""
    d = c.work.dims
    if c.pointwise:
        if d["cin"] * d["cout"] <= 2**17 and c.rows >= _BLOCK:
            yield c.work
        else:
            yield from (_converted(c, c.sources[0]), c.work, _back(c))
    elif c.depth <= 1000 and c.products < _DIRECT:
        yield c.work
    else:
        yield from (_converted(c, t) for t in c.sources)
        if c.depth > 2000:
            yield _fill(c.target.numel * 4)  # split along the depth into one sum
        yield c.work


def _implicit(c: _Convolution) -> Iterator[Work]:
    """Conversions to NHWC, the product of patches that are never stored, and back to NCHW.

    The weight of a 1×1 convolution lies alike in both layouts.
    """
    weightless = c.pointwise and c.direction != "wgrad"
    for tensor in c.sources[: 1 if weightless else 2]:
        if _padded(c, tensor):
            yield _fill(ceil(tensor.numel / tensor.shape[1]) * _ALIGNED * tensor.itemsize)
        yield _converted(c, tensor)
    thin = c.direction == "fwd" and not c.few_channels and c.depth <= 576 and c.columns <= 64
    if thin and not c.half:
        yield c.work  # thin float32 tiles are written to NCHW from registers
        return
    yield from _main(c)
    if not (c.pointwise and c.direction == "wgrad"):
        yield _back(c)


def _channels_last(c: _Convolution) -> Iterator[Work]:
    """NHWC needs no conversion; bfloat16 pads the channels of a first layer."""
    if c.few_channels and c.work.dtype == "bfloat16" and c.direction == "fwd":
        for tensor in c.sources:
            yield _fill(ceil(tensor.numel / tensor.shape[1]) * _ALIGNED * tensor.itemsize)
            yield _converted(c, tensor)
    if c.pointwise and not c.strided:
        yield c.work
        if c.direction == "wgrad" and c.blocks < 7:
            yield _sum(c.target, 2)
    else:
        yield from _main(c)


def _main(c: _Convolution) -> Iterator[Work]:
    """The kernel with what stands around it: a counter's reset, and the sum of a split depth."""
    if c.direction == "wgrad":
        split = _divided(c)
        if c.counted or split:
            yield _fill(4)
        yield c.work
        if split and (c.few_channels or c.depth > 1300 * c.busy):
            yield _sum(c.target, 2)
        return
    scattered = c.direction == "dgrad" and c.strided and c.products > 1e8  # strides leave gaps that stay zero
    deep = c.direction == "fwd" and c.depth > 1000 * c.busy
    if scattered:
        yield _fill(c.target.numel * c.target.itemsize)
    elif c.counted or (deep and c.hopper):
        yield _fill(4)
    yield c.work


def _divided(c: _Convolution) -> bool:
    """Is a weight gradient's sum over pixels shared out, since it has few tiles for its length?"""
    if c.few_channels:
        return c.depth >= 2048
    return c.depth > (500 if c.half else 40) * c.busy


def _worth_padding(c: _Convolution) -> bool:
    """Is a first layer large enough for tensor cores, or patches that don't overlap, and wide?"""
    d = c.work.dims
    patches = d["stride"] == d["kernel"] and d["cout"] >= 1024
    return c.products >= _FIRST_LAYER or (c.half and patches)


def _light(c: _Convolution) -> bool:
    return c.sources[0].numel < _SMALL_GRADIENT


def _narrow(c: _Convolution) -> bool:
    return c.few_channels and c.direction == "wgrad" and c.columns <= _BLOCK


def _padded(c: _Convolution, tensor: Tensor) -> bool:
    """Are channels filled up with zeros? Where an image or a weight has too few for a load."""
    if not c.half and not (c.few_channels and c.direction == "wgrad"):
        return False
    channels = tensor.shape[:2] if tensor.shape[2:] == c.work.dims["kernel"] else tensor.shape[1:2]
    return any(size % _ALIGNED for size in channels)


def _convolution(op: Signature, work: Work, gpu: GPU) -> _Convolution:
    d = work.dims
    groups, taps, n = d["groups"], prod(d["kernel"]), d["n"]
    cin, cout = d["cin"] // groups, d["cout"] // groups
    before, after = n * prod(d["spatial_in"]), n * prod(d["spatial_out"])
    rows, columns, depth = {
        "fwd": (after, cout, cin * taps),
        "dgrad": (before, cin, cout * taps),
        "wgrad": (cout, cin * taps, after),
    }[d["direction"]]
    x, weight = op.get("input") or op["self"], op["weight"]
    grad = op.get("grad_output")
    if grad is None:
        sources, target = (x, weight), op.out
    elif d["direction"] == "wgrad":
        sources, target = (grad, x), weight
    else:
        sources, target = (grad, weight), x
    return _Convolution(op, work, gpu, sources, target, rows, columns, depth)


def _made_dense(c: _Convolution) -> Iterator[Work]:
    """PyTorch's copies before cuDNN: of images with gaps, and of what lies in another format.

    A gradient in another format than the input is copied once for both directions; one with gaps
    (the gradient of a concatenation) once for each.
    """
    d, op = c.work.dims, c.op
    last = d["channels_last"]
    x, grad = op.get("input") or op["self"], op.get("grad_output")
    mask = op.arg("output_mask", [True, True, False])
    first = grad is None or d["direction"] != "wgrad" or not mask[0]
    if grad is not None and not _lies(grad, last):
        once = d["native"] or _last(grad) != last
        if first or not once:
            yield _copy(grad.numel, grad.itemsize)
    if grad is None or d["native"]:
        if first and not _lies(x, last):
            yield _copy(x.numel, x.itemsize)
    weight = op["weight"]
    if last and d["direction"] != "wgrad" and not d["depthwise"] and not _lies(weight, True):
        yield _copy(weight.numel, weight.itemsize)


def _last(tensor: Tensor) -> bool:
    return not tensor.contiguous and tensor.stride[1] == 1


def _lies(tensor: Tensor, channels_last: bool) -> bool:
    """Is it dense in this format? A size of 1 makes both formats one."""
    if tensor.contiguous:
        return not channels_last or tensor.shape[1] == 1 or prod(tensor.shape[2:]) == 1
    return channels_last and tensor.dense and tensor.stride[1] == 1


def _on_vectors(work: Work) -> Work:
    if work.engine == "vector":
        return work
    return replace(work, engine="vector", dtype="float32", instructions=work.flops // 2)


def _converted(c: _Convolution, tensor: Tensor, pad: bool = True) -> Work:
    return _copy(tensor.numel, tensor.itemsize)


def _back(c: _Convolution) -> Work:
    return _copy(c.target.numel, c.target.itemsize)


def _copy(elements: int, itemsize: int) -> Work:
    size = elements * itemsize
    dims = {"elements": elements, "transposed": True}
    return Work("copy", 0, size, size, instructions=2 * elements, dims=dims)


def _fill(size: int) -> Work:
    return Work("fill", write_bytes=size, instructions=size // 2, dims={"elements": size // 4})


def _sum(target: Tensor, parts: int) -> Work:
    """`parts` partial sums of a tensor, in float32, into one."""
    n = target.numel
    return Work(
        "reduction", parts * n, 4 * parts * n, n * target.itemsize, instructions=parts * n,
        dims={"outer": n, "inner": parts},
    )  # fmt: skip
