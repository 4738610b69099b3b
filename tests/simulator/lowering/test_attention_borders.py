"""Tiles of attention at the thresholds of head width, and splits as in FlashAttention's C++."""

from __future__ import annotations

import random
from math import ceil
from typing import Any

import pytest

from simulator.costs import Work
from simulator.costs.attention.fused import Band
from simulator.lowering.attention import _head_layout, _Tile, _tile, flash_splits
from tests.simulator.lowering.test_attention import blocks, forward


def tile(backend: str, direction: str, d: int, dv: int = 0, dtype: str = "bfloat16") -> _Tile:
    dims = {"backend": backend, "direction": direction, "d": d, "dv": dv or d}
    return _tile(Work("attention", dtype=dtype, dims=dims))


@pytest.mark.parametrize(("width", "padded"), [
    (1, 32), (32, 32), (33, 64), (64, 64), (65, 96), (96, 96), (97, 128), (128, 128), (129, 192),
    (192, 192), (193, 256), (256, 256), (257, 257),
])  # fmt: skip
def test_tiles_of_flash(width: int, padded: int) -> None:
    # forward: 64 rows above width 192, 128 columns up to width 64; backward: 128 rows up to width
    # 128
    forward = (64 if width > 192 else 128, 128 if width <= 64 else 64, padded)
    backward = (128 if width <= 128 else 64, 128 if width <= 64 else 64, padded)
    assert tile("flash", "fwd", width) == forward
    assert tile("flash", "bwd", width) == backward
    assert tile("flash", "fwd", 8, width) == forward  # the wider of keys and values


@pytest.mark.parametrize(
    ("width", "forward", "backward", "single"),
    [
        (32, (64, 64, 32), (64, 64, 32), (64, 64, 32)),
        (33, (64, 64, 64), (64, 64, 64), (64, 64, 64)),
        (64, (64, 64, 64), (64, 64, 64), (64, 64, 64)),
        (65, (64, 128, 96), (128, 128, 96), (64, 128, 96)),
        (128, (64, 128, 128), (128, 128, 128), (64, 128, 128)),
        (129, (32, 128, 160), (64, 64, 160), (64, 64, 160)),
    ],
)
def test_tiles_of_efficient_attention(
    width: int, forward: tuple[int, ...], backward: tuple[int, ...], single: tuple[int, ...]
) -> None:
    assert tile("efficient", "fwd", width) == forward
    assert tile("efficient", "bwd", width) == backward
    assert tile("efficient", "bwd", width, dtype="tf32") == single


@pytest.mark.parametrize(("width", "padded"), [
    (64, 64), (65, 128), (128, 128), (129, 256), (256, 256), (300, 300),
])  # fmt: skip
def test_tiles_of_cudnn(width: int, padded: int) -> None:
    assert tile("cudnn", "fwd", width) == (128, 128, padded)
    assert tile("cudnn", "bwd", width) == (128, 64, padded)


def num_splits_heuristic(blocks: int, slots: int, key_blocks: int) -> int:
    """`num_splits_heuristic` of flash_api.cpp with at most 128 splits, line by line."""
    if blocks >= 0.8 * slots:
        return 1
    max_splits = min(128, slots, key_blocks)
    max_efficiency = 0.0
    efficiency: list[float] = []

    def is_split_eligible(splits: int) -> bool:
        return splits == 1 or ceil(key_blocks / splits) != ceil(key_blocks / (splits - 1))

    for splits in range(1, max_splits + 1):
        if not is_split_eligible(splits):
            efficiency.append(0.0)
            continue
        waves = blocks * splits / slots
        eff = waves / ceil(waves)
        max_efficiency = max(max_efficiency, eff)
        efficiency.append(eff)
    for splits in range(1, max_splits + 1):
        if is_split_eligible(splits) and efficiency[splits - 1] >= 0.85 * max_efficiency:
            return splits
    return 1


def test_splits_are_those_of_the_heuristic() -> None:
    chance = random.Random(4)
    seen: set[int] = set()
    cases = [(b, 260, k) for b in (207, 208, 209) for k in (1, 7)]  # 0.8 · 260 = 208
    cases += [(1, 264, k) for k in (127, 128, 129, 200, 4000)] + [(1, 40, 500), (1, 1, 1)]
    for _ in range(2000):
        cases.append((chance.randint(1, 300), 2 * chance.randint(1, 150), chance.randint(1, 400)))
    for case in cases:
        assert flash_splits(*case) == num_splits_heuristic(*case), case
        seen.add(flash_splits(*case))
    assert len(seen) > 30


