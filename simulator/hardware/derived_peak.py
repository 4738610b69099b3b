"""Peaks derived from a GPU's units, clock and FLOPs per clock, compared with the stated ones."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.hardware.gpu import Engine

TOLERANCE = 0.02
"""Relative difference up to which peaks agree, since data sheets round clocks and peaks."""


@dataclass(frozen=True)
class DerivedPeak:
    """The stated and the derived peak of an engine at a dtype, in FLOP/s."""

    units: int
    hz: float
    flops_per_clock_per_unit: float
    stated_flops_per_s: float

    @property
    def flops_per_s(self) -> float:
        """The derived peak: units × clock × FLOPs per clock."""
        return self.units * self.hz * self.flops_per_clock_per_unit

    @property
    def off(self) -> float:
        """The relative difference: the stated peak over the derived one, minus 1."""
        return self.stated_flops_per_s / self.flops_per_s - 1

    @property
    def agrees(self) -> bool:
        """Whether the two peaks agree within two percent."""
        return abs(self.stated_flops_per_s - self.flops_per_s) <= TOLERANCE * self.flops_per_s


def clock_hz(
    engine: Engine, dtype: str, boost_hz: float | None, tensor_hz: float | None
) -> float | None:
    """The clock of an engine at a dtype: tensor cores have their own clock, except for fp64."""
    if engine == "vector" or dtype == "fp64":
        return boost_hz
    return tensor_hz or boost_hz
