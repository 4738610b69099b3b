"""The minimum time of kernels that compute offsets, against counts by hand on an H200."""

from __future__ import annotations

import pytest

from simulator.costs import Work
from simulator.costs.kernels.launches import strided_copy
from simulator.hardware.gpu import gpu
from simulator.records import Tensor
from simulator.timing.offset_access import least_s
from simulator.timing.profile import profile
from simulator.timing.roofline import roofs

H200 = gpu("h200")


def test_a_warp_touches_a_sector_for_each_row_of_a_transposition() -> None:
    turned = Tensor((64, 196, 192), "bfloat16", (37632, 1, 196))
    packed = Tensor((64, 196, 192), "bfloat16", (37632, 192, 1))
    work = strided_copy(turned, packed, packed.nbytes)
    elements = 64 * 196 * 192
    # for every 32 elements, 32 sectors are read and 2 are written
    assert work.dims["warp_sectors"] == elements + elements // 16
    # 192 rows of 392 bytes, 2.67 columns, and 8 lines that are written
    assert work.dims["block_lines"] == pytest.approx(200, abs=4)


def test_lookups_count_only_where_l1_loses_lines() -> None:
    def floor_s(lines: int) -> float:
        dims = {"warp_sectors": 10**6, "block_lines": lines}
        return least_s(Work("copy", dims=dims), H200)

    # 16 blocks with 64 lines of 128 bytes fill half of 256 KiB; with 192 lines, one and a half
    # times
    assert floor_s(64) == 0
    # 10⁶ · 1.4 clocks on 132 multiprocessors at 1,980 MHz
    assert floor_s(192) == floor_s(400) == pytest.approx(1.4e6 / (132 * 1.98e9))


def test_divisions_take_issue_slots() -> None:
    # 10⁹ instructions on 132 · 128 lanes at 1,980 MHz, to which the data sheet rounds
    seconds = least_s(Work("concat", dims={"offset_slots": 10**9}), H200)
    assert seconds == pytest.approx(1e9 / (132 * 128 * 1.98e9), rel=0.01)


def test_idle_blocks_take_time() -> None:
    def seconds(others: int) -> float:
        dims = {"vectorized": True, "widest_blocks": 3136, "others": others}
        work = Work("concat", 0, 10**6, 10**6, dims=dims | {"other_blocks": 392 * others})
        table = roofs([work], H200, profile("h200"))
        return float(table.fixed_s[0])

    # 24 · (3,136 - 392) blocks at 1.1 clocks each, at 1,980 MHz
    assert seconds(24) - seconds(0) == pytest.approx(24 * 2744 * 1.1 / 1.98e9)
