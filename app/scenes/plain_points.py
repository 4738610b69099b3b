"""Predicted points as unformatted numbers in SI units, for spreadsheets."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.prediction import REGIMES

PLAIN_HEADS = (
    "Time (s)", "Interval from (s)", "Interval to (s)", "GPU busy (s)", "Throughput (samples/s)",
    *(f"{regime.capitalize()} (share)" for regime in REGIMES), "Bound by",
    "Memory at the peak (B)", "Fits",
)  # fmt: skip
"""The heads of the cells of `plain_point`; the interval has 80%."""
_NUMBERS = ("period_s", "low_s", "high_s", "gpu_busy_s", "samples_per_s", *REGIMES)


def plain_number(value: float) -> str:
    """A number with at most 12 digits, without a unit or a separator: "0.0122", "16"."""
    return f"{value:.12g}"


def plain_point(at: Mapping[str, float]) -> list[str]:
    """The cells of a point, from its columns of simulator.simulate.step_columns."""
    numbers = [plain_number(at[name]) for name in _NUMBERS]
    regime, memory = REGIMES[int(at["regime"])], plain_number(at["memory_bytes"])
    return [*numbers, regime, memory, "yes" if at["fits"] else "no"]
