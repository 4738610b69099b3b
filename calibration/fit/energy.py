"""Fit the energy of each kind of work to the power of sustained kernels and steps.

`python -m calibration.fit.energy` writes `simulator/timing/profiles/energy/<card>.json` for each
measured card. The energies of `FIRST` are fitted to its kernels (`kernel_cases`) and to the half of
its whole steps that `is_fitted` names. Another card gets these energies times one
factor for its chip, fitted to its own kernels. The steps of other cards and the other half of the
first card's steps are held out (`calibration.validate.energy_steps`). The packages transformers and
timm must be installed. `calibration.fit.collective_energy` then fits the energy of collectives.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibration.cases.energy.steps import is_fitted
from calibration.fit import collective_energy
from calibration.fit.collective_energy import write
from calibration.fit.energy_cases import work_of
from calibration.fit.solvers import least_squares
from calibration.record.read import MEASUREMENTS
from calibration.record.sustained import FIRST, EnergyCase, coolness, kernel_cases, read_cases, rest
from simulator.timing.energies import FOLDER, Energies
from simulator.timing.voltage import Voltage

Floats = NDArray[np.float64]
_LEFT_OUT = (
    "product/bf16/8192x8192x8192/zeros", "fill/1024MiB", "mixture/by_turns", "chain/exponentials",
    "product/fp64/8192x8192x8192", "launches", "launches/eager",
)  # fmt: skip
"""Cases that differ from networks: zeros and single special functions draw less power, and empty
launches overlap."""
PICOJOULES = {
    "computing_s": 3e14,
    "tensor_bf16": 0.6, "tensor_fp16": 0.6, "tensor_tf32": 1.1, "tensor_fp8": 0.32,
    "vector_fp32": 10.8, "instruction": 9.8, "lane_clock": 12.0, "l2_byte": 49.0,
    "dram_byte": 50.0, "launch": 4e6,
}  # fmt: skip
"""Start of the search: the energies fitted to the first measured kernels."""
_PRIOR = 0.03
"""Weight of a logarithm's distance from the start: energies that no case distinguishes stay at the
start."""
IDLE_W = 75.0
"""Idle power without a process, in watts: 74 to 76 W in public listings of nvidia-smi for H200s, 64
W for an H100."""
INTERVAL = (0.94, 1.15)
"""80% interval of measured over predicted joules at a known period. The 10th and 90th percentile of
the fitted half of the steps were 0.96 and 1.13 when the interval was chosen, and are 0.94 and 1.11
now. A chip that is 5 K warmer or colder at rest adds 0.02. Of the held-out steps, 88% of the H200's
and 81% of the H100's lie inside."""
VOLTAGE = Voltage(
    volts=((0.15, 0.7), (0.55, 0.7), (0.7, 0.8), (0.85, 0.89), (1.0, 1.0)),
    speeds=((0.0, 0.0), (0.75, 0.84), (0.88, 0.93), (1.0, 1.0)),
    tensor_clock=0.89,
)
"""The voltage is fitted by `calibration.fit.voltage`; below 0.7 of the clock it is extrapolated,
down to 0.7. The speeds of kernels on tensor cores, and their clock at the highest clock, are those
of limited products. A bf16 product of 4,096³ takes 177 µs at first, 195 µs at a clock of 0.88 and
205 µs at 0.77 (138.9 mJ at first, between pauses, and 117 mJ later)."""
_NEAR_LIMIT_W = 660.0
_STREAM_BYTES_PER_S = 2e12
"""Kernels that move this many bytes per second wait for DRAM, even at the lower clock under the
power limit."""


class Fitted(NamedTuple):
    """Joules of each of `PICOJOULES`, and watts while any kernel runs."""

    joules: dict[str, float]
    busy_w: float


def clock_of(case: EnergyCase) -> float:
    """Clock of a case relative to the highest clock.

    For a power-limited case on tensor cores, the clock is derived from the slowdown of the case,
    because the driver's clock readings are sparse and delayed.
    """
    if not case.limited:
        return 1.0
    if not any(name.startswith("tensor") for name in case.work) or _waits(case):
        return case.clock_hz / 1.98e9
    speed = min(1.0, case.burst_s / case.seconds)
    clock, speeds = zip(*VOLTAGE.speeds, strict=True)
    return float(np.interp(speed, speeds, clock))


def _waits(case: EnergyCase) -> bool:
    """Whether a kernel waits for DRAM, so that its time does not depend on the clock."""
    return case.work.get("dram_bytes", 0.0) / case.seconds > _STREAM_BYTES_PER_S


def _weight(case: EnergyCase) -> float:
    """Weight of a case in the fit.

    Cases near the power limit count double: there an error of 1% in power is an error of 1% in the
    clock. Copies by the driver in a graph count less, because they move only two thirds of the
    bytes per second that a kernel moves."""
    if "copy" in case.name and "8MiB" not in case.name:
        return 0.3
    return 2.0 if case.watts > _NEAR_LIMIT_W else 1.0


