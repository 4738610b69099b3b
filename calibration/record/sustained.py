"""The power and energy of sustained kernels and steps, as `calibration.measure.energy` wrote
them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibration.measure.energy import WARM_S
from calibration.measure.instruments.nvml import COLUMNS
from calibration.record.read import MEASUREMENTS, Probes

FIRST = "h200_sxm"
"""The energies are fitted to the kernels and to half of the steps of this card."""
_BURST_S = 0.05
"""Seconds for which a card runs above its limit after a pause."""
PER_KELVIN = 0.004
"""Increase of a card's power with the temperature of its chip, as a share per kelvin. While kernels
at the highest clock warmed up an H200 and an H100, their power rose by 0.005 and 0.002 per kelvin;
0.004 leaves the smallest errors on the fitted kernels and steps of both."""
_AT_REST, _REST_W, _KELVIN_PER_WATT = 39.0, 122.0, 0.041
"""Temperature and power of a card at rest, and the temperature rise of the chip per watt of its
power within the seconds of a case on an H200. Seven processes measured 31, 34, 35, 36, 39, 40 and
46 °C at rest. In five of them, kernels warmed the chip by 0.039 to 0.052 K per watt of the chip;
a watt of DRAM, which has a separate sensor, warmed it by 0.007 K in the median."""
_DRAM_J_PER_BYTE = 6e-11
"""Rounded from the value that is fitted together with the energies."""
_DRAM_SHARE = 0.2
"""DRAM's share of the power that whole steps draw in addition to the power at rest. It follows from
the temperature of the chip, which rises by 0.033 K per watt of the card."""


@dataclass(frozen=True)
class EnergyCase:
    """A measured case of `calibration.measure.energy`.

    seconds, watts    mean of a sustained iteration
    burst_s           seconds of an iteration before the power limit holds
    limited           whether the power limit lowered the clock
    celsius           mean temperature of the chip during the measurement
    work              work of an iteration as the script counts it
    step              options of a whole step, or None for kernels
    probes            seconds of the host's probes before and after it, where they were timed
    """

    name: str
    seconds: float
    burst_s: float
    watts: float
    clock_hz: float
    limited: bool
    celsius: float
    work: Mapping[str, float]
    step: Mapping[str, Any] | None
    probes: Probes | None

    @property
    def mode(self) -> str:
        """The execution mode of a step."""
        return "cuda_graph" if self.name.endswith("/cuda_graph") else "eager"


def read_cases(card: str, file: str = "energy") -> list[EnergyCase]:
    """The cases in a file of a card; empty if the card has no such file."""
    return [
        EnergyCase(
            name=row["name"],
            seconds=row["sustained_s"],
            burst_s=_burst_s(row["chunks"]) or row["sustained_s"],
            watts=row["power_w"],
            clock_hz=row["clock_hz"],
            limited=4 in row["reasons"],
            celsius=_celsius(row["series"]),
            work=row["work"],
            step=row["step"],
            probes=row.get("probes"),
        )
        for row in rows(card, file)
        if row.get("joules")
    ]


def kernel_cases(card: str) -> list[EnergyCase]:
    """The cases of all files of a card that hold kernels; a kernel may have been measured again."""
    files = sorted((MEASUREMENTS / card).glob("energy_further*.jsonl.gz"))
    further = [file.name.removesuffix(".jsonl.gz") for file in files]
    return [case for file in ("energy", *further) for case in read_cases(card, file)]


def rest(card: str, file: str = "energy") -> tuple[float, float]:
    """Watts and degrees Celsius of a card at rest with an open context."""
    row = next(row for row in rows(card, file) if row.get("name") == "rest")
    return row["power_w"], _celsius(row["series"])


def rows(card: str, file: str) -> list[dict[str, Any]]:
    path = MEASUREMENTS / card / f"{file}.jsonl.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _celsius(series: Sequence[Sequence[float | None]]) -> float:
    """Mean chip temperature of the readings after the warm-up, or of all of a shorter series."""
    column = COLUMNS.index("celsius")
    warm = [r[column] for r in series if (r[0] or 0) > WARM_S] or [r[column] for r in series]
    return float(np.mean([celsius for celsius in warm if celsius is not None]))


def _burst_s(chunks: Sequence[tuple[float, int]]) -> float | None:
    """Seconds per iteration over the first chunks, or None if one chunk outlasts the burst."""
    begin_s, begin = chunks[0]
    inside = [(at, count) for at, count in chunks[1:] if at - begin_s <= _BURST_S]
    if not inside:
        return None
    at, count = inside[-1]
    return (at - begin_s) / (count - begin)


def coolness(case: EnergyCase) -> float:
    """Power that a card at the typical temperature would draw, relative to the measured power."""
    above_rest_w = case.watts - _REST_W
    dram_w = case.work.get("dram_bytes", 0.0) / case.seconds * _DRAM_J_PER_BYTE
    chip_w = above_rest_w * (1 - _DRAM_SHARE) if case.step else above_rest_w - dram_w
    typical = _AT_REST + _KELVIN_PER_WATT * chip_w
    return 1 / (1 + PER_KELVIN * (case.celsius - typical))
