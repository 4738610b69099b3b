"""The small launches that larger algorithms are made of: fills, copies, sums, scans, sorts.

Their `dims` are those of the ops of the same family. Instructions count one slot for each operand
and each arithmetic step of a lane.
"""

from __future__ import annotations

from math import prod

from simulator.costs.registry import Work
from simulator.records import Tensor

_ONE_TILE = 8192
"""About the elements that CUB reduces in a single block, and so in one kernel."""
_TILE = 4096
"""About the elements of a tile whose state CUB's look-back scans keep."""


def lanes(dtype: str) -> str:
    """Half precisions and integers are computed in float32 lanes, or as wide ones."""
    return "float64" if dtype in ("float64", "complex128") else "float32"


def fill(elements: int, itemsize: int) -> Work:
    """One value everywhere, or a memset."""
    dims = {"elements": elements}
    return Work("fill", write_bytes=elements * itemsize, instructions=2 * elements, dims=dims)


def fill_like(x: Tensor) -> Work:
    """Zeros for a whole tensor."""
    return fill(x.numel, x.itemsize)


def clone(x: Tensor) -> Work:
    """A memcpy where the elements lie without gaps, and a kernel where they do not."""
    full = x.numel * x.itemsize
    if x.dense:
        return Work("memcpy", 0, x.nbytes, full, dims={"direction": "d2d", "bytes": full})
    return copy(x, full)


def onto(x: Tensor, out: Tensor) -> Work:
    """`out.copy_(x)`, x being broadcast: a memcpy where both lie alike."""
    if x.shape == out.shape and x.stride == out.stride and x.dtype == out.dtype:
        return clone(x)
    return copy(x, out.numel * out.itemsize)


def copy(x: Tensor, write_bytes: int) -> Work:
    """A kernel that reads a tensor in an order that is not that of its memory."""
    dims = {"elements": x.numel, "transposed": len(x.shape) > 1 and x.stride[-1] != 1}
    return Work("copy", 0, x.nbytes, write_bytes, instructions=2 * x.numel, dims=dims)


def to_host(nbytes: int) -> Work:
    """A memcpy that the host waits for."""
    return Work("memcpy", read_bytes=nbytes, dims={"direction": "d2h", "bytes": nbytes})


def from_host(nbytes: int) -> Work:
    """A memcpy to the GPU."""
    return Work("memcpy", write_bytes=nbytes, dims={"direction": "h2d", "bytes": nbytes})


def pointwise(
    elements: int, read: int, write: int, *, flops: int = 1, inputs: int = 1, slots: int = 0,
    dtype: str = "float32",
) -> Work:  # fmt: skip
    """`flops` for each element, in `slots` instructions where they take more than one each."""
    dims = {"elements": elements, "inputs": inputs, "contiguous": True}
    return Work(
        "pointwise", flops * elements, read, write, dtype=lanes(dtype),
        instructions=(max(flops, slots) + inputs + 1) * elements, dims=dims,
    )  # fmt: skip


def reduction(
    rows: int, cols: int, read: int, write: int, *, inner: int = 1, flops: int = 1,
    dtype: str = "float32",
) -> Work:  # fmt: skip
    """`cols` elements into each of `rows`; `inner` is 1 where those lie side by side."""
    n = rows * cols
    return Work(
        "reduction", flops * n, read, write, dtype=lanes(dtype), instructions=(flops + 1) * n,
        dims={"rows": rows, "cols": cols, "inner": inner},
    )  # fmt: skip


def whole_reduction(elements: int, nbytes: int, itemsize: int) -> tuple[Work, ...]:
    """CUB's reduction to one value: one block, or a grid of about a thousand and one block."""
    if elements <= _ONE_TILE:
        return (reduction(1, elements, nbytes, itemsize),)
    return reduction(1, elements, nbytes, 8192), reduction(1, 1024, 8192, itemsize)


def tile_states(elements: int) -> Work:
    """The kernel or memset that clears the 16-byte states of a look-back scan's tiles."""
    return fill(-(-elements // _TILE), 16)


def row_scan(elements: int, read: int, write: int) -> tuple[Work, Work]:
    """CUB's running sum, or its selection, of one row."""
    dims = {"rows": 1, "cols": elements, "inner": 1}
    sweep = Work("scan", elements, read, write, instructions=6 * elements, dims=dims)
    return tile_states(elements), sweep


def scan(x: Tensor, out: Tensor, dim: int) -> tuple[Work, ...]:
    """Running sums along a dimension: CUB's for a single row (ScanUtils.cuh), else one kernel."""
    cols = x.shape[dim] if x.shape else 1
    if cols == x.numel:
        return row_scan(cols, x.nbytes, out.nbytes)
    dims = {"rows": x.numel // max(cols, 1), "cols": cols, "inner": prod(x.shape[dim:][1:])}
    return (
        Work("scan", x.numel, x.nbytes, out.nbytes, dtype=lanes(out.dtype),
             instructions=6 * x.numel, dims=dims),
    )  # fmt: skip


def _single_tile(key_bytes: int, value_bytes: int) -> int:
    """Pairs that CUB sorts in one block: 256 threads with 19 of 4 bytes or less each, fewer of
    wider ones: 2,304 of 8 bytes (cub's SingleTilePolicy, RegBoundScaling)."""
    return 256 * max(1, 19 * 4 // max(4, key_bytes, value_bytes))


def radix_sort(
    n: int, key_bytes: int, value_bytes: int, bits: int | None = None
) -> tuple[Work, ...]:
    """CUB's one-sweep sort of n pairs: histograms, their sums, and a pass for each 8 bits.

    Each pass reads and writes every pair, after its look-back states are cleared
    (cub/device/dispatch/dispatch_radix_sort.cuh, InvokeOnesweep).
    """
    if n <= _single_tile(key_bytes, value_bytes):
        dims = {"elements": n, "key_bytes": key_bytes, "value_bytes": value_bytes}
        pairs = n * (key_bytes + value_bytes)
        return (Work("sort_tile", 0, pairs, pairs, instructions=80 * n, dims=dims),)
    passes = max(1, -(-(8 * key_bytes if bits is None else bits) // 8))
    bins = 256 * passes
    pairs = n * (key_bytes + value_bytes)
    dims = {"elements": n, "key_bytes": key_bytes, "value_bytes": value_bytes}
    return (
        fill(passes, 4),
        fill(bins, 4),
        Work("reduction", 0, n * key_bytes, 4 * bins, instructions=4 * n * passes,
             dims={"rows": bins, "cols": n, "inner": 1}),
        Work("scan", 0, 4 * bins, 4 * bins, instructions=6 * bins,
             dims={"rows": passes, "cols": 256, "inner": 1}),
        *(tile_states(n), Work("sort", 0, pairs, pairs, instructions=20 * n, dims=dims)) * passes,
    )  # fmt: skip


def moved(family: str, elements: int, width: int, read: int, write: int, *, flops: int = 0) -> Work:
    """A gather or scatter: `width` elements side by side at each place, found in four slots."""
    dims = {"elements": elements, "width": max(width, 1)}
    return Work(
        family, flops * elements, read, write, instructions=(6 + flops) * elements, dims=dims
    )
