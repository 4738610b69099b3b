"""cuFFT's kernels at the thresholds of length, with hand-computed rows, bytes and instructions."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.lowering.transforms import _factors, _next_smooth, _primes, transform
from tests.simulator.lowering.test_transforms import CALL, CARD, kernels


def passes(kind: str, *lengths: int, batch: int = 1, **more: Any) -> tuple[Work, ...]:
    dims = {"kind": kind, "lengths": lengths, "batch": batch, "item_bytes": 8, "apart": False}
    return transform(CALL, Work("fft", dims=dims | more), CARD)


@pytest.mark.parametrize(("length", "primes"), [
    (1, [1]), (2, [2]), (4, [2, 2]), (9, [3, 3]), (12, [2, 2, 3]), (49, [7, 7]), (97, [97]),
    (2 * 127, [2, 127]), (30030, [2, 3, 5, 7, 11, 13]),
])  # fmt: skip
def test_primes(length: int, primes: list[int]) -> None:
    assert _primes(length) == primes


@pytest.mark.parametrize(("length", "factors"), [
    (2**12, [4096]), (2**13, [64, 128]), (2**24, [4096, 4096]), (2**25, [256, 256, 512]),
    (3**6, [729]), (3**7, [27, 81]), (5**4 * 7, [7, 625]), (5**5, [25, 125]), (7 * 11, [7, 11]),
])  # fmt: skip
def test_factors_are_powers_up_to_4096_and_1024(length: int, factors: list[int]) -> None:
    assert _factors(length) == factors


def test_the_next_product_of_2_3_and_5() -> None:
    smooth = sorted(
        2**a * 3**b * 5**c
        for a in range(18)
        for b in range(12)
        for c in range(8)
        if 2**a * 3**b * 5**c < 2**17
    )
    for least in (*range(2, 200), 4077, 8193, 46077, 65535, 65536, 65537, 99999):
        assert _next_smooth(least) == next(n for n in smooth if n >= least)


@pytest.mark.parametrize(("kind", "length", "expected"), [
    # at most 17,500 complex numbers of 8 bytes fit in shared memory
    ("c2c", 17500, [("complex", 17500)]),
    ("c2c", 17600, [("factor", 11), ("factor", 25), ("factor", 64)]),
    # direct sums for primes from 37 to 127, a convolution from 131 on
    ("c2c", 62, [("complex", 62)]), ("c2c", 74, [("prime", 74)]),
    ("c2c", 254, [("prime", 254)]), ("c2c", 262, [("bluestein", 1024)]),
    # 2 · 4,097 − 1 = 8,193 exceeds the 8,192 of one kernel; the next size is 8,640 = 2⁶ · 3³ · 5
    ("c2c", 4093, [("bluestein", 8192)]),
    ("c2c", 4099, [("factor", 5), ("factor", 27), ("factor", 64)] * 2),
    ("c2c", 1, []),
    # real input: powers of 2 up to 32,768, other lengths up to 1,024
    ("r2c", 32768, [("real", 32768)]),
    ("r2c", 65536, [("factor", 128), ("factor", 256), ("turn", 0)]),
    ("r2c", 1000, [("real", 1000)]), ("r2c", 1050, [("complex", 525), ("turn", 0)]),
    ("r2c", 131, [("turn", 0), ("bluestein", 512), ("turn", 0)]),
])  # fmt: skip
def test_kernels_at_borders(kind: str, length: int, expected: list[tuple[str, int]]) -> None:
    assert kernels(kind, length) == expected


def test_rows_bytes_and_slots_of_complex_transforms() -> None:
    # 3 images of 6 · 10: first the 3 · 10 columns of 6, then the 3 · 6 rows
    columns, rows = passes("c2c", 6, 10, batch=3)
    size = 3 * 60 * 8
    assert [(w.read_bytes, w.write_bytes) for w in (columns, rows)] == [(size, size)] * 2
    assert (columns.dims["variant"], columns.dims["rows"]) == ("column", 30)
    assert (rows.dims["variant"], rows.dims["rows"]) == ("complex", 18)
    # for 180 numbers: butterflies of 2 and 3 take 5 multiply-adds each, those of 2 and 5 take 7
    assert (columns.instructions, columns.flops) == (180 * 5, 2 * 180 * 5)
    assert (rows.instructions, rows.flops) == (180 * 7, 2 * 180 * 7)
    assert (columns.dims["largest"], rows.dims["largest"]) == (3, 5)
    assert passes("c2c", 10, batch=3, apart=True)[0].dims["variant"] == "column"


def test_rows_bytes_and_slots_of_real_transforms() -> None:
    # 3 · 6 rows of 10 real numbers of 4 bytes become 6 complex ones of 8; then 3 · 6 columns
    rows, columns = passes("r2c", 6, 10, batch=3)
    assert (rows.read_bytes, rows.write_bytes) == (3 * 6 * 10 * 4, 3 * 6 * 6 * 8)
    assert rows.instructions == 3 * 6 * 10 * 7 // 2
    assert (columns.dims["rows"], columns.dims["length"]) == (18, 6)
    back = passes("c2r", 6, 10, batch=3)
    assert (back[1].read_bytes, back[1].write_bytes) == (3 * 6 * 6 * 8, 3 * 6 * 10 * 4)
    # an odd length is widened to complex numbers, transformed, and cut to 938 of 1,875
    widen, whole, cut = passes("r2c", 1875)
    assert (widen.read_bytes, widen.write_bytes) == (1875 * 4, 1875 * 8)
    assert (whole.read_bytes, whole.dims["rows"]) == (1875 * 8, 1)
    assert (cut.read_bytes, cut.write_bytes) == (1875 * 8, 938 * 8)
    assert (widen.instructions, cut.instructions) == (10 * 1875, 10 * 938)


def test_bytes_and_rows_of_a_convolution_by_its_factors() -> None:
    works = passes("c2c", 524287, batch=2)
    # 2 sequences of 2²⁰ numbers, in four kernels over 2²⁰ / 1,024 sequences each
    for work in works:
        assert work.read_bytes == work.write_bytes == 2 * 2**20 * 8
        assert work.dims["rows"] == 2 * 1024
        assert work.instructions == 2 * 2**20 * 20  # ten butterflies of 2
    (one,) = passes("c2c", 2039, batch=2)
    assert (one.read_bytes, one.dims["rows"]) == (2 * 2039 * 8, 2)
    assert one.instructions == 2 * 4096 * 40  # forward and back: twenty butterflies
    factors = passes("c2c", 131072, batch=2)
    assert [(w.dims["length"], w.dims["rows"]) for w in factors] == [(256, 1024), (512, 512)]
    assert all(w.read_bytes == 2 * 131072 * 8 for w in factors)
