"""A convolution as an implicit matrix product of patches that are never stored."""

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
TAPS = 32
"""The largest number of taps for which Hopper's kernels were observed. For more taps older kernels
run the forward pass and the gradient of the weight, if no side of the kernel has more taps than
this. A 32-bit mask of the taps would explain both limits."""
_AMPERE = (8, 0)
_STEP = 32
"""Channels of one step along the depth of a tile, as in `…_tilesize128x128x32_…`; each tap has
separate steps."""
_CHANNELS = 64  # depth of a tile; a wider alignment does not load faster
_TAP_CHANNELS = {"tf32": 16, "bfloat16": 32, "float16": 32}
"""Channels that older kernels (`cutlass_tensorop_bf16_s16816fprop_optimized_…_32x5`) multiply at a
time, tap by tap: 16 × 16 taps take 83 µs on an H200, both with 3 channels and with 16."""


@dataclass(frozen=True)
class Product:
    """One direction: `rows` × `depth` with `depth` × `columns`, for each group.

    `blocks` counts tiles of 128 × 128, scaled to the SMs of the GPU on which the rules were
    observed. `planar` kernels, of Volta and Turing, write NCHW directly. `sliced` is true for one
    group of a convolution, whose channels are stored between those of other groups. `joined` is
    true if a group stands for several groups (`simulator.lowering.convolution_grouped`).
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
    sliced: bool = False
    joined: bool = False

    @property
    def adds(self) -> int:
        """The number of multiply-adds."""
        return self.work.flops // 2

    @property
    def load(self) -> int:
        """Channels that a kernel loads at once."""
        return _LOAD_BYTES // self.target.itemsize

    @property
    def image(self) -> bool:
        """Whether this is the first layer for which cuDNN has a special kernel:
        `sm90_xmma_fprop_image_first_layer_f16f16_…_k64c4r7s7_stride2x2`."""
        d, few = self.work.dims, self.few and self.work.dims["cin"] in (3, 4)
        is_first_layer = (d["cout"], d["kernel"], d["stride"]) == (64, (7, 7), (2, 2))
        half = self.work.dtype == "float16"
        return self.hopper and half and few and is_first_layer and self.direction == "fwd"

    @property
    def covering(self) -> bool:
        """Whether each TF32 image becomes one pixel: a few tiles sum over the whole depth, which
        older kernels do not split (`cutlass_tensorop_s1688fprop_optimized_tf32_128x128_16x4`)."""
        one = prod(self.work.dims["spatial_out"]) == 1
        return one and self.direction == "fwd" and not self.half

    @property
    def long(self) -> bool:
        """Whether the forward pass has more taps than half precision supports on tensor cores,
        along a side or, for volumes, in all: in float16, wav2vec 2.0's 128 taps ran on vector
        lanes, as did (1, 7, 7) taps of volumes without strides in half precision (63 of 63; with
        fewer taps 14 of 385). In TF32, SEW-D's 128 taps ran on tensor cores
        (`cutlass_tensorop_s1688fprop_analytic_tf32`)."""
        d = self.work.dims
        volume = d["dims"] == 3 and not (self.few or self.strided)
        taps = prod(d["kernel"]) if volume else max(d["kernel"])
        return self.half and self.direction == "fwd" and taps > TAPS

    @property
    def pixels(self) -> int:
        """Pixels of the larger of the two images."""
        return prod(self.work.dims["spatial_in"])

    def kernel(self, **extra_dims: Any) -> Work:
        """The main kernel: an implicit product of NHWC tensors; few channels are padded to the
        width of one load."""
        d = self.work.dims
        columns, depth = self.columns, self.depth
        many_taps = prod(d["kernel"]) > TAPS and self.direction != "dgrad"
        if self.joined:
            extra_dims["variant"] = f"{self.direction}_joined"
        elif self.direction == "dgrad":  # strides leave gaps that are not multiplied
            depth = max(1, self.adds // (d["groups"] * self.rows * columns))
        if not self.few and "variant" not in extra_dims:
            depth = self._loaded(depth)
        if self.few and "variant" not in extra_dims:
            by_tap = self.direction == "fwd" and self.work.dtype == "bfloat16"
            load = 4 if self.image else _TAP_CHANNELS["bfloat16"] if by_tap else self.load
            wide = -(-d["cin"] // load) * load
            columns, depth = (
                (columns, depth // d["cin"] * wide)
                if self.direction == "fwd"
                else (columns // d["cin"] * wide, depth)
            )
            if by_tap:
                extra_dims["unsplit"] = True
            extra_dims["variant"] = f"{self.direction}_{'image' if self.image else 'first'}"
        elif many_taps and self.covering and "variant" not in extra_dims:
            extra_dims |= {"variant": f"{self.direction}_covering", "unsplit": True}
        elif many_taps and "variant" not in extra_dims:
            if self.direction == "fwd":
                channels = _TAP_CHANNELS[self.work.dtype]
                depth = prod(d["kernel"]) * -(-(d["cin"] // d["groups"]) // channels) * channels
                extra_dims["unsplit"] = True
            extra_dims["variant"] = f"{self.direction}_wide"
        elif max(d.get("dilation", (1,))) > 1 and "variant" not in extra_dims:
            extra_dims["variant"] = f"{self.direction}_dilated"
        elif self._uneven and "variant" not in extra_dims:
            extra_dims["variant"] = f"{self.direction}_uneven"
        size = {
            "positions": self.rows,
            "columns": columns,
            "depth": depth,
            "blocks": max(1, round(self.blocks)),
            "channel_align": gcd(_CHANNELS, d["cin"] // d["groups"], d["cout"] // d["groups"]),
        }
        return msgspec.structs.replace(self.work, dims=d | size | extra_dims)

    @property
    def _uneven(self) -> bool:
        """Whether the channels of a group leave a part of a tile's step empty. This is rare in
        networks, so such convolutions have a separate curve."""
        d = self.work.dims
        return any(d[name] // d["groups"] % _STEP for name in ("cin", "cout"))

    def _loaded(self, depth: int) -> int:
        """The depth that tiles load: the channels of each tap fill whole steps. A gradient of
        the weight has its channels along the sides of tiles."""
        d = self.work.dims
        if self.direction == "wgrad":
            return depth
        channels = d["cin" if self.direction == "fwd" else "cout"] // d["groups"]
        return depth * (-(-channels // _STEP) * _STEP) // channels

    def plain(self) -> Work:
        """A 1×1 convolution of stride 1 as a plain product; in NCHW as a batch of products. Rows
        that do not allow 16-byte loads use other kernels."""
        d, last = self.work.dims, self.work.dims["channels_last"]
        inner = (d["cin"], d["cout"]) if last else (self.pixels, d["cin"])
        align = gcd(_LOAD_BYTES, *(size * self.target.itemsize for size in inner))
        kind = "plain" if align == _LOAD_BYTES else "narrow"
        sizes = {"variant": f"{self.direction}_{kind}", "align_bytes": align}
        if not last:  # one product per image
            n = d["n"]
            sizes |= {"batch": n} | (
                {"depth": self.depth // n}
                if self.direction == "wgrad"
                else {"positions": self.rows // n}
            )
        return self.kernel(**sizes)

    def direct(self) -> Work:
        """The NCHW kernel that multiplies on vector lanes; in the forward pass it is not split."""
        name = f"{self.direction}_direct{'_long' if self.long else ''}"
        sizes: dict[str, Any] = {"variant": name, "item_bytes": self.target.itemsize}
        kernel = self.kernel(**sizes, unsplit=True) if self.long else self.kernel(**sizes)
        return msgspec.structs.replace(
            kernel, engine="vector", dtype="float32", instructions=self.adds
        )

    def direct_of_group(self) -> Work:
        """The same kernel for one group of channels."""
        work, groups = self.direct(), self.work.dims["groups"]
        amounts = {n: getattr(work, n) // groups for n in ("flops", "read_bytes", "write_bytes")}
        return msgspec.structs.replace(work, **amounts, dims=work.dims | {"groups": 1})

    def of_one_group(self) -> Product:
        """One group of channels as a separate convolution."""
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
            sliced=True,
        )

    @property
    def split(self) -> bool:
        """Whether the depth is split, because it is long for the number of tiles. The gradient of a
        weight has few tiles and sums over all pixels."""
        if self.direction == "wgrad":
            least = 500 if self.half else 40
            return self.depth >= 2048 if self.few else self.depth > least * self.blocks
        return self.direction == "fwd" and self.hopper and self.depth > 1000 * self.blocks

    @property
    def parts(self) -> int:
        """Number of splits of a long depth: as many as are needed to keep all SMs busy."""
        return max(2, round(UNITS_SEEN / self.blocks))

    @property
    def counted(self) -> bool:
        """Whether blocks take tiles by a counter: Hopper's kernels are persistent if there are many
        waves of tiles, or a second wave that is nearly empty."""
        waves = self.blocks / UNITS_SEEN
        uneven = self.direction == "wgrad" and 1 < waves < 1.25
        return self.hopper and not self.few and (waves > 2.25 or uneven)


def product(op: Signature, work: Work, gpu: GPU) -> Product:
    """One direction of a convolution, with the dims of the equivalent convolution without
    transposition."""
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
    """The output of a convolution before any fused epilogue."""
    if op.name != "fused.product.default":
        return op.out
    shape, dtype, stride = op.arg("out")
    return Tensor(tuple(shape), dtype, tuple(stride))


def _part(tensor: Tensor, groups: int, *, outer: bool) -> Tensor:
    """One group of channels, along the outer dimension for weights."""
    n, c, *rest = tensor.shape
    shape = (n // groups, c, *rest) if outer else (n, c // groups, *rest)
    return Tensor(shape, tensor.dtype, row_major(shape))
