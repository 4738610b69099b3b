"""What a product measured on one GPU takes on another.

A share of the peak does not carry over: what keeps a kernel below the peak (addresses, loads into
registers, exponentials, the wait for DRAM) takes clocks of a streaming multiprocessor, as many on
a card whose tensor cores are an eighth as fast. So a kernel's time a FLOP is taken apart on the
GPU that was measured: what its engine needs, at the clock that the power limit leaves it, and the
rest, which follows the clock. Both overlap in part: their powers of `_OVERLAP` add up, as do those
of what DRAM takes and of what the bytes in flight take (Little's law).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simulator.engines import units_of
from simulator.hardware import GPU, gpus

Floats = NDArray[np.float64]

_OVERLAP = 1.5
_STREAMED = 2.0


@lru_cache
def measured_on(gpu_id: str) -> GPU | None:
    """The GPU of a profile; None where its file is gone."""
    return next((gpu for gpu in gpus() if gpu.id == gpu_id), None)


def longer(share: Floats | float, on_tensor: NDArray[np.bool_], here: Floats, there: Floats,
           gpu: GPU, measured: GPU | None) -> Floats:  # fmt: skip
    """How many times as long [works] as this share of the peak `here` would take, on `gpu`, what
    reaches it of the peak `there` on the GPU that was measured."""
    if measured is None or gpu.id == measured.id or not _clocked(gpu, measured):
        return np.ones_like(here)
    kept, had = _sustained(gpu, on_tensor), _sustained(measured, on_tensor)
    engine = np.maximum(share, had)  # of the measured peak, were there nothing but the engine
    rest = np.maximum((1 / share) ** _OVERLAP - (1 / engine) ** _OVERLAP, 0) ** (1 / _OVERLAP)
    clocks = _clocks(measured) / _clocks(gpu)
    ideal = had / (engine * kept * here)
    both = (ideal**_OVERLAP + (rest / there * clocks) ** _OVERLAP) ** (1 / _OVERLAP)
    return both * here * share


def carried(share: float, gpu: GPU, measured: GPU, wider: float, reach: float) -> float:
    """Share of a memory's bandwidth on `gpu`, `wider` times that of the GPU that was measured, of
    loads that reach this share there, where the best reach `reach`: what waits there are bytes in
    flight, so many a unit and clock (Little's law)."""
    if gpu.id == measured.id or not _clocked(gpu, measured):
        return share
    most = max(share, reach)
    waiting = max((1 / share) ** _STREAMED - (1 / most) ** _STREAMED, 0) ** (1 / _STREAMED)
    waiting *= wider * _clocks(measured) / _clocks(gpu)
    return (most**-_STREAMED + waiting**_STREAMED) ** (-1 / _STREAMED)


def _clocks(gpu: GPU) -> float:
    """Of all units in a second."""
    return units_of(gpu) * (gpu.boost_hz or 1.0)


def _clocked(*cards: GPU) -> bool:
    return all(card.units and card.boost_hz for card in cards)


def _sustained(gpu: GPU, on_tensor: NDArray[np.bool_]) -> Floats:
    return np.where(on_tensor, gpu.sustained_tensor or 1.0, gpu.sustained_vector or 1.0)
