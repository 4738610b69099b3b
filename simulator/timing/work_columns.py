"""Works of one curve stacked as columns, with a row for each work, or for each point of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.costs.attention.fused import DRAWN
from simulator.varying import anywhere, stacked

Floats = NDArray[np.float64]

_ITEM_BYTES = {
    "float64": 8, "float32": 4, "tf32": 4, "float8_e4m3fn": 1, "float8_e5m2": 1, "int8": 1,
    "uint8": 1, "float4_e2m1fn_x2": 0.5,
}  # fmt: skip


class Product(NamedTuple):
    """A tiled work as batch × (rows × depth) · (depth × columns): numbers, or arrays [works]."""

    batch: Any
    rows: Any
    columns: Any
    depth: Any


class AttentionBlocks(NamedTuple):
    """How attention is divided into blocks and tiles: numbers, or arrays [works].

    count         blocks, each of which runs on one unit
    tiles         number of tiles of all blocks
    longest       number of tiles of the longest block
    edge_tiles    number of tiles at the edge of a band
    tile_flops    FLOPs of one tile
    width         width of a tile: the channels of a head
    is_masked     1 if a mask is read
    random_slots  issue slots of one tile's random numbers
    """

    count: Any
    tiles: Any
    longest: Any
    edge_tiles: Any
    tile_flops: Any
    width: Any
    is_masked: Any
    random_slots: Any


class Span(NamedTuple):
    """The consecutive works of one curve in a group, and their rows."""

    curve: str
    works: slice
    rows: slice

    def behind(self, first: Span) -> Span:
        """The span in a group that begins with the span `first`."""
        work, row = first.works.start, first.rows.start
        return Span(
            self.curve,
            slice(self.works.start - work, self.works.stop - work),
            slice(self.rows.start - row, self.rows.stop - row),
        )


@dataclass(frozen=True)
class Group:
    """Works as columns [works], by curve: `spans`. `product` is any tiled work; `blocks` is None
    unless all works are attention. `rows` are distributed over units. `programs` counts the
    programs of a handwritten kernel (0 for others), each of which loops over `trips` parts of a
    row. `again` holds the bytes that are reread from L2, as a share of `bytes`. `counts` is the
    number of rows of each work, one per point; with None, each work has one row. For kernels that
    give every operand as many blocks as the largest one, `widest_blocks` are the blocks of the
    largest, `others` the number of other operands and `other_blocks` the blocks that these need."""

    works: tuple[Work, ...]
    spans: tuple[Span, ...]
    counts: tuple[int, ...] | None
    flops: Floats
    bytes: Floats
    read_bytes: Floats
    instructions: Floats
    rows: Floats
    programs: Floats
    again: Floats
    trips: Floats
    runs: Floats
    steps: Floats
    widest_blocks: Floats
    others: Floats
    other_blocks: Floats
    product: Product
    whole: NDArray[np.bool_]
    align_bytes: Floats
    item_bytes: Floats
    blocks: AttentionBlocks | None

    def by_curve(self, figure: Callable[[str], float]) -> Floats:
        """A figure of each work's curve [works]."""
        counts = [span.rows.stop - span.rows.start for span in self.spans]
        return np.repeat([float(figure(span.curve)) for span in self.spans], counts)

    def part(self, spans: Sequence[Span]) -> Group:
        """The works of these spans, one after the other."""
        if len(spans) == len(self.spans):
            return self
        first, last = spans[0], spans[-1]
        works = slice(first.works.start, last.works.stop)
        rows = slice(first.rows.start, last.rows.stop)
        counts = self.counts[works] if self.counts is not None else None
        return Group(
            works=self.works[works],
            spans=tuple(span.behind(first) for span in spans),
            counts=counts,
            product=Product(*(column[rows] for column in self.product)),
            blocks=_all_blocks(self.works[works], counts),
            **{name: getattr(self, name)[rows] for name in _COLUMNS},
        )


_COLUMNS = tuple(
    f.name for f in fields(Group) if f.name not in ("works", "spans", "counts", "product", "blocks")
)
_NO_PRODUCT = Product(1, 1, 1, 1)
Row = TypeVar("Row", Product, AttentionBlocks)


def _stacked_rows(rows: Sequence[Row], counts: Sequence[int] | None) -> Row:
    return type(rows[0])(*(stacked(values, counts) for values in zip(*rows, strict=True)))


def _all_blocks(works: Sequence[Work], counts: Sequence[int] | None) -> AttentionBlocks | None:
    """The blocks of works that are all attention, else None."""
    if not all(work.family == "attention" for work in works):
        return None
    return _stacked_rows([_blocks(work) for work in works], counts)


