"""Splits, grouped heads and single queries of attention, checked by counting blocks and tiles."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.costs.attention.fused import band
from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from simulator.lowering.attention import _share_of
from tests.simulator.costs.conftest import sig

H200 = gpu("h200")


def run(
    backend: str, b: int, h: int, hk: int, sq: int, sk: int, d: int = 64, **args: Any
) -> tuple[Work, ...]:
    q, k = ((b, h, sq, d), "bfloat16"), ((b, hk, sk, d), "bfloat16")
    more = {"attn_bias": ((b, h, sq, sk), "bfloat16")} if args.pop("mask", False) else {}
    name = f"aten._scaled_dot_product_{backend}_attention.default"
    works = launches(sig(name, q, None, args, query=q, key=k, value=k, **more), H200)
    assert works is not None
    return works


def test_dropout_keeps_heads_and_keys_whole() -> None:
    """One query for 8 grouped heads: 2 key heads with 4 rows each, split; with dropout 8 heads, not
    split."""
    main, combine = run("flash", 1, 8, 2, 1, 4096)
    # 2 blocks of queries, 16 blocks of 256 keys: 16 splits
    assert (main.dims["splits"], main.dims["blocks"]) == (16, 2 * 16)
    # for 8 rows, 16 parts with 64 outputs and a log-sum-exp, 4 bytes each
    assert combine.read_bytes == main.write_bytes == 4 * 16 * 8 * 65
    assert (combine.flops, combine.instructions) == (2 * 16 * 8 * 64, 4 * 16 * 8 * 64)
    (alone,) = run("flash", 1, 8, 2, 1, 4096, dropout_p=0.5)
    assert "splits" not in alone.dims and alone.dims["blocks"] == 8


def test_heads_whose_width_loads_do_not_divide_are_not_grouped() -> None:
    # 2 key heads, or 8 heads, each with 16 blocks of keys
    for d, hk, blocks in ((64, 2, 2 * 16), (60, 2, 8 * 16), (64, 8, 8 * 16)):
        main, _ = run("flash", 1, 8, hk, 1, 4096, d=d)
        assert main.dims["blocks"] == blocks


def test_a_causal_query_alone_sees_all_keys() -> None:
    """Flash's own entry point aligns a causal mask to the last query, torch's to the first. A
    single query has no later keys, so the kernel visits all of them."""
    plain, causal = (run("flash", 1, 4, 4, 1, 1024, is_causal=c)[0] for c in (False, True))
    assert plain.dims["tiles"] == causal.dims["tiles"]


@pytest.mark.parametrize(("sq", "split"), [(64, True), (64 * 52, True), (64 * 52 + 1, False)])
def test_blocks_of_64_queries_decide_about_splits(sq: int, split: bool) -> None:
    """4 heads of 52 blocks are 208 blocks, of 53 they are 212: from 0.8 · 264 slots = 211.2 on,
    nothing is split."""
    main = run("flash", 1, 4, 4, sq, 4096)[0]
    assert ("splits" in main.dims) is split
    if split:
        assert main.dims["blocks"] == 4 * sq // 64 * main.dims["splits"]
    else:
        assert main.dims["blocks"] == 4 * -(-sq // 128)  # tiles of 128 rows


@pytest.mark.parametrize(("d", "columns"), [(64, 256), (65, 128), (128, 128), (129, 64)])
def test_split_keys_come_in_blocks_by_the_width_of_heads(d: int, columns: int) -> None:
    assert run("flash", 1, 4, 4, 1, 4096, d=d)[0].dims["tile"] == (64, columns)


@pytest.mark.parametrize(("b", "hk", "sk", "mask", "expected"), [
    # 132 units: 66 for each of 2 heads
    (1, 2, 1024, False, 66), (1, 2, 1023, False, None), (1, 2, 1024, True, None),
    # 132 // 66 = 2, and 132 // 67 = 1
    (1, 66, 2048, False, 2), (1, 67, 2048, False, None), (2, 33, 2048, False, 2),
])  # fmt: skip
def test_cudnn_splits_long_keys_among_idle_units(
    b: int, hk: int, sk: int, mask: bool, expected: int | None
) -> None:
    works = run("cudnn", b, hk, hk, 1, sk, mask=mask)
    main = works[0]
    assert main.dims.get("splits") == expected
    assert len(works) == (1 if expected is None else 2)
    assert main.dims["variant"] == "cudnn_one"


@pytest.mark.parametrize(("sk", "tile"), [(256, (64, 64)), (257, (16, 128))])
def test_cudnns_tiles_of_one_query(sk: int, tile: tuple[int, int]) -> None:
    (work,) = run("cudnn", 2, 4, 4, 1, sk)
    assert work.dims["tile"] == tile
    assert (work.dims["blocks"], work.dims["tiles"]) == (8, 8 * -(-sk // tile[1]))


@pytest.mark.parametrize(("share", "expected"), [
    (1.0, (5, 30, 6, 0)), (0.5, (5, 15, 6, 10)), (0.25, (5, 8, 3, 10)), (0.1, (5, 3, 2, 10)),
    (0.01, (5, 1, 1, 5)),
])  # fmt: skip
def test_a_share_of_the_tiles(share: float, expected: tuple[int, ...]) -> None:
    """5 blocks of 6 tiles, of which a mask cuts up to 2: the longest block has twice the mean
    number of tiles."""
    assert tuple(_share_of(5, 30, 6, 0, 2, share)) == expected


def test_a_window_of_flash_goes_through_its_tiles() -> None:
    q = ((1, 4096, 8, 64), "bfloat16")
    name = "aten._flash_attention_forward.default"
    args = {"window_size_left": 100, "window_size_right": 0}
    op = sig(name, q, None, args, query=q, key=q, value=q)
    (work,) = launches(op, H200) or ()
    # blocks of 128 queries and tiles of 128 keys: the first block sees one tile, the others two
    assert (work.dims["blocks"], work.dims["tiles"]) == (8 * 32, 8 * (1 + 31 * 2))
    assert work.dims["longest"] == 2
    assert band(op) == (100, 0, 0)


@pytest.mark.parametrize(
    ("left", "right", "groups"),
    [
        (-1, -1, True),
        (-1, 0, True),  # the last query attends to all keys
        (100, 0, False),
        (0, 0, False),  # the query attends to one key
        (100, -1, True),
    ],
)
def test_a_single_query_of_grouped_heads_is_several_of_one_head(
    left: int, right: int, groups: bool
) -> None:
    """64 sequences, 8 heads of queries and 2 of keys: 512 blocks, or 128 with 4 queries each."""
    q, k = ((64, 1, 8, 64), "bfloat16"), ((64, 4096, 2, 64), "bfloat16")
    args = {"window_size_left": left, "window_size_right": right}
    name = "aten._flash_attention_forward.default"
    main, *_ = launches(sig(name, q, None, args, query=q, key=k, value=k), H200) or ()
    heads = 2 if groups else 8
    assert main.dims["blocks"] == 64 * heads * main.dims.get("splits", 1)
