"""A convolution as the matrix product that it is, of patches that are never stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, gcd, prod
from typing import Any

import msgspec

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering.layouts import images
from simulator.records import Signature, Tensor, row_major
from simulator.timing.rates import UNITS_SEEN

_FEW = 8
_LOAD_BYTES = 16
_TAPS = 32
"""A kernel's taps that Hopper's bulk loads of patches mask with one word; beyond, forwards and
weight gradients are left to older kernels."""
_AMPERE = (8, 0)
_CHANNELS = 64  # of a tile's depth: no wider multiple loads better


@dataclass(frozen=True)
class Product:
    """One direction: `rows` × `depth` with `depth` × `columns`, for each group.

    `blocks` counts tiles of 128 × 128, in units of the GPU that the rules were read off: a GPU
    with half the units fills up with half the tiles. `planar` kernels, Volta's and Turing's, write
    NCHW themselves.
    """

    work: Work
    direction: str
    sources: tuple[Tensor, Tensor]
    target: Tensor
    rows: int
    columns: int
    depth: int
    blocks: float
    half: bool
    hopper: bool
    planar: bool
    unit: bool
    strided: bool
    few: bool

    @property
    def adds(self) -> int:
        """Multiply-adds."""
        return self.work.flops // 2

    @property
    def load(self) -> int:
        """Channels that a kernel loads at once."""
        return _LOAD_BYTES // self.target.itemsize

    @property
    def image(self) -> bool:
        """Is it the first layer that cuDNN has a kernel of its own for? Its name says for which:
        `sm90_xmma_fprop_image_first_layer_f16f16_…_k64c4r7s7_stride2x2`."""
        d, few = self.work.dims, self.few and self.work.dims["cin"] in (3, 4)
        made_for = (d["cout"], d["kernel"], d["stride"]) == (64, (7, 7), (2, 2))
        half = self.work.dtype == "float16"
        return self.hopper and half and few and made_for and self.direction == "fwd"

    @property
    def pixels(self) -> int:
        """Of the larger image."""
        return prod(self.work.dims["spatial_in"])

    def kernel(self, **more: Any) -> Work:
        """The main kernel: an implicit product of tensors in NHWC, whose few channels are padded
        to what one load takes."""
        d = self.work.dims
        columns, depth, taps = self.columns, self.depth, prod(d["kernel"])
        if self.direction == "dgrad":  # strides leave gaps that are not multiplied
            depth = max(1, self.adds // (d["groups"] * self.rows * columns))
        if self.few and "variant" not in more:
            load = 4 if self.image else self.load
            wide = -(-d["cin"] // load) * load
            columns, depth = (
                (columns, depth // d["cin"] * wide)
                if self.direction == "fwd"
                else (columns // d["cin"] * wide, depth)
            )
            more["variant"] = f"{self.direction}_{'image' if self.image else 'first'}"
        elif taps > _TAPS and self.direction != "dgrad" and "variant" not in more:
            more["variant"] = f"{self.direction}_wide"
        size = {
            "positions": self.rows,
            "columns": columns,
            "depth": depth,
            "blocks": max(1, round(self.blocks)),
            "channel_align": gcd(_CHANNELS, d["cin"] // d["groups"], d["cout"] // d["groups"]),
        }
        return msgspec.structs.replace(self.work, dims=d | size | more)

    def plain(self) -> Work:
        """A 1×1 of stride 1 as the plain product that it is: a batch of them in NCHW. Where rows
        do not allow loads of 16 bytes, other kernels take it."""
        d, last = self.work.dims, self.work.dims["channels_last"]
        inner = (d["cin"], d["cout"]) if last else (self.pixels, d["cin"])
        align = gcd(_LOAD_BYTES, *(size * self.target.itemsize for size in inner))
        kind = "plain" if align == _LOAD_BYTES else "narrow"
        sizes = {"variant": f"{self.direction}_{kind}", "align_bytes": align}
        if not last:  # a product for each image
            n = d["n"]
            sizes |= {"batch": n} | (
                {"depth": self.depth // n}
                if self.direction == "wgrad"
                else {"positions": self.rows // n}
            )
        return self.kernel(**sizes)

    def direct(self) -> Work:
        """Kernels for NCHW that multiply on vector lanes."""
        kernel = self.kernel(variant=f"{self.direction}_direct", item_bytes=self.target.itemsize)
        return msgspec.structs.replace(
            kernel, engine="vector", dtype="float32", instructions=self.adds
        )

    def of_one_group(self) -> Product:
        """The same for one group of channels, as a convolution of its own."""
        groups = self.work.dims["groups"]
        d = self.work.dims
        parts = {"cin": d["cin"] // groups, "cout": d["cout"] // groups, "groups": 1}
        amounts = {
            name: getattr(self.work, name) // groups
            for name in ("flops", "read_bytes", "write_bytes", "instructions")
        }
        first, second = self.sources
        return replace(
            self,
            work=msgspec.structs.replace(self.work, **amounts, dims=d | parts),
            sources=(
                _part(first, groups, outer=False),
                _part(second, groups, outer=self.direction != "wgrad"),
            ),
            target=_part(self.target, groups, outer=self.direction == "wgrad"),
            blocks=self.blocks / groups,
            few=parts["cin"] < _FEW,
        )

    @property
    def parts(self) -> int:
        """Into which a long depth is split: as many as keep all units busy."""
        return max(2, round(UNITS_SEEN / self.blocks))

    @property
    def counted(self) -> bool:
        """Do tiles come from a counter? Hopper's kernels stay, and take tile after tile, where
        there are many waves of them, or a second one that is nearly empty."""
        waves = self.blocks / UNITS_SEEN
        uneven = self.direction == "wgrad" and 1 < waves < 1.25
        return self.hopper and not self.few and (waves > 2.25 or uneven)


def product(op: Signature, work: Work, gpu: GPU) -> Product:
    """One direction of a convolution, its dims being those of the one that isn't transposed."""
    d: dict[str, Any] = work.dims
    direction, groups, taps = d["direction"], d["groups"], prod(d["kernel"])
    cin, cout = d["cin"] // groups, d["cout"] // groups
    before, after = d["n"] * prod(d["spatial_in"]), d["n"] * prod(d["spatial_out"])
    rows, columns, depth = {
        "fwd": (after, cout, cin * taps),
        "dgrad": (before, cin, cout * taps),
        "wgrad": (cout, cin * taps, after),
    }[direction]
    (x, grad), weight = images(op), op["weight"]
    if grad is None:
        sources, target = (x, weight), _result(op)
    else:
        sources, target = ((grad, x), weight) if direction == "wgrad" else ((grad, weight), x)
    blocks = groups * ceil(rows / 128) * ceil(columns / 128)
    return Product(
        work,
        direction,
        sources,
        target,
        rows,
        columns,
        depth,
        blocks=blocks * UNITS_SEEN / (gpu.units or UNITS_SEEN),
        half=work.dtype in ("float16", "bfloat16"),
        hopper=(gpu.compute_capability or (0, 0)) >= (9, 0),
        planar=(gpu.compute_capability or _AMPERE) < _AMPERE,
        unit=taps == 1,
        strided=prod(d["stride"]) > 1,
        few=d["cin"] < _FEW,
    )


def _result(op: Signature) -> Tensor:
    """What a convolution makes; of one with an epilogue, what it makes before."""
    if op.name != "fused.product.default":
        return op.out
    shape, dtype, stride = op.arg("out")
    return Tensor(tuple(shape), dtype, tuple(stride))


def _part(tensor: Tensor, groups: int, *, outer: bool) -> Tensor:
    """The channels of one group: a weight's are its outer dimension."""
    n, c, *rest = tensor.shape
    shape = (n // groups, c, *rest) if outer else (n, c // groups, *rest)
    return Tensor(shape, tensor.dtype, row_major(shape))
