"""Thresholds of cuBLAS's choices on an H200 with 132 multiprocessors: the last product on each side
of each one, with the arithmetic."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.simulator.lowering.test_product import BY_DEPTH, COUNTED, PLAIN, SPLIT, lowered

HALF, ODD, TF32, SINGLE, F8 = (
    dict(dtype="bfloat16"),
    dict(dtype="bfloat16", align_bytes=2),
    dict(dtype="tf32"),
    dict(dtype="float32"),
    dict(dtype="float8_e4m3fn"),
)


def families(m: int, n: int, k: int, **arguments: Any) -> list[str]:
    return [work.family for work in lowered(m, n, k, **arguments)]


@pytest.mark.parametrize(
    ("m", "n", "kind", "whole", "split"),
    [
        # one block of 64 × 64: the smallest depth that is split
        (64, 64, HALF, 2559, 2560),
        (64, 64, F8, 2559, 2560),
        (64, 64, ODD, 511, 512),
        (64, 64, TF32, 63, 64),
        (64, 64, SINGLE, 255, 256),
        # more blocks: the depth grows with their number
        (64, 64 * 40, HALF, 2560, 2561),  # 40 · 64 = 2,560
        (64, 64 * 39 + 1, HALF, 2560, 2561),  # 40 blocks, one of a single column
        (64 * 3 + 1, 64 * 10, HALF, 2560, 2561),  # 4 · 10
        (64, 64 * 16, F8, 2560, 2561),  # 16 · 160 = 2,560
        (64, 64 * 107, ODD, 513, 514),  # 107 · 4.8 = 513.6
        (64, 64 * 4, TF32, 64, 65),  # 4 · 16 = 64
        (64, 64 * 86, SINGLE, 258, 259),  # 86 · 3 = 258
    ],
)
def test_the_depth_from_which_a_product_is_split(
    m: int, n: int, kind: dict[str, Any], whole: int, split: int
) -> None:
    assert families(m, n, whole, **kind) == PLAIN
    assert families(m, n, split, **kind) == SPLIT
    assert families(m, n, split, batch=2, **kind) == PLAIN  # a batch has enough blocks
    # Only kernels of 8 and 16 bits with bulk loads add a bias to a split product.
    assert (families(m, n, split, bias=True, **kind) == SPLIT) is (kind in (HALF, F8))


def test_fewer_units_split_less() -> None:
    # 108 of 132 units: 40 blocks · 64 · 132 / 108 = 3,128.9
    assert families(64, 2560, 3128, card="a100_sxm_80") == PLAIN
    assert families(64, 2560, 3129, card="a100_sxm_80") == SPLIT


def test_the_sum_of_two_parts() -> None:
    product, total = lowered(48, 80, 2560)
    # reads two parts of 48 · 80 numbers of 4 bytes; writes the same number of results, of 2 bytes
    assert (total.read_bytes, total.write_bytes) == (2 * 4 * 3840, 2 * 3840)
    assert total.instructions == 3840
    assert total.dims == {"outer": 7680, "inner": 2}
    assert product.flops == 2 * 3840 * 2560


@pytest.mark.parametrize(("m", "few"), [(1, False), (2, True), (16, True), (17, False)])
def test_rows_of_the_kernel_for_few_rows(m: int, few: bool) -> None:
    (work, *_) = lowered(m, 768, 200, "float32")
    assert (work.dims.get("variant") == "few") is few
    assert lowered(m, 768, 200, "tf32")[0].dims.get("variant") != "few"
    assert lowered(m, 768, 200, "float32", batch=2)[0].dims.get("variant") != "few"


@pytest.mark.parametrize(("k", "few", "steps"), [(128, True, 1), (129, False, 0)])
def test_shallow_products_of_few_outputs_are_for_few_rows_too(
    k: int, few: bool, steps: int
) -> None:
    (work, *_) = lowered(6, 40, k, "float32")
    assert (work.dims.get("variant") == "few") is few
    assert work.dims.get("steps", 0) == steps


@pytest.mark.parametrize(("k", "steps"), [(1, 1), (128, 1), (129, 2), (2560, 20), (2561, 21)])
def test_steps_of_the_kernel_for_few_rows(k: int, steps: int) -> None:
    (work,) = lowered(6, 768, k, "float32", bias=True)
    assert work.dims["steps"] == steps


@pytest.mark.parametrize(
    ("m", "n", "k", "thin"),
    [
        (131_072, 32, 64, True),  # 4,096 tiles of 32 rows
        (131_071, 32, 64, False),
        (32, 131_072, 64, True),
        (200_000, 33, 64, False),
        (131_072, 32, 65, False),
    ],
)
def test_borders_of_tiles_of_32(m: int, n: int, k: int, thin: bool) -> None:
    for dtype in ("float16", "bfloat16"):
        variant = lowered(m, n, k, dtype, align_bytes=8)[-1].dims.get("variant")
        assert (variant == "tensor_half_thin") is thin
    assert "variant" not in lowered(m, n, k, "float8_e4m3fn", align_bytes=8)[-1].dims
    assert "variant" not in lowered(m, n, k, batch=2, align_bytes=8)[-1].dims


@pytest.mark.parametrize(
    ("m", "n", "k", "kernels"),
    [
        # up to 1.8e6 multiplications, except products with few rows or columns
        (10, 1000, 180, BY_DEPTH),
        (1000, 10, 180, BY_DEPTH),
        (200, 9, 1000, PLAIN),
        # 200 · 200 = 40,000 results in 2 · 2 blocks: the depth must exceed 4 · 80 = 320
        (200, 200, 320, PLAIN),
        (200, 200, 321, BY_DEPTH),
        (201, 199, 1000, PLAIN),  # 39,999 results
        (128, 384, 240, PLAIN),  # 3 blocks of results: depths above 3 · 80
        (128, 384, 241, BY_DEPTH),
        (129, 384, 480, PLAIN),  # 2 · 3 blocks
        (129, 384, 481, BY_DEPTH),
        (384, 129, 480, PLAIN),
        (384, 129, 481, BY_DEPTH),
    ],
)
def test_borders_of_a_shared_depth(m: int, n: int, k: int, kernels: list[str]) -> None:
    # the kernel for few rows handles biased products of up to 16 rows
    expected = PLAIN if m <= 16 else kernels
    assert families(m, n, k, dtype="float32", bias=True) == expected
    assert families(m, n, k, dtype="tf32", bias=True) == PLAIN


def test_the_kernels_around_a_shared_depth() -> None:
    clear, scale, product, add = lowered(100, 120, 100, "float32", bias=True)
    # 12,000 results of 4 bytes are read and written twice
    for touch in (scale, add):
        assert (touch.read_bytes, touch.write_bytes, touch.instructions) == (48_000, 48_000, 12_000)
        assert touch.dims == {"elements": 12_000, "inputs": 1, "contiguous": True}
    assert (clear.family, clear.write_bytes, clear.dtype) == ("fill", 4, "int32")
    assert product.flops == 2 * 12_000 * 100


def test_a_counter_distributes_more_than_two_waves() -> None:
    # 264 and 265 tiles of 128 × 128 on 132 multiprocessors; at depth 32 they are not split
    assert families(128 * 264, 128, 32, **TF32) == PLAIN
    assert families(128 * 264 + 1, 128, 32, **TF32) == COUNTED
    assert families(128, 128 * 264 + 1, 32, **TF32) == COUNTED
    assert families(128, 128 * 265, 32, **TF32) == COUNTED
    assert families(128 * 53, 128, 32, batch=5, **TF32) == COUNTED  # 265
    assert families(128 * 88, 128, 32, batch=3, **TF32) == PLAIN  # 264
    assert families(128 * 265, 128, 32, align_bytes=8, **TF32) == PLAIN  # no bulk loads


def fastest_tiles(b: int, m: int, n: int, units: int = 132) -> int:
    """The number of tiles for which waves · (area + 48 · (height + width)) is smallest, if one side
    is 64, 128, 192 or 256 and the other is 8 to 256 in steps of 8, up to 256 · 144 numbers per
    tile."""
    least: tuple[float, int] | None = None
    for high in range(8, 257, 8):
        for wide in range(8, 257, 8):
            if high * wide > 256 * 144 or (high % 64 and wide % 64):
                continue
            tiles = b * -(-m // high) * -(-n // wide)
            each = -(-tiles // units) * (high * wide + 48 * (high + wide))
            if least is None or each < least[0]:
                least = each, tiles
    assert least is not None
    return least[1]


@pytest.mark.parametrize("seed", range(3))
def test_a_counter_is_used_where_the_fastest_tiles_exceed_two_waves(seed: int) -> None:

    chance, counted = random.Random(seed), 0
    for _ in range(40):
        b = chance.choice((1, 1, 2, 5))
        m, n = (8 * chance.randint(1, 1000) for _ in range(2))
        expected = fastest_tiles(b, m, n) > 2 * 132
        kernels = families(m, n, 64, batch=b)
        assert kernels == (COUNTED if expected else PLAIN), (b, m, n)
        counted += expected
    assert 5 < counted < 35
