"""The voltage of a chip by its clock."""

from __future__ import annotations

from functools import cached_property
from typing import cast

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Points = tuple[tuple[float, float], ...]


class Voltage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """The voltage of a chip and the speed of its tensor cores as functions of its clock, all as
    shares of their values at the highest clock; linear between the points.

    volts           voltage by clock
    speeds          speed of kernels on tensor cores by clock: near the highest clock, their current
                    makes the voltage droop, and cycles last longer than at the nominal clock
    tensor_clock    the actual clock of busy tensor cores at the highest nominal clock; their
                    voltage belongs to the actual clock
    """

    volts: Points
    speeds: Points
    tensor_clock: float

    def squared(self, clock: Floats | float) -> Floats:
        """The square of the voltage at a clock."""
        return cast("Floats", np.interp(clock, *self._volts)) ** 2

    def tensor_speed(self, clock: Floats | float) -> Floats:
        """The speed of kernels on tensor cores at a clock."""
        return cast("Floats", np.interp(clock, *self._speeds))

    def tensor_squared(self, clock: Floats | float) -> Floats:
        """The square of the voltage of busy tensor cores at a clock, relative to that at the
        highest clock."""
        real = self.tensor_clock * self.tensor_speed(clock)
        return self.squared(real) / self._tensor_square

    @cached_property
    def _volts(self) -> Floats:
        return np.array(self.volts).T.copy()

    @cached_property
    def _speeds(self) -> Floats:
        return np.array(self.speeds).T.copy()

    @cached_property
    def _tensor_square(self) -> Floats:
        return self.squared(self.tensor_clock)
