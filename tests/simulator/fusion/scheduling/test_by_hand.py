"""Hand-written kernels: the number of their programs, and their waits, computed by hand."""

from __future__ import annotations

import torch

from simulator.fusion.scheduling import by_hand
from simulator.tracing import trace_call


def test_elements_that_stand_alone_are_cut_into_programs_of_1024() -> None:
    assert by_hand.programs(4096, 0, 0) == (4, 4096)
    assert by_hand.programs(1025, 0, 0) == (2, 2048)


def test_whole_rows_make_2048_elements_each_padded_to_a_power_of_two() -> None:
    # 2048 / 128 = 16 rows per program; 768 is padded to 1024, two rows per program; 5120 to 8192,
    # one row
    assert by_hand.programs(4096 * 128, 4096, 128) == (256, 4096 * 128)
    assert by_hand.programs(16 * 768, 16, 768) == (8, 16 * 1024)
    assert by_hand.programs(64 * 5120, 64, 5120) == (64, 64 * 8192)
    # rows of 50,257 do not fit in registers: 13 parts of 4096
    assert by_hand.programs(8 * 50257, 8, 50257) == (8, 8 * 13 * 4096)


def test_lanes_beyond_a_rows_end_run_too_and_odd_rows_load_one_by_one() -> None:
    elements = 64 * 5120
    # 10 instructions of arithmetic and 2 operands per element, on 8192 lanes for rows of 5120
    assert by_hand.slots(10 * elements, 2, elements, 64, 5120) == 12 * 64 * 8192
    assert by_hand.slots(10 * 64 * 1000, 2, 64 * 1000, 64, 1000) == (12 + 4) * 64 * 1024


def test_a_sum_waits_longer_where_several_warps_share_a_row() -> None:
    # 64 elements are in 4 lanes of 16 each: two halvings of 5 clocks; 2048 are in four warps: five
    # halvings and a barrier
    assert by_hand.waiting(64, 2) == 2 * 2 * 5
    assert by_hand.waiting(2048, 2) == 2 * (5 * 5 + 60)
    # each part of a long row is fetched after the previous one
    assert by_hand.waiting(50257, 2) == 2 * (5 * 5 + 60) + 110
    assert by_hand.cut(20 * 13 * 4096, 50257, 1, 50257, 2) == {
        "programs": 1,
        "looped": True,
        "trips": 13,
        "steps": 20 + 170 + 110,
    }


def test_how_often_rows_are_summed() -> None:
    def chain() -> object:
        x = torch.empty(4, 64, device="meta")
        return torch.softmax(x * 2, -1).pow(2).mean(-1)

    # the maximum and the sum of a softmax, and a mean: 3 reductions
    assert by_hand.sums(op.signature for op in trace_call(lambda: chain).ops) == 3


def test_borders_of_a_program() -> None:
    # 16,384 elements fit in registers, 16,385 do not: 5 parts of 4,096
    assert by_hand.programs(3 * 16384, 3, 16384) == (3, 3 * 16384)
    assert by_hand.programs(3 * 16385, 3, 16385) == (3, 3 * 5 * 4096)
    assert by_hand.programs(3 * 16384, 3, 8193) == (3, 3 * 16384)  # padded to 16,384
    # two rows of 1,024 per program, or one of 1,025, which is padded to 2,048, or one of 2,049,
    # padded to 4,096
    assert by_hand.programs(4 * 1024, 4, 1024) == (2, 4 * 1024)
    assert by_hand.programs(4 * 1025, 4, 1025) == (4, 4 * 2048)
    assert by_hand.programs(4 * 2049, 4, 2049) == (4, 4 * 4096)
    assert by_hand.programs(5, 5, 1) == (1, 2048)  # rows of one element
    assert by_hand.programs(2049, 2049, 1) == (2, 2 * 2048)


def test_borders_of_a_wait() -> None:
    # 32 elements are in two lanes of 16; 31 in one; 512 in the 32 lanes of a warp; 513 need a
    # second warp
    assert by_hand.waiting(31, 1) == 0
    assert by_hand.waiting(32, 1) == 5
    assert by_hand.waiting(512, 1) == 5 * 5
    assert by_hand.waiting(513, 1) == 5 * 5 + 60
    # rows of up to 16,384 elements have no further part to fetch
    assert by_hand.waiting(16384, 3) == 3 * (5 * 5 + 60)
    assert by_hand.waiting(16385, 3) == 3 * (5 * 5 + 60) + 110
    assert by_hand.cut(1024, 1024, 0, 0, 2) == {
        "programs": 1,
        "looped": False,
        "trips": 1,
        "steps": 1,
    }
    assert by_hand.cut(16384 * 7, 16384, 1, 16384, 1)["trips"] == 1
    assert by_hand.cut(20480 * 7 + 1, 16385, 1, 16385, 1) == {
        "programs": 1,
        "looped": True,
        "trips": 5,
        "steps": 8 + 5 * 5 + 60 + 110,
    }
