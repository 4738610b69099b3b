"""Peak memory of a family at many points. At every point, the same number of storages of each size
slot is alive. (`simulator.schedule.memory` computes the peak of one trace.)"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.schedule.memory import BLOCK_BYTES
from simulator.symbols.family import Family
from simulator.timing.products import product

Ints = NDArray[np.int64]
_ALIVE = Derived[tuple[Ints, NDArray[np.float64]]]()


def peak_bytes(family: Family, sizes: Ints) -> Ints:
    """Peak bytes [points] for sizes [slots, points]."""
    slots, alive = _ALIVE.get(family, lambda: _alive(family))
    blocks = -(-sizes[slots] // BLOCK_BYTES)
    return product(alive, blocks.astype(float)).max(axis=0).astype(np.int64) * BLOCK_BYTES


def _alive(family: Family) -> tuple[Ints, NDArray[np.float64]]:
    """The slots of storages on the GPU, and how many of each are alive during an op [ops, slots].
    Rows that another row exceeds or equals in every slot are left out."""
    borns, freeds, _, devices = family.lives
    last = len(family.rows)
    count = max(last, 1)
    slots, column = np.unique(np.array(family.storages, np.int64), return_inverse=True)
    steps = np.zeros((count + 2, len(slots)), np.int64)
    for place, born, freed, device in zip(column.tolist(), borns, freeds, devices, strict=True):
        if device == "cuda":
            steps[min(max(born, 0), count), place] += 1
            steps[count if freed is None or freed == last else min(freed, count), place] -= 1
    rows = np.unique(np.cumsum(steps, axis=0)[:count], axis=0)
    maximal: list[Ints] = []
    while len(rows):
        most = rows[rows.sum(axis=1).argmax()]
        maximal.append(most)
        rows = rows[(rows > most).any(axis=1)]
    return slots, np.array(maximal, float)
