"""The memory accesses of an iteration, counted by hand."""

from __future__ import annotations

import pytest

from simulator.costs.kernels.iterator import aligned, unrolled_elements, walk
from simulator.records import Tensor, row_major

F32, BF16 = "float32", "bfloat16"


def packed(*shape: int, dtype: str = F32) -> Tensor:
    return Tensor(shape, dtype, row_major(shape))


def test_contiguous_axes_are_one_axis() -> None:
    x = packed(4, 6, 8)
    assert walk([x, x]).axes == ((192, (4, 4)),)
    # rows of 8 cut out of rows of 16: two axes, because the 24 rows are merged
    wide = Tensor((4, 6, 8), F32, (96, 16, 1))
    assert walk([wide, x]).axes == ((8, (4, 4)), (24, (64, 32)))


def test_axes_follow_the_result() -> None:
    x, last = packed(2, 3, 4), Tensor((2, 3, 4), F32, (12, 1, 3))
    assert walk([x, last]).axes[0] == (3, (16, 4))


def test_a_broadcast_operand_does_not_move() -> None:
    row = packed(8)
    assert walk([packed(4, 8), row, packed(4, 8)]).axes == ((8, (4, 4, 4)), (4, (32, 0, 32)))


def test_a_tensor_on_the_host_does_not_count() -> None:
    x, number = packed(4, 8), Tensor((), F32, (), "cpu")
    assert walk([x, number, x]) == walk([x, x])


def test_runs_of_a_straight_walk() -> None:
    x = packed(1024, 256)
    # 1 MiB is 32,768 sectors and 8,192 lines: (1 + 3 / 4) / 4 per sector, for two operands
    assert walk([x, x]).runs == 2 * (32768 + 3 * 8192) // 4


def test_one_element_touches_one_sector_of_one_line() -> None:
    walked = walk([packed(1)])
    assert (walked.axes, walked.runs, walked.warp_sectors, walked.block_lines) == ((), 1, 1, 1)


def test_a_transpose_touches_a_line_for_each_element() -> None:
    x, turned = packed(1024, 1024), Tensor((1024, 1024), F32, (1, 1024))
    n = 1024 * 1024
    # a block has 256 adjacent elements of the result: 256 lines of the source, and 32 sectors in 8
    # lines of the result
    assert walk([turned, x]).runs == n + (n // 256) * (32 + 3 * 8) // 4


@pytest.mark.parametrize(("cols", "share"), [(8, 7 / 16), (16, 5 / 8), (32, 1.0)])
def test_a_line_is_shared_by_neighbours_that_are_close(cols: int, share: float) -> None:
    # a column of a table with 32, 64 or 128 bytes per row: 4, 2 or 1 of its sectors per line
    n = 4096 * cols
    turned, x = Tensor((cols, 4096), F32, (1, cols)), packed(cols, 4096)
    own = (n // 256) * (32 + 3 * 8) // 4
    assert walk([turned, x]).runs == pytest.approx(n * share + own, rel=0.01)


def test_a_block_reads_short_columns_together() -> None:
    # a block has 4 columns of 512 elements: neighbours in the source share a sector
    n = 128 * 4 * 1000
    turned, x = Tensor((1000, 128, 4), BF16, (512, 1, 128)), packed(1000, 128, 4, dtype=BF16)
    # 4 columns of 128·2 bytes: 32 sectors in 8 lines, as in the result
    assert walk([turned, x]).runs == 2 * (n // 512) * (32 + 3 * 8) // 4


def test_elements_of_a_thread() -> None:
    assert [unrolled_elements(packed(4, dtype=d)) for d in (BF16, F32, "int64")] == [4, 2, 2]


def test_aligned_needs_one_layout_without_gaps() -> None:
    x, turned = packed(4, 6), Tensor((4, 6), F32, (1, 4))
    assert aligned([x, x]) and aligned([turned, turned])
    assert not aligned([x, turned])
    assert not aligned([Tensor((4, 6), F32, (12, 1))] * 2)
