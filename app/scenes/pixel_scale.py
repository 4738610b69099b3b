"""The mapping of values to pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, log2

import numpy as np
from numpy.typing import NDArray

from app.quantities import plain
from app.scenes.ticks import Ticks, decade_ticks, linear_ticks

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """A scale from `low` to `high` over pixels from `begin` to `end`, logarithmic if `log`."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value."""
        if self.log:
            share = log(max(value, 1e-300) / self.low) / log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return float(self.begin + share * (self.end - self.begin))

    def many(self, values: Floats) -> Floats:
        """The pixels of values."""
        if self.log:
            share = np.log(np.maximum(values, 1e-300) / self.low) / np.log(self.high / self.low)
        else:
            share = (values - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def value(self, pixel: float) -> float:
        """The value at a pixel."""
        share = (pixel - self.begin) / (self.end - self.begin)
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return float(self.low + share * (self.high - self.low))

    def zoomed(self, pixel: float, times: float) -> Scale:
        """The scale zoomed by a factor around a pixel, whose value does not change."""
        value = self.value(pixel)
        if self.log:
            return replace(
                self,
                low=value * (self.low / value) ** (1 / times),
                high=value * (self.high / value) ** (1 / times),
            )
        return replace(
            self, low=value + (self.low - value) / times, high=value + (self.high - value) / times
        )

    def moved(self, pixels: float) -> Scale:
        """The scale with its contents moved by `pixels`."""
        return replace(
            self, low=self.value(self.begin - pixels), high=self.value(self.end - pixels)
        )

    def ticks(self, most: int = 7) -> Ticks:
        """Round values with their names."""
        if not self.log:
            return [(v, plain(float(f"{v:.6g}"))) for v in linear_ticks(self.low, self.high, most)]
        if log2(self.high / self.low) < 3:
            near = [v for v in linear_ticks(self.low, self.high, most) if v >= self.low]
            return [(v, plain(float(f"{v:.6g}"))) for v in near]
        return [(2.0**at, words) for at, words in decade_ticks(self.low, self.high, most)]
