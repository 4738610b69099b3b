"""The clocks of a multiprocessor's L1 cache for a load of one warp."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulator.varying import in_arrays

WARP = 32
_SECTOR_BYTES = 32
_SLOTS = 4
"""A cache line has four sectors."""
SHARED_CLOCKS, _SECTOR_CLOCKS, _SLOT_CLOCKS = 2, 0.42, 1.15
"""Clocks of a load whose lanes share sectors; clocks per sector; and clocks per sector in the slot
with the most sectors. Measured on an H200 with bicubic interpolations of 148 sizes, layouts and
numbers of channels. Strides of 128 bytes, whose sectors share a slot, take twice as long as strides
of 160."""


@in_arrays
def load_clocks(
    step_bytes: Any, row_bytes: Any, height: Any, width: Any, out_height: Any, out_width: Any
) -> Any:
    """Whole clocks in which a warp loads one value for each of 32 neighbouring outputs. The values
    come from an image of `height` × `width` whose values are `step_bytes` apart and whose rows are
    `row_bytes` apart."""
    sizes = np.broadcast_arrays(
        *(
            np.asarray(each)
            for each in (step_bytes, row_bytes, height, width, out_height, out_width)
        )
    )
    step, row, tall, wide, out_tall, out_wide = (each.astype(np.float64) for each in sizes)
    outputs = out_tall * out_wide
    lanes = np.arange(WARP, dtype=np.float64).reshape(-1, *[1] * outputs.ndim)
    place = np.minimum(np.floor(outputs / 2 / WARP) * WARP + lanes, outputs - 1)
    y, x = np.floor(place / out_wide), place % out_wide
    source_y = np.floor((y + 0.5) * tall / out_tall)
    source_x = np.floor((x + 0.5) * wide / out_wide)
    sector = np.sort((source_y * row + source_x * step) // _SECTOR_BYTES, axis=0)
    first = np.concatenate([np.ones_like(sector[:1], bool), np.diff(sector, axis=0) > 0])
    of_slot = [(first & (sector % _SLOTS == slot)).sum(axis=0) for slot in range(_SLOTS)]
    sectors, largest = first.sum(axis=0), np.max(of_slot, axis=0)
    more = np.maximum(_SECTOR_CLOCKS * sectors, _SLOT_CLOCKS * (largest - 1))
    return SHARED_CLOCKS + np.rint(more).astype(np.int64)
