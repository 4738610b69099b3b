"""Power and clock within sustained kernels, from one reading of the energy counter to the next.

For half a second a kernel runs above the power limit; then the driver lowers its clock, raises it
again and settles within seconds. So each kernel is measured at many clocks.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from calibration.measure.instruments.nvml import COLUMNS
from calibration.record.sustained import rows

Floats = NDArray[np.float64]

_UPDATE_S = 0.1
"""The driver updates its energy counter, power and clock about this often."""
_EARLIEST_S = 0.1
"""Seconds after the start from which windows are used; earlier, the card is idle for part of a
window."""
_STEADY_HZ = 45e6
"""The largest change of the clock within a window that is used."""


class Window(NamedTuple):
    """A tenth of a second of a kernel that the power limit slows.

    kernel     card, file and case
    clock_hz   mean of the readings at its ends
    joules, seconds and dram_bytes are those of an iteration.
    """

    kernel: tuple[str, str, str]
    joules: float
    seconds: float
    clock_hz: float
    celsius: float
    dram_bytes: float


def windows(card: str, file: str) -> list[Window]:
    """The windows in which the clock was steady, for the kernels of a file that the power limit
    slowed."""
    steady_windows: list[Window] = []
    for row in rows(card, file):
        if row.get("joules") and 4 in row["reasons"] and not row["step"]:
            steady_windows += _of(row, (card, file, row["name"]))
    return steady_windows


def _of(row: dict[str, Any], kernel: tuple[str, str, str]) -> list[Window]:
    columns = ("time_s", "energy_j", "clock_hz", "celsius")
    places = [COLUMNS.index(name) for name in columns]
    series = np.array([[reading[place] for place in places] for reading in row["series"]], float)
    updates = series[1:][np.diff(series[:, 1]) > 0]
    seen_s, joules, clock_hz, celsius = (cast("Floats", column) for column in updates.T)
    turn = cast("Floats", np.round((seen_s - seen_s[0]) / _UPDATE_S))
    period_s = np.polyfit(turn, seen_s, 1)[0]
    turn = cast("Floats", np.round((seen_s - seen_s[0]) / period_s))
    # An update appears in the first reading after it, never earlier.
    at_s = turn * period_s + (seen_s - turn * period_s).min()
    marks_s, done = (cast("Floats", column) for column in np.array(row["chunks"]).T)
    iterations = cast("Floats", np.interp(at_s, marks_s, done))
    steady_windows: list[Window] = []
    for i in range(1, len(at_s)):
        inside = at_s[i - 1] > marks_s[0] + _EARLIEST_S and at_s[i] < marks_s[-1]
        steady = abs(clock_hz[i] - clock_hz[i - 1]) <= _STEADY_HZ
        if inside and steady and turn[i] - turn[i - 1] == 1:
            count = iterations[i] - iterations[i - 1]
            steady_windows.append(
                Window(
                    kernel=kernel,
                    joules=(joules[i] - joules[i - 1]) / count,
                    seconds=(at_s[i] - at_s[i - 1]) / count,
                    clock_hz=(clock_hz[i] + clock_hz[i - 1]) / 2,
                    celsius=(celsius[i] + celsius[i - 1]) / 2,
                    dram_bytes=row["work"].get("dram_bytes", 0.0),
                )
            )
    return steady_windows
