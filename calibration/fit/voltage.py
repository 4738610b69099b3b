"""Fit how the voltage of the chip falls with its clock.

`python -m calibration.fit.voltage` prints the voltage at each of `CLOCKS`, relative to that at the
highest clock; `VOLTAGE` of `calibration.fit.energy` has these values. Each kernel that the power
limit slowed is compared with itself at other clocks. The joules that the card draws without a
process and those of DRAM do not change; all others are proportional to the square of the voltage.
Kernels on tensor cores are left out unless they wait for DRAM, because their voltage droops.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibration.fit.solvers import least_squares
from calibration.record.read import MEASUREMENTS
from calibration.record.sustained import FIRST, PER_KELVIN
from calibration.record.sustained_windows import Window, windows
from simulator.hardware.gpu import gpu
from simulator.timing.energies import Energies, energies

Floats = NDArray[np.float64]
CLOCKS = (0.7, 0.85, 1.0)
"""Share of the highest clock; the voltage is linear between them."""
_TENSOR = ("product/bf16", "product/fp16", "product/tf32", "product/fp8", "product/fp64",
           "attention", "convolution", "mixture")  # fmt: skip
_WAITING = "product/bf16/64x"


def measured() -> list[Window]:
    """The windows of all cards."""
    files = sorted(MEASUREMENTS.glob("*/energy*.jsonl.gz"))
    names = [(f.parent.name, f.name.removesuffix(".jsonl.gz")) for f in files]
    every_window = [w for card, file in names for w in windows(card, file)]
    return [
        w
        for w in every_window
        if not w.kernel[2].startswith(_TENSOR) or w.kernel[2].startswith(_WAITING)
    ]


def voltages(every_window: Sequence[Window], known: Energies) -> Floats:
    """The voltage at each of `CLOCKS`."""
    kernels = sorted({w.kernel for w in every_window})
    which = np.array([kernels.index(w.kernel) for w in every_window])
    joules, seconds, celsius = (
        np.array([getattr(w, name) for w in every_window])
        for name in ("joules", "seconds", "celsius")
    )
    clock = np.array([w.clock_hz for w in every_window]) / known.clock_hz
    dram_j = known.dram_j_per_byte * np.array([w.dram_bytes for w in every_window])
    typical = np.array([celsius[which == k].mean() for k in range(len(kernels))])
    warmth = 1 + PER_KELVIN * (celsius - typical[which])
    awake_j = (known.clocked_w * clock + known.busy_w) * seconds

    def residuals(unknown: Floats) -> Floats:
        volts = np.interp(clock, CLOCKS, [*unknown[: len(CLOCKS) - 1], 1.0])
        chip_j = np.exp(unknown[len(CLOCKS) - 1 :])[which]
        predicted = known.idle_w * seconds + volts**2 * (awake_j + chip_j) + dram_j
        return np.log(predicted * warmth / joules)

    begin = np.array([np.median(joules[which == k]) for k in range(len(kernels))])
    first = np.append(CLOCKS[:-1], np.log(begin / 2))
    best = least_squares(residuals, first, loss="soft_l1", f_scale=0.02).x
    return np.append(best[: len(CLOCKS) - 1], 1.0)


def main() -> None:
    """Fit the voltage with the energies of the first card."""
    known, every_window = energies(gpu(FIRST)), measured()
    assert known is not None
    print(f"{len(every_window)} windows of {len({w.kernel for w in every_window})} kernels")
    for clock, volts in zip(CLOCKS, voltages(every_window, known), strict=True):
        count = sum(abs(w.clock_hz / known.clock_hz - clock) < 0.075 for w in every_window)
        print(f"{clock:.2f} of the clock: {volts:.3f} of the voltage ({count} windows near it)")


if __name__ == "__main__":
    main()
