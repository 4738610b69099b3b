"""Grouped convolutions in which one tensor-core kernel multiplies several groups at once.

cuDNN's kernels such as `sm90_xmma_fprop_implicit_gemm_…_g8_…` multiply all channels of neighbouring
groups with each other: 64 channels in half precision, 32 in TF32, or one wider group. Groups whose
number of channels is not a power of two are first padded to one. The kernels of 700 convolutions
with equal numbers of input and output channels per group were recorded on an H200 (cuDNN 9.19).
Thin groups, and wide ones over many positions, run together; the others run one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil, prod

import msgspec

from simulator.costs import Work
from simulator.lowering.implicit_gemm import TAPS, Product
from simulator.lowering.layouts import memset, nhwc_conversion, padded_zeros, padding_copy
from simulator.lowering.single_pixel import has_one_pixel
from simulator.records import Tensor

_FEWEST_TAPS = 7
_TILE, _TILE_TF32 = 64, 32
"""Channels that a kernel multiplies with each other."""
_MANY_GROUPS, _SOME_GROUPS = 8, 4
_THIN, _THIN_OF_FEW, _WIDE_OF_FEW, _WIDE = 4, 8, 11, 47  # channels of a group
_POSITIONS, _POSITIONS_PADDED, _POSITIONS_OF_FEW, _POSITIONS_BACKWARD = 9_000, 1_500, 40_000, 700
"""Wide groups run together if the output has at least this many positions: without padding, with
padding, for 32 channels in few groups, and for gradients of padded groups."""

_SQUARES = {2, 3, 5}  # sides of thin groups' kernels
_MANY_UNITS, _FEW_IMAGES = 32, 2
_SMALL_ADDS, _SMALL_POSITIONS, _SMALL_DEPTH, _TINY_ADDS = 5.6e6, 650, 57, 1.3e5
_WIDE_GRADIENT, _LARGE_GRADIENT = 256, 1.8e10  # channels of a group, multiply-adds
_ROWS_OF_LONG, _LONG_PARTS = 256, 3


def group_width(c: Product) -> int:
    """The channels of a padded group: the next power of two."""
    d = c.work.dims
    return 1 << (max(d["cin"], d["cout"]) // d["groups"] - 1).bit_length()


def run_together(c: Product) -> bool:
    """Whether one kernel computes all groups."""
    d, width, forward = c.work.dims, group_width(c), c.direction == "fwd"
    groups, side = d["groups"], max(d["kernel"])
    positions = d["n"] * prod(d["spatial_out"])
    if not (c.half or forward or d["channels_last"]):
        return not c.unit and side < 7 and groups >= _MANY_GROUPS and width <= _TILE
    if c.unit:
        if not forward:  # in half precision, 130 of 179 recorded gradients ran group by group
            return not c.half and width >= _TILE_TF32 and positions >= _POSITIONS_BACKWARD
        return width <= 8 if c.half else width >= _TILE
    if _is_sequence(c) and (not c.half or width == _TILE):
        return True
    if not c.half:
        return side < 7
    if width <= 16:
        return groups >= (_SOME_GROUPS if width <= 8 else _MANY_GROUPS)
    if width == 32:
        has_enough_groups = groups >= _MANY_GROUPS and (side <= 3 or not forward)
        return has_enough_groups or positions >= _POSITIONS_OF_FEW
    if max(d["cin"], d["cout"]) // groups == width:
        if width == _TILE and not forward:
            return _gradient_of_tiles_runs_together(c, positions)
        return positions >= _POSITIONS
    return positions >= (_POSITIONS_PADDED if forward else _POSITIONS_BACKWARD)


def _gradient_of_tiles_runs_together(c: Product, positions: int) -> bool:
    """Whether one kernel computes a gradient of groups of 64 channels in half precision (19
    recorded). In channels last, this takes at least eight groups. The gradient of the input of a
    strided convolution runs group by group; that of the weight does so over few positions."""
    d = c.work.dims
    if d["channels_last"] and d["groups"] < _MANY_GROUPS:
        return False
    return not c.strided if c.direction == "dgrad" else positions >= _POSITIONS_BACKWARD


def has_single_outputs(c: Product) -> bool:
    """Whether each of at least four thin groups has one output. One kernel, which supports any
    groups, computes these outputs."""
    d = c.work.dims
    groups = d["groups"]
    return groups > 3 and d["cout"] == groups and d["cin"] <= _THIN * groups


def has_thin_squares(c: Product) -> bool:
    """Whether each group has two or three channels and as many outputs, in half precision and NCHW,
    with kernels of 2 × 2, 3 × 3 or 5 × 5: one kernel, which supports any groups, computes them
    (`conv2d_grouped_direct_kernel`, 28 of 28 recorded). With other kernels (14 of 14), or with
    other numbers of outputs (18 of 18), groups run one by one."""
    d = c.work.dims
    grouped = d["groups"] > 1 and d["cin"] == d["cout"]
    thin = grouped and 2 <= d["cin"] // d["groups"] < _THIN
    square = d["dims"] == 2 and set(d["kernel"]) <= _SQUARES
    return thin and square and c.half and not d["channels_last"]


def has_small_groups(c: Product) -> bool:
    """Whether a kernel that supports any groups computes small groups in NCHW. In TF32, it runs the
    forward pass of many groups with 1×1 kernels (12 of 13 recorded), and of at least four groups of
    up to four channels over one or two images (15 of 15), and small gradients of the input (8 of
    11). In both precisions, it runs small gradients of the weight (25 of 27)."""
    d = c.work.dims
    groups = d["groups"]
    if d["channels_last"] or d["dims"] != 2 or d["cin"] < groups:
        return False
    if c.direction == "wgrad":
        positions = d["n"] * prod(d["spatial_out"])
        small = c.adds <= _SMALL_ADDS and positions <= _SMALL_POSITIONS
        return small and not (c.half and (c.unit or groups >= _MANY_UNITS))
    if c.half:
        return False
    if c.direction == "dgrad":
        thin = d["cout"] < _THIN * groups
        return c.depth <= _SMALL_DEPTH and (thin or c.adds <= _TINY_ADDS)
    if c.unit:
        return groups >= _MANY_UNITS
    thin = d["cin"] <= _THIN * groups and d["n"] <= _FEW_IMAGES
    return thin and groups >= _SOME_GROUPS


def has_wide_gradient(c: Product) -> bool:
    """Whether the gradient of the weight of each wide group runs on lanes in half precision
    (`wgrad_alg1_engine`, 22 of 25 recorded; 7 of 145 others with groups of 64 or more)."""
    d = c.work.dims
    widths = sorted((d["cin"] // d["groups"], d["cout"] // d["groups"]))
    wide = widths[0] >= _WIDE_GRADIENT // 2 and widths[1] >= _WIDE_GRADIENT
    large = c.half and not c.planar and c.adds > _LARGE_GRADIENT
    return c.direction == "wgrad" and wide and large


def are_separate(c: Product) -> bool:
    """Whether groups that cannot run together are separate convolutions. For the older kernels that
    write NCHW, only wide groups are assumed to be separate."""
    d = c.work.dims
    if c.planar:
        widest = max(d["cin"], d["cout"]) // d["groups"]
        return widest > (_WIDE_OF_FEW if d["groups"] < 4 else _WIDE)
    return c.half or not c.unit or d["channels_last"]


def are_few_and_thin(c: Product) -> bool:
    """Whether there are two or three thin groups, which cuDNN computes one by one on lanes."""
    d = c.work.dims
    return d["groups"] < 4 and max(d["cin"], d["cout"]) <= _THIN_OF_FEW * d["groups"]


def one_by_one(c: Product, kernels: Iterable[Work]) -> Iterator[Work]:
    """The kernels of each group in turn, given those of one group. In the forward pass, groups run
    concurrently in several streams, as long as their blocks leave multiprocessors free."""
    groups = c.work.dims["groups"]
    own = list(kernels)
    if c.direction == "fwd":
        beside = {"separate_groups": groups, "group_blocks": c.blocks / groups}
        own = [msgspec.structs.replace(work, dims=work.dims | beside) for work in own]
    yield from own * groups


def of_long_group(c: Product) -> Iterator[Work]:
    """The kernels of one group with `Product.long` taps on vector lanes. Over more rows than two
    tiles of 128, cuDNN 9.19 splits them among three kernels, each of which sums over all taps. On
    an H200, a group of 48 channels and 128 taps takes one kernel of 660 to 690 µs at 25 to 252
    positions and three of 540 to 690 µs at 300 to 1,200 (8 layers)."""
    whole = c.direct_of_group()
    if c.rows <= _ROWS_OF_LONG:
        yield whole
        return
    names = ("flops", "read_bytes", "write_bytes", "instructions")
    parts = {name: getattr(whole, name) // _LONG_PARTS for name in names}
    yield memset(4 * c.depth)  # computes the offsets of a patch's elements
    for _ in range(_LONG_PARTS):
        yield msgspec.structs.replace(whole, **parts)


def _is_sequence(c: Product) -> bool:
    """Whether the forward pass convolves along one dimension with more taps than small squares
    have: groups of 48 channels and 19 taps, as in data2vec's position embedding, run together at
    48 to 1,984 positions in every precision, and groups of 44 channels and 7 taps at 290."""
    kernel = c.work.dims["kernel"]
    return c.direction == "fwd" and len(kernel) == 1 and _FEWEST_TAPS <= kernel[0] <= TAPS


def join_groups(c: Product) -> tuple[list[Work], Product, list[Work]]:
    """The copies before the kernel, the product that it computes, and the copies after it."""
    last = c.work.dims["channels_last"]
    before: list[Work] = []
    for index, tensor in enumerate(c.sources):
        is_weight = index == 1 and c.direction != "wgrad"
        if _is_padded(c, tensor, is_weight):
            copy = _generic if last or is_weight else nhwc_conversion
            before += [padded_zeros(tensor), copy(tensor)]
        elif not last and not has_one_pixel(tensor):
            before.append(nhwc_conversion(tensor))
    is_weight = c.direction == "wgrad"
    after: list[Work] = []
    if _is_padded(c, c.target, is_weight) and (last or is_weight):
        after.append(_generic(c.target))
    elif not last and not has_one_pixel(c.target):
        after.append(nhwc_conversion(c.target, back=True))
    return before, _joined(c), after


def _generic(tensor: Tensor) -> Work:
    return padding_copy(tensor, generic=True)


def _is_padded(c: Product, tensor: Tensor, is_weight: bool) -> bool:
    """Whether the channels of a group are fewer than those of a padded one."""
    groups = c.work.dims["groups"]
    sizes = (
        (tensor.shape[0] // groups, tensor.shape[1]) if is_weight else (tensor.shape[1] // groups,)
    )
    return any(size != group_width(c) for size in sizes)


def _joined(c: Product) -> Product:
    """The dense product of the padded channels of neighbouring groups."""
    d = c.work.dims
    width = group_width(c)
    tile = max(width, min(_TILE if c.half else _TILE_TF32, width * d["groups"]))
    parts = -(-width * d["groups"] // tile)
    taps = prod(d["kernel"])
    rows, columns, depth = {
        "fwd": (c.rows, tile, tile * taps),
        "dgrad": (c.rows, tile, max(1, tile * taps // prod(d["stride"]))),
        "wgrad": (tile, tile * taps, c.depth),
    }[c.direction]
    scale = c.blocks / (d["groups"] * ceil(c.rows / 128) * ceil(c.columns / 128))
    dims = d | {"cin": tile * parts, "cout": tile * parts, "groups": parts}
    return replace(
        c,
        work=msgspec.structs.replace(c.work, dims=dims),
        rows=rows,
        columns=columns,
        depth=depth,
        blocks=parts * ceil(rows / 128) * ceil(columns / 128) * scale,
        few=False,
        joined=True,
    )