def group(
    works: Sequence[Work], curves: Sequence[str], counts: Sequence[int] | None = None
) -> Group:
    """Stack works, each with its numbers at one point or at several. `curves` are their curves;
    works of a curve stand together."""

    def column(values: Sequence[Any]) -> Floats:
        return stacked(values, counts)

    dims = [work.dims for work in works]
    tiled = [
        _product(w) if w.family in ("gemm", "conv") and anywhere(w.flops) else _NO_PRODUCT
        for w in works
    ]
    align_bytes = column([d.get("align_bytes", 16) for d in dims])
    each = tuple(counts) if counts is not None else None
    return Group(
        works=tuple(works),
        spans=_spans(curves, counts),
        counts=each,
        flops=column([w.flops for w in works]),
        bytes=column([w.bytes for w in works]),
        read_bytes=column([w.read_bytes for w in works]),
        instructions=column([w.instructions for w in works]),
        rows=column([d.get("programs", d.get("rows", 0)) for d in dims]),
        programs=column([d.get("programs", 0) for d in dims]),
        again=column([d.get("again", 0.0) for d in dims]),
        trips=column([d.get("trips", 1) for d in dims]),
        runs=column([d.get("runs", 0) for d in dims]),
        steps=column([d.get("steps", 0) for d in dims]),
        widest_blocks=column([d.get("widest_blocks", 0) for d in dims]),
        others=column([d.get("others", 0) for d in dims]),
        other_blocks=column([d.get("other_blocks", 0) for d in dims]),
        product=_stacked_rows(tiled, counts),
        whole=_whole(works, column, align_bytes),
        align_bytes=align_bytes,
        item_bytes=column([w.dims.get("item_bytes", _ITEM_BYTES.get(w.dtype, 2)) for w in works]),
        blocks=_all_blocks(works, counts),
    )


def _spans(curves: Sequence[str], counts: Sequence[int] | None) -> tuple[Span, ...]:
    begins = [p for p, curve in enumerate(curves) if not p or curve != curves[p - 1]]
    ends = [*begins[1:], len(curves)]
    rows = range(len(curves) + 1) if counts is None else [0, *accumulate(counts)]
    return tuple(
        Span(curves[begin], slice(begin, end), slice(rows[begin], rows[end]))
        for begin, end in zip(begins, ends, strict=True)
    )


def _whole(
    works: Sequence[Work], column: Callable[[Sequence[Any]], Floats], align_bytes: Floats
) -> NDArray[np.bool_]:
    """Whether a product cannot be split along its depth. Batches of products cannot, nor can
    cuDNN's convolutions on vector lanes (except gradients of weights), kernels without a split, and
    products with a bias (except in kernels with bulk loads)."""
    products = [w.family == "gemm" for w in works]
    batched = column([_batch(w) for w in works]) > 1
    convolved = column([w.family == "conv" and _once_summed(w.dims) for w in works])
    biased = column(
        [p and bool(w.dims.get("epilogue")) for p, w in zip(products, works, strict=True)]
    )
    once = column([w.engine == "vector" or w.dtype in ("tf32", "int8", "uint8") for w in works])
    return batched | (convolved > 0) | ((biased > 0) & ((once > 0) | (align_bytes < 16)))


def _once_summed(d: dict[str, Any]) -> bool:
    return bool(d.get("unsplit")) or (d.get("variant") == "vector" and d["direction"] != "wgrad")


def _batch(work: Work) -> int:
    """The number of products; for a lowered convolution on vector units, that of Winograd's
    algorithm."""
    if work.family == "gemm":
        return work.dims["b"]
    return work.dims.get("batch", 0) if work.dims.get("variant") == "vector" else 0


def _product(work: Work) -> Product:
    """The product that a tiled work computes."""
    d = work.dims
    if work.family == "gemm":
        return Product(d["b"], d["m"], d["n"], d["k"])
    groups = d["groups"]
    if "positions" in d:  # lowered to a product of patches
        return Product(d.get("batch", groups), d["positions"], d["columns"], d["depth"])
    taps, out, into = (1.0 * prod(d[name]) for name in ("kernel", "spatial_out", "spatial_in"))
    cin, cout = d["cin"] / groups, d["cout"] / groups
    if d["direction"] == "fwd":
        return Product(groups, d["n"] * out, cout, cin * taps)
    if d["direction"] == "dgrad":
        depth = work.flops / (2 * groups * d["n"] * into * cin)
        return Product(groups, d["n"] * into, cin, depth)
    return Product(groups, cout, cin * taps, d["n"] * out)


def _blocks(work: Work) -> AttentionBlocks:
    """The blocks of a lowered attention; otherwise one block of 128 × 128 tiles for each 128
    queries of a head."""
    d = work.dims
    high, wide = d.get("tile", (128, 128))
    width = d["width"] if "width" in d else max(d["d"], d["dv"])
    rows, columns = (d["sq"], d["sk"]) if d["direction"] == "fwd" else (d["sk"], d["sq"])
    blocks = d.get("blocks", d["b"] * d["h"] * -(-rows // high))
    longest = d.get("longest", -(-columns // wide))
    tiles = d.get("tiles", blocks * longest * d["fraction"])
    products = 2 if d["direction"] == "fwd" else 5
    edges = d.get("edges", 0)
    flops, drawn = 2 * high * wide * width * products, high * wide * DRAWN * bool(d["dropout"])
    return AttentionBlocks(blocks, tiles, longest, edges, flops, width, d["mask"], drawn)
