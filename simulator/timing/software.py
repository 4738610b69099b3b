"""The vendor's kernels on a GPU, and the interval of predictions if these are unknown.

The profiles hold NVIDIA's libraries and PyTorch's own kernels for CUDA. Another vendor's GPU runs
other kernels, which its data sheet does not describe: the roofline applies to them, but the shares
that libraries reach do not. `profiles/software.toml` describes the software of each vendor.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from simulator.hardware.gpu import GPU
from simulator.timing.profile import FOLDER, Profile

Tier = Literal["interpolated", "transferred", "datasheet"]


class Software(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The software that replaces CUDA on the GPUs of a vendor.

    runs      name of the software
    tier      "transferred" if public measurements confirm the roofline, else "datasheet"
    interval  10th and 90th percentile of measured over predicted periods
    note      text for readers of a prediction
    source    the source of the interval
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
    """The software that replaces CUDA on a GPU; None if CUDA runs or the vendor is unknown."""
    if gpu.vendor in (None, "NVIDIA"):
        return None
    known = _by_vendor()
    return known.get(gpu.vendor, known["*"])


def tier(gpu: GPU, profile: Profile) -> Tier:
    """The tier of a GPU's kernel times: interpolated between measurements on this GPU, transferred
    from another GPU's shares of the peaks, or from the data sheet alone."""
    if gpu.id == profile.gpu:
        return "interpolated"
    own = uncalibrated(gpu)
    return own.tier if own else "transferred"


def widened(ends: tuple[float, float], gpu: GPU, profile: Profile) -> tuple[float, float]:
    """An interval's ends relative to the period, at least as wide as the software of the GPU
    requires."""
    own = uncalibrated(gpu)
    if own is None or gpu.id == profile.gpu:
        return ends
    return min(ends[0], own.interval[0]), max(ends[1], own.interval[1])
