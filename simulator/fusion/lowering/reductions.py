"""The number of steps of a reduction, as Inductor splits it (torch/_inductor/choices.py,
`reduction_split_factor`): a reduction to few results would leave units idle, so it is split into
parts that are reduced first."""

from __future__ import annotations

from simulator.hardware.gpu import GPU
from simulator.timing.rates import UNITS_SEEN

_THREADS = 2048  # of a streaming multiprocessor
_LEAST, _MOST = 32, 512  # elements per thread
_INNER_UNSPLIT = 8192
_BUSY_ROWS = 64  # at this many results per multiprocessor, no reduction is split (`num_splits`)
_OUTER_VALUES, _OUTER_BLOCK, _BLOCK_THREADS = 4, 128, 256


def parts(rows: int, cols: int, inner: bool, gpu: GPU) -> int:
    """Number of parts into which each of `rows` results, of `cols` elements, is split."""
    units = gpu.units or UNITS_SEEN
    per_thread = _per_thread(rows, cols, inner, units)
    if inner or rows == 1:
        if rows >= 2 * units or cols <= _INNER_UNSPLIT:
            return 1
        each = per_thread * _BLOCK_THREADS
        return -(-cols // each)
    if cols <= _LEAST or rows >= _BUSY_ROWS * units:
        return 1
    return -(-cols // (_OUTER_VALUES * per_thread))


def _per_thread(rows: int, cols: int, inner: bool, units: int) -> int:
    total, along = rows * cols, inner or rows == 1
    least = _LEAST * units * _THREADS
    if total < least or (along and total == least):
        return _LEAST
    if total >= _MOST * units * _THREADS:
        return _near_divisor(cols, _MOST, 50)
    if along:
        blocks = -(-units * _THREADS // (2 * _BLOCK_THREADS) // rows)
        return _near_divisor(cols, -(-cols // (_BLOCK_THREADS * max(blocks, 1))), 30)
    blocks = -(-(units * _THREADS // _BLOCK_THREADS) // -(-rows // _OUTER_BLOCK))
    return _near_divisor(cols, -(-cols // (_OUTER_VALUES * blocks)), 20)


def _near_divisor(cols: int, target: int, distance: int) -> int:
    """A divisor of `cols` less than `distance` from `target`, at least `_LEAST`; else `target`."""
    for step in range(distance):
        for near in (target - step, target + step):
            if near > 0 and cols % near == 0:
                return max(near, _LEAST)
    return target


_MIXED_ELEMENTS, _MIXED_ROWS, _MIXED_COLS = 5 * 2**20, 4096, 16384


def mixed(rows: int, cols: int) -> bool:
    """Whether sums along `rows` rows of `cols` elements and sums across the same rows can be one
    kernel. They cannot be one kernel if L2 holds the whole matrix (`MixOrderReduction` of
    torch/_inductor/scheduler.py)."""
    large = rows * cols >= _MIXED_ELEMENTS and rows >= _MIXED_ROWS
    return large and rows >= 2 * cols and cols <= _MIXED_COLS


def mixed_parts(rows: int, gpu: GPU) -> int:
    """The number of partial sums across the rows that a `mixed` kernel writes
    (`_codegen_mix_order_reduction` of torch/_inductor/codegen/simd.py)."""
    share = rows // (8 * (gpu.units or UNITS_SEEN))
    each = min(max(1 << max(share.bit_length() - 1, 0), 16), 128)
    return -(-rows // each)
