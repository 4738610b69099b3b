"""Whose kernels run on a GPU, and how far its predictions may be off where those are unknown.

The profiles hold NVIDIA's libraries and PyTorch's own kernels for CUDA. Another vendor's GPU runs
others, of which the data sheet says nothing: the physics carries over, what a library makes of it
does not. `profiles/software.toml` says for each vendor what runs, and what is known of it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from simulator.hardware.gpu import GPU
from simulator.timing.profile import FOLDER, Profile

Tier = Literal["interpolated", "transferred", "datasheet"]


class Software(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What runs on the GPUs of a vendor in CUDA's place.

    runs      its name
    tier      "transferred" where public measurements bear the physics out, else "datasheet"
    interval  10th and 90th percentile of measured over predicted periods
    note      what a reader of a prediction must know
    source    of the interval
    """

    runs: str
    tier: Tier
    interval: tuple[float, float]
    note: str
    source: str


@lru_cache
def _by_vendor() -> dict[str, Software]:
    text = (FOLDER / "software.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, Software])


def uncalibrated(gpu: GPU) -> Software | None:
    """What runs on a GPU in place of CUDA's kernels; None where these run, or where it is
    unknown."""
    if gpu.vendor in (None, "NVIDIA"):
        return None
    known = _by_vendor()
    return known.get(gpu.vendor, known["*"])


def tier(gpu: GPU, profile: Profile) -> Tier:
    """Where the times of its kernels come from: between those that were measured on it, another
    GPU's shares of the peaks, or its data sheet alone."""
    if gpu.id == profile.gpu:
        return "interpolated"
    own = uncalibrated(gpu)
    return own.tier if own else "transferred"


def widened(ends: tuple[float, float], gpu: GPU, profile: Profile) -> tuple[float, float]:
    """An interval's ends over the period, no nearer than the software of the GPU allows."""
    own = uncalibrated(gpu)
    if own is None or gpu.id == profile.gpu:
        return ends
    return min(ends[0], own.interval[0]), max(ends[1], own.interval[1])
