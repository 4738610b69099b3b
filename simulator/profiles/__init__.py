"""Profiles: what is known of how near a GPU comes to its data sheet. Data, with its sources."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from simulator.errors import InputError

FOLDER = Path(__file__).parent


class Traffic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A family bound by memory or by instruction issue.

    stream       bytes per clock and unit that it keeps in flight from DRAM; where this is more
                 than DRAM gives, DRAM's own limit rules
    l2           share of the L2's bandwidth that it reaches
    issue        share of the vector lanes' issue rate that it reaches
    fixed_s      launch to first byte and last byte to completion
    cold_s       more of it where the first byte comes from DRAM
    row          bytes per second of one row, where a row is one block's alone (0: no such limit)
    step_s       seconds of each step that must wait for the one before
    run_clocks   clocks of one unit for each run of neighbours in memory, however short it is
    """

    stream: float
    l2: float
    issue: float
    fixed_s: float
    cold_s: float = 0.0
    row: float = 0.0
    step_s: float = 0.0
    run_clocks: float = 0.0


class Tiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A family that computes in tiles, one a streaming multiprocessor at a time.

    shapes       (rows, columns) of the tiles that the library has
    utilisation  share of peak that a tile of unlimited size would reach
    feed         a tile of h × w runs at 1 / (1 + feed·(1/h + 1/w)) of that: feeding operands
    wave_s       start and end of each wave of tiles
    split_s      extra time when the reduced dimension is split over several tiles
    dram, l2     share of the bandwidths that it reaches: its loads run ahead on every card
    unaligned    compute is this many times slower for each halving of the loads below 16 bytes
    """

    shapes: tuple[tuple[int, int], ...]
    utilisation: float
    feed: float
    wave_s: float
    split_s: float
    dram: float
    l2: float
    fixed_s: float
    unaligned: float = 1.0


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How families of kernels use a GPU: `gpu`, which was measured; to others it is transferred.

    dram_reach   share of the data sheet's bandwidth that the best kernel reaches
    l2_reach     share of L2 in which data just used is found again
    interval     10th and 90th percentile of measured over predicted periods, of steps never fitted
    transferred  the same on other GPUs
    """

    version: int
    id: str
    gpu: str
    source: str
    traffic: dict[str, Traffic]
    tiles: dict[str, Tiles]
    dram_reach: float
    l2_reach: float
    l2_bytes_per_clock_per_unit: float
    gap_s: float
    graph_gap_s: float
    graph_launch_s: float
    interval: tuple[float, float]
    transferred: tuple[float, float]
    transferred_source: str

    def interval_on(self, gpu: str) -> tuple[float, float]:
        """The interval's ends over the predicted period, on the GPU of this id."""
        return self.interval if gpu == self.gpu else self.transferred


@lru_cache
def profile(name: str = "h200") -> Profile:
    """Load a packaged profile. Raises InputError for an unknown or malformed one."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in FOLDER.glob("*.json")))
        raise InputError(f"unknown profile {name!r}: expected one of {known}")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Profile)
    except msgspec.MsgspecError as error:
        raise InputError(f"{path.name} is no valid profile: {error}; calibrate again") from error