class _Table:
    """Cases of a card as arrays: their measured watts, and the terms from which energies predict
    watts."""

    def __init__(self, card: str, cases: Sequence[EnergyCase]) -> None:
        works = [work_of(case, card) for case in cases]
        self.cases = tuple(case.name for case in cases)
        self.names = tuple(PICOJOULES)
        self.watts = np.array([case.watts * coolness(case) for case in cases])
        self.weight = np.array([_weight(case) for case in cases])
        self.limited = np.array([case.limited for case in cases])
        self._rest_w = rest(card)[0]
        self._clocks = np.array([clock_of(case) for case in cases])
        self._squared = VOLTAGE.squared(self._clocks)
        tensor = VOLTAGE.tensor_squared(self._clocks)
        of = {"dram_byte": np.ones_like(tensor), "computing_s": tensor}
        of |= {name: tensor for name in self.names if name.startswith("tensor")}
        scale = np.stack([of.get(name, self._squared) for name in self.names], 1)
        amounts = np.array([[work.get(name, 0.0) for name in self.names] for work in works])
        self._per_s = amounts * scale / np.array([case.seconds for case in cases])[:, None]

    def fitted_w(self, fitted: Fitted, chip: float = 1.0) -> Floats:
        """Watts of each case, with all energies of the chip multiplied by `chip`."""
        joules = np.array(
            [fitted.joules[n] * (1 if n == "dram_byte" else chip) for n in self.names]
        )
        idle = IDLE_W + (self._rest_w - IDLE_W) * self._squared * self._clocks
        return idle + chip * fitted.busy_w * self._squared + self._per_s @ joules


def cases_of(card: str) -> list[EnergyCase]:
    """The cases that a card is fitted to."""
    steps = [case for case in read_cases(card, "energy_steps") if is_fitted(case.name)]
    cases = [case for case in (*kernel_cases(card), *steps) if case.name not in _LEFT_OUT]
    return [case for case in cases if card == FIRST or not case.step]


def fit_first(table: _Table) -> Fitted:
    """Fit every energy of the first card."""

    def fitted(logs: Floats) -> Fitted:
        joules = np.exp(logs[1:]) * 1e-12
        return Fitted(dict(zip(PICOJOULES, joules.tolist(), strict=True)), float(np.exp(logs[0])))

    begin = np.log([5.0, *PICOJOULES.values()])

    def residuals(logs: Floats) -> Floats:
        off = table.weight * np.log(table.fitted_w(fitted(logs)) / table.watts)
        return np.append(off, _PRIOR * (logs - begin))

    return fitted(least_squares(residuals, begin, loss="soft_l1", f_scale=0.05).x)


def fit_chip(table: _Table, first: _Table, fitted: Fitted) -> float:
    """Energy of another card's chip relative to the first card's, since the same circuits run at
    another voltage. Each kernel is compared with itself on the first card, so that its error in the
    fit cancels. Power-limited kernels are left out, because their voltage is inferred.
    """
    logs = np.log(first.fitted_w(fitted) / first.watts)
    names = np.array(first.cases)
    off = {name: float(logs[names == name].mean()) for name in first.cases}
    both = np.array([name in off for name in table.cases])
    weight = table.weight * both * ~table.limited
    there = np.array([off.get(name, 0.0) for name in table.cases])

    def residuals(log: Floats) -> Floats:
        watts = table.fitted_w(fitted, float(np.exp(log[0])))
        return weight * (np.log(watts / table.watts) - there)

    return float(np.exp(least_squares(residuals, [0.0], loss="soft_l1", f_scale=0.05).x[0]))


def energies_of(card: str, fitted: Fitted, chip: float, cases: Sequence[EnergyCase]) -> Energies:
    """The contents of a card's file."""
    with gzip.open(MEASUREMENTS / card / "energy.jsonl.gz", "rt", encoding="utf-8") as file:
        machine = json.loads(file.readline())["machine"]
    joules = {n: j * (1 if n == "dram_byte" else chip) for n, j in fitted.joules.items()}
    by_dtype = {n.removeprefix("tensor_"): j for n, j in joules.items() if n.startswith("tensor_")}
    return Energies(
        gpu=card,
        source="calibration/measurements: kernels alone, mixtures and half of the whole steps",
        clock_hz=machine["highest_clock_hz"],
        idle_w=IDLE_W,
        clocked_w=rest(card)[0] - IDLE_W,
        busy_w=fitted.busy_w * chip,
        tensor_w=joules["computing_s"],
        tensor_j_per_flop={
            **by_dtype,
            "int8": by_dtype["fp8"],
            "fp64": 10 * by_dtype["tf32"],
        },
        vector_j_per_flop={"fp32": joules["vector_fp32"], "fp64": 2 * joules["vector_fp32"]},
        instruction_j=joules["instruction"],
        lane_j=joules["lane_clock"],
        l2_j_per_byte=joules["l2_byte"],
        dram_j_per_byte=joules["dram_byte"],
        launch_j=joules["launch"],
        collective_w=0.0,
        link_j_per_byte=0.0,
        voltage=VOLTAGE,
        held=float(np.median([case.watts for case in cases if case.limited])) / machine["limit_w"],
        interval=INTERVAL,
    )


def main() -> None:
    """Fit all measured cards."""
    cards = {path.parent.name for path in MEASUREMENTS.glob("*/energy.jsonl.gz")}
    cases = {card: cases_of(card) for card in (FIRST, *sorted(cards - {FIRST}))}
    tables = {card: _Table(card, own_cases) for card, own_cases in cases.items()}
    fitted = fit_first(tables[FIRST])
    print(f"{fitted.busy_w:.3g} W", {name: f"{j:.3g} J" for name, j in fitted.joules.items()})
    for card, table in tables.items():
        chip = 1.0 if card == FIRST else fit_chip(table, tables[FIRST], fitted)
        print(f"{card}: chip {chip:.3f}")
        for case, fitted_w, watts in zip(
            cases[card], table.fitted_w(fitted, chip), table.watts, strict=True
        ):
            off = fitted_w / watts - 1
            print(f"{case.name:60} {watts:6.0f} W measured, {fitted_w:6.0f} W fitted ({off:+.0%})")
        write(FOLDER / f"{card}.json", energies_of(card, fitted, chip, cases[card]))
    collective_energy.main()


if __name__ == "__main__":
    main()
