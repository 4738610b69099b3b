"""Launches of CUB's radix sorts and of ATen's sort of a row by one block."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.kernels.launches import memset
from simulator.costs.registry import Work

BLOCK_SORTS = (32, 128, 1024, 2048, 4096)
"""Lengths that one block sorts; a row is padded to the next of them
(ATen/native/cuda/Sort.cu, `sortKeyValueInplace`)."""

_SEGMENT_BITS = 6
"""Bits per pass of a segmented sort (cub's SegmentedPolicy)."""


def _single_tile(key_bytes: int, value_bytes: int) -> int:
    """Number of pairs that CUB sorts in one block of 256 threads: 19 per thread for keys and values
    of up to 4 bytes. It sorts fewer pairs if they are wider, such as 2,304 pairs per block for 8
    bytes (cub's SingleTilePolicy, RegBoundScaling)."""
    return 256 * (19 * 4 // max(4, key_bytes, value_bytes))


def _pass(variant: str, n: int, key_bytes: int, value_bytes: int, slots: int) -> Work:
    pairs = n * (key_bytes + value_bytes)
    dims = {
        "variant": variant,
        "elements": n,
        "key_bytes": key_bytes,
        "value_bytes": value_bytes,
    }
    return Work("sort", 0, pairs, pairs, instructions=slots * n, dims=dims)


def radix_sort(
    n: int, key_bytes: int, value_bytes: int, bits: int | None = None
) -> tuple[Work, ...]:
    """CUB's one-sweep sort of n pairs: histograms, their sums, and one pass per 8 bits.

    Each pass clears its look-back states, then reads and writes every pair
    (cub/device/dispatch/dispatch_radix_sort.cuh, InvokeOnesweep).
    """
    if n <= _single_tile(key_bytes, value_bytes):
        dims = {"elements": n, "key_bytes": key_bytes, "value_bytes": value_bytes}
        pairs = n * (key_bytes + value_bytes)
        return (Work("sort_tile", 0, pairs, pairs, instructions=80 * n, dims=dims),)
    passes = max(1, -(-(8 * key_bytes if bits is None else bits) // 8))
    bins = 4 * 256 * passes
    tiles = -(-n // 4096)
    return (
        memset(4 * passes),
        memset(bins),
        Work(
            "sort",
            0,
            n * key_bytes,
            bins,
            instructions=4 * n * passes,
            dims={"variant": "histogram", "elements": n, "key_bytes": key_bytes},
        ),
        Work(
            "sort",
            0,
            bins,
            bins,
            instructions=6 * 256 * passes,
            dims={"variant": "sums", "elements": 256 * passes},
        ),
        *(memset(1024 * tiles), _pass("pass", n, key_bytes, value_bytes, 20)) * passes,
    )


def segmented_sort(rows: int, cols: int, key_bytes: int, value_bytes: int) -> tuple[Work, ...]:
    """One kernel per 6 bits, in which each block sorts one row (cub's DeviceSegmentedRadixSort)."""
    digit_pass = _pass("segmented", rows * cols, key_bytes, value_bytes, 30)
    digit_pass = replace(digit_pass, dims={**digit_pass.dims, "rows": rows, "cols": cols})
    return (digit_pass,) * -(-8 * key_bytes // _SEGMENT_BITS)


def block_sort(rows: int, cols: int, key_bytes: int, value_bytes: int = 8) -> Work:
    """A bitonic network, one block per 16 rows, for rows of up to 32; a radix sort of 4 bits at a
    time, one block per row, for longer rows, which are padded."""
    n, pairs = rows * cols, rows * cols * (key_bytes + value_bytes)
    padded = next((size for size in BLOCK_SORTS if cols <= size), cols)
    rounds = 15 if padded == BLOCK_SORTS[0] else 2 * key_bytes  # 5·6 / 2 exchanges for 32 elements
    return Work(
        "sort",
        0,
        pairs,
        pairs,
        instructions=20 * rows * padded * rounds,
        dims={
            "variant": "block",
            "elements": n,
            "rows": rows,
            "cols": cols,
            "padded": padded,
            "key_bytes": key_bytes,
        },
    )
