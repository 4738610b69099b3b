"""Blocks of attention kernels, counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.costs import Work
from simulator.costs.attention.fused import Band
from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from simulator.lowering.attention import flash_splits, visited_tiles
from simulator.timing.kernel_models import roofline_terms
from simulator.timing.profile import profile
from simulator.timing.work_columns import group
from tests.simulator.costs.conftest import sig

H200 = gpu("h200")
SDPA = "aten._scaled_dot_product_"


def forward(
    backend: str,
    b: int,
    h: int,
    sq: int,
    sk: int,
    d: int,
    hk: int = 0,
    causal: bool = False,
    dtype: str = "bfloat16",
) -> tuple[Work, ...]:
    q, k = ((b, h, sq, d), dtype), ((b, hk or h, sk, d), dtype)
    name = f"{SDPA}{backend}_attention.default"
    kernels = launches(sig(name, q, None, {"is_causal": causal}, query=q, key=k, value=k), H200)
    assert kernels
    return kernels


def blocks(work: Work) -> tuple[Any, ...]:
    return tuple(work.dims[n] for n in ("tile", "width", "blocks", "tiles", "longest"))


def test_flash_goes_through_the_keys_in_tiles() -> None:
    (work,) = forward("flash", 8, 16, 300, 300, 80)
    # width 80 is computed as 96; each head has 3 blocks of 128 queries, each with 5 tiles of 64
    # keys
    assert blocks(work) == ((128, 64), 96, 8 * 16 * 3, 8 * 16 * 15, 5)


def test_heads_wider_than_192_have_half_the_rows() -> None:
    tiles = [forward("flash", 8, 16, 300, 300, width)[0].dims["tile"] for width in (192, 200)]
    assert tiles == [(128, 64), (64, 64)]


def test_a_causal_block_stops_at_its_last_query() -> None:
    (work,) = forward("flash", 8, 16, 300, 300, 80, causal=True)
    # blocks see keys up to 127, 255 and 299: 2 + 4 + 5 tiles; the mask cuts the last two of each
    # block
    assert blocks(work)[3:] == (8 * 16 * 11, 5)
    assert work.dims["edges"] == 8 * 16 * 6


@pytest.mark.parametrize("left", [-1, 0, 5])
@pytest.mark.parametrize("right", [-1, 0, 3])
@pytest.mark.parametrize("shift", [-4, 0, 7])
def test_visited_tiles_hold_a_pair(left: int, right: int, shift: int) -> None:
    rows, columns, high, wide = 23, 31, 4, 5
    i, j = np.arange(rows)[:, None], np.arange(columns)
    seen = np.ones((rows, columns), bool)
    if left >= 0:
        seen &= j >= i + shift - left
    if right >= 0:
        seen &= j <= i + shift + right
    counts = [
        sum(seen[r : r + high, c : c + wide].any() for c in range(0, columns, wide))
        for r in range(0, rows, high)
    ]
    assert visited_tiles(rows, columns, high, wide, Band(left, right, shift)).tolist() == counts


def test_a_band_of_the_own_position_is_one_tile_for_each_row() -> None:
    assert visited_tiles(5, 8, 1, 2, Band(0, 0, 1)).tolist() == [1, 1, 1, 1, 1]
    # the position of the third row is the last column; later rows are beyond it
    assert visited_tiles(5, 3, 1, 2, Band(0, 0, 0)).tolist() == [1, 1, 1, 0, 0]


def test_the_wider_of_keys_and_values_has_the_kernel_for_wide_heads() -> None:
    for d, dv, variant in ((64, 64, ""), (64, 80, "_wide"), (80, 64, "_wide")):
        q, v = ((2, 4, 100, d), "bfloat16"), ((2, 4, 100, dv), "bfloat16")
        lse = (2, 4, 100), "float32"
        inputs = dict(grad_out_=v, query=q, key=q, value=v, out=v, logsumexp=lse)
        name = f"{SDPA}efficient_attention_backward.default"
        kernels = launches(sig(name, [q, q, v], None, {"is_causal": False}, **inputs), H200)
        (main,) = (w for w in kernels or () if w.family == "attention")
        assert main.dims["variant"] == f"efficient_bwd{variant}"


def test_few_blocks_of_flash_split_the_keys() -> None:
    main, combine = forward("flash", 1, 24, 1, 792, 128)
    # 24 blocks of 7 tiles of 128 keys, for 264 places: 7 splits fill 168 of them, the most that is
    # possible
    assert (main.dims["splits"], main.dims["blocks"], main.dims["longest"]) == (7, 168, 1)
    # 7 parts of 24 rows, each with 128 outputs and a log-sum-exp in float32
    assert main.write_bytes == combine.read_bytes == 4 * 7 * 24 * 129
    assert (combine.family, combine.dims["variant"]) == ("reduction", "splits")
    # a multiply-add for each output of a part, and four instructions each to scale it
    assert (combine.flops, combine.instructions) == (2 * 7 * 24 * 128, 4 * 7 * 24 * 128)


def test_one_query_of_grouped_heads_becomes_rows_of_one_head() -> None:
    (many,) = forward("flash", 12, 64, 1, 640, 64)
    assert many.dims["blocks"] == 12 * 64
    main, _ = forward("flash", 4, 64, 1, 2789, 128, hk=32)
    # 4·32 blocks of 2 queries; 22 key blocks, in 2 splits of 11
    assert (main.dims["splits"], main.dims["blocks"], main.dims["longest"]) == (2, 256, 11)


@pytest.mark.parametrize(
    ("work", "splits"),
    [((300, 264, 8), 1), ((48, 264, 5), 5), ((128, 264, 22), 2), ((1, 264, 1), 1)],
)
def test_flash_splits(work: tuple[int, int, int], splits: int) -> None:
    assert flash_splits(*work) == splits


def test_cudnn_splits_long_keys_of_one_query_where_units_are_idle() -> None:
    main, combine = forward("cudnn", 3, 20, 1, 5120, 96)
    # 132 multiprocessors for 60 heads: 2 splits of the 40 tiles of 128 keys
    assert (main.dims["splits"], main.dims["longest"], combine.family) == (2, 20, "reduction")
    assert len(forward("cudnn", 159, 24, 1, 448, 64)) == 1
    (short,) = forward("cudnn", 34, 64, 1, 117, 128, hk=32)
    assert short.dims["tile"] == (64, 64)


@pytest.mark.parametrize(
    ("dtype", "variant"), [("float32", "efficient_fwd_single"), ("float16", "efficient_fwd")]
)
def test_efficient_has_other_kernels_for_float32(dtype: str, variant: str) -> None:
    (work,) = forward("efficient", 2, 4, 100, 100, 80, dtype=dtype)
    assert work.dims["variant"] == variant
    # 2 blocks of 64 queries, each with one tile of 128 keys; 80 is computed as 96
    assert blocks(work) == ((64, 128), 96, 16, 16, 1)
    (wide,) = forward("efficient", 2, 4, 100, 100, 132, dtype=dtype)
    # 4 blocks of 32 queries; 132 is computed as 160
    assert blocks(wide) == ((32, 128), 160, 32, 32, 1)


def test_backward_goes_from_keys_to_queries() -> None:
    q, k = ((2, 4, 300, 64), "bfloat16"), ((2, 4, 200, 64), "bfloat16")
    inputs = {
        "grad_out": q,
        "query": q,
        "key": k,
        "value": k,
        "out": q,
        "logsumexp": ((2, 4, 300), "float32"),
    }
    name = f"{SDPA}cudnn_attention_backward.default"
    kernels = launches(sig(name, [q, k, k], None, {"is_causal": True}, **inputs), H200)
    assert kernels
    (main,) = (w for w in kernels if w.family == "attention")
    # 2 blocks of 128 keys: the first is seen by all 5 tiles of 64 queries, the other by 3
    assert blocks(main) == ((128, 64), 64, 16, 8 * 8, 5)


def test_dropout_takes_slots_of_vector_lanes_beside_the_tiles() -> None:
    seconds: list[float] = []
    for dropped in (0.0, 0.1):
        q = ((8, 12, 1024, 64), "bfloat16")
        args = {"is_causal": True, "dropout_p": dropped}
        kernels = launches(
            sig(f"{SDPA}cudnn_attention.default", q, None, args, query=q, key=q, value=q), H200
        )
        assert kernels
        seconds.append(
            float(
                roofline_terms(
                    group(kernels[-1:], ["attention_cudnn_fwd"]), H200, profile()
                ).compute_s[0]
            )
        )
    # 768 blocks on 132 multiprocessors are at most 6 each, and have 3,456 tiles in total; each of a
    # tile's 128·128 scores takes 33 instructions, of which a multiprocessor issues 128 per clock
    each = 6 * 3456 / 768 * 128 * 128 * 33 / (128 * (H200.boost_hz or 0))
    assert seconds[1] - seconds[0] == pytest.approx(each + _edges(each), rel=0.02)


def _edges(each: float) -> float:
    """One tile of each block is cut by the mask, and takes longer by this much."""
    return each * 768 / 3456 * (profile().tiles["attention_cudnn_fwd"].edge - 1)


@pytest.mark.parametrize(
    ("share", "tiles", "longest", "edges"),
    [
        (1.0, 8 * 16 * 64, 8, 0),  # 8 blocks of 128 queries, each with 8 tiles of 128 keys
        # causal: 36 of 64 tiles; the mask cuts one tile of each block
        (0.5625, 4608, 8, 8 * 16 * 8),
        (0.125, 1024, 2, 8 * 16 * 8),  # on average one tile per block, at most two
    ],
)
def test_compiled_flex_attention_goes_through_the_tiles_of_its_mask(
    share: float, tiles: int, longest: int, edges: int
) -> None:
    q = ((8, 16, 1024, 64), "bfloat16")
    lse = ((8, 16, 1024), "float32")
    name = "compiled.flex_attention.default"
    op = sig(name, [q, lse], None, {"share": share}, query=q, key=q, value=q)
    kernels = launches(op, H200)
    assert kernels
    assert blocks(kernels[0]) == ((128, 128), 64, 8 * 16 * 8, tiles, longest)
    assert kernels[0].dims["edges"] == edges