@pytest.mark.parametrize(("width", "columns"), [(64, 256), (65, 128), (128, 128), (136, 64)])
def test_columns_of_split_keys(width: int, columns: int) -> None:
    main, _ = forward("flash", 1, 8, 1, 8192, width)
    assert main.dims["tile"] == (64, columns)
    assert main.dims["variant"] == "flash_split"


def test_grouped_heads_become_rows_only_where_flash_can() -> None:
    # 8 heads for 2 key heads: 4 queries each; not if the width is not a multiple of 8
    assert forward("flash", 300, 8, 1, 640, 64, hk=2)[0].dims["blocks"] == 300 * 2
    assert forward("flash", 300, 8, 1, 640, 60, hk=2)[0].dims["blocks"] == 300 * 8
    assert forward("flash", 300, 8, 2, 640, 64, hk=2)[0].dims["blocks"] == 300 * 8
    assert forward("flash", 300, 8, 1, 640, 64, hk=8)[0].dims["blocks"] == 300 * 8
    # with a causal mask, a single query still sees all keys
    causal = forward("flash", 300, 8, 1, 640, 64, hk=2, causal=True)[0]
    assert causal.dims["blocks"] == 300 * 2


@pytest.mark.parametrize(("keys", "tile"), [(256, (64, 64)), (257, (16, 128))])
def test_tiles_of_one_query_of_cudnn(keys: int, tile: tuple[int, int]) -> None:
    (work,) = forward("cudnn", 40, 20, 1, keys, 64)
    assert (work.dims["tile"], work.dims["variant"]) == (tile, "cudnn_one")
    assert work.dims["blocks"] == 800
    assert work.dims["longest"] == ceil(keys / tile[1])


@pytest.mark.parametrize(("batch", "keys", "splits"), [
    (1, 1023, 1), (1, 1024, 66), (2, 1024, 33), (33, 1024, 2), (34, 1024, 1), (66, 1024, 1),
])  # fmt: skip
def test_splits_of_one_query_of_cudnn(batch: int, keys: int, splits: int) -> None:
    # 132 multiprocessors for two heads of each sequence
    main, *combine = forward("cudnn", batch, 2, 1, keys, 64)
    assert main.dims.get("splits", 1) == splits
    assert len(combine) == (splits > 1)


@pytest.mark.parametrize(
    ("rows", "columns", "high", "wide", "causal", "counts"),
    [
        # 3 blocks of 128 rows, each with all 5 tiles of 64 columns; (blocks, tiles, longest, edges)
        (300, 300, 128, 64, False, (3, 15, 5, 0)),
        # a causal mask leaves 2 + 4 + 5 tiles and cuts up to two of each block
        (300, 300, 128, 64, True, (3, 11, 5, 6)),
        (300, 300, 64, 128, True, (5, 1 + 1 + 2 + 2 + 3, 3, 5)),
        (0, 300, 64, 64, False, (0, 0, 1, 0)),
    ],
)
def test_layouts_of_a_head(
    rows: int, columns: int, high: int, wide: int, causal: bool, counts: tuple[int, ...]
) -> None:
    d: dict[str, Any] = {"sq": rows, "sk": columns, "direction": "fwd", "causal": causal}
    attended = Band(-1, 0 if causal else -1, 0)
    assert tuple(_head_layout(d, attended, _Tile(high, wide, 64))) == counts
    # the backward pass goes from keys to queries
    back = {**d, "sq": columns, "sk": rows, "direction": "bwd"}
    turned = Band(0 if causal else -1, -1, 0)
    assert tuple(_head_layout(back, turned, _Tile(high, wide, 64))) == counts


def test_splits_of_a_head_share_its_tiles_rounded_up() -> None:
    d: dict[str, Any] = {"sq": 64, "sk": 300, "direction": "fwd", "causal": False}
    # 5 tiles in 2 splits: 3 each, so 6 in total
    assert tuple(_head_layout(d, Band(-1, -1, 0), _Tile(64, 64, 64), 2)) == (2, 6, 3, 0)


def test_parts_and_tiles_of_a_whole_split() -> None:
    main, combine = forward("flash", 2, 4, 1, 4096, 64)
    splits = main.dims["splits"]
    # 8 blocks for 264 slots, and 16 blocks of 256 keys: 16 splits of one block
    assert splits == num_splits_heuristic(8, 264, 16) == 16
    assert blocks(main) == ((64, 256), 64, 8 * 16, 8 * 16, 1)
    assert combine.dims == {
        "variant": "splits", "rows": 8, "cols": 16, "inner": 64, "backend": "flash",
    }  # fmt: skip
    assert combine.write_bytes == 8 * 64 * 2
