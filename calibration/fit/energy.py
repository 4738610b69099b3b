"""Fit the energy of a card's work from kernels alone and mixtures of them.

`python -m calibration.fit.energy h200_sxm` writes `simulator/timing/profiles/energy/h200_sxm.json`
from the card's `energy.jsonl.gz`. The whole steps of one card are in the fit; those of the other
cards are held out to show its accuracy.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from calibration.fit.energy_cases import EnergyCase, read_cases, work_of
from calibration.record.read import MEASUREMENTS
from simulator.timing.energies import FOLDER, Energies

Floats = NDArray[np.float64]
_LEFT_OUT = ("product/bf16/8192x8192x8192/zeros", "mixture/by_turns", "chain/exponentials")
"""Cases that differ from networks: zeros draw less power, and so do special function units
alone."""
PICOJOULES = {
    "computing_s": 1e14,
    "tensor_bf16": 1.0, "tensor_fp16": 1.1, "tensor_tf32": 2.0, "tensor_fp8": 0.6,
    "vector_fp32": 11.0, "instruction": 8.0, "l2_byte": 30.0, "dram_byte": 80.0, "launch": 1e7,
}  # fmt: skip
"""Start of the search."""
IDLE_W = 75.0
"""Watts without a process: 74 to 76 in public listings of nvidia-smi of H200s, 64 of an H100."""
RANDOM = "random"
"""Name of the ratio of the energy of a product of random numbers to that of a network's product."""
WITH_STEPS = "h200_sxm"
"""The card whose whole steps are in the fit; those of other cards are held out."""
INTERVAL = (0.88, 1.14)
"""Bounds of measured over predicted joules of a step: eight steps lie within 0.94 and 1.12, and
eight are few."""
VOLTS = ((0.15, 0.7), (0.35, 0.73), (1.0, 1.0))
SPEEDS = ((0.0, 0.0), (0.75, 0.84), (0.88, 0.93), (1.0, 1.0))


def _weight(case: EnergyCase) -> float:
    """Weight of a case: steps are the purpose of the fit and have separate data; the driver's copy
    in a graph moves two thirds of the bytes per second of a kernel."""
    if case.step or case.name == "sum/1024MiB":  # the only kernel bound by DRAM alone
        return 2.0
    return 0.3 if "copy" in case.name and "8MiB" not in case.name else 1.0


def clock_of(case: EnergyCase) -> float:
    """Clock of a case relative to the highest.

    A limited case on tensor cores gives it by its own slowdown: readings of the clock are rare
    and lag.
    """
    tensor = any(name.startswith("tensor") for name in case.work)
    if not case.limited:
        return 1.0
    if case.step:
        return case.clock_hz / 1.98e9
    speed = min(1.0, case.burst_s / case.seconds)
    clock, speeds = np.array(SPEEDS).T
    return float(np.interp(speed, speeds, clock)) if tensor else speed


def fit(
    card: str, with_steps: bool, start: Mapping[str, float]
) -> tuple[Energies, list[tuple[str, float, float]], dict[str, float]]:
    """Fit the energies of a card.

    Returns them with (name, measured watts, fitted watts) of each case, and the fitted picojoules
    that start the fit of the next card.
    """
    rest_w, cases = read_cases(card)
    cases = [c for c in cases if c.name not in _LEFT_OUT and (with_steps or not c.step)]
    works = [work_of(case, card) for case in cases]
    names = list(PICOJOULES)
    amounts = np.array([[work.get(n, 0.0) for n in names] for work in works])
    tensor = np.array([name.startswith("tensor") for name in names])
    random = np.outer([not case.step for case in cases], tensor)
    seconds = np.array([case.seconds for case in cases])
    watts = np.array([case.watts for case in cases])
    at, volts = np.array(VOLTS).T
    clocks = np.array([clock_of(case) for case in cases])
    squared = np.interp(clocks, at, volts) ** 2
    scaled = np.where(np.array(names) == "dram_byte", 1.0, squared[:, None])

    def fitted_watts(logs: Floats) -> Floats:
        busy_w, joules = np.exp(logs[0]), np.exp(logs[1:-1]) * 1e-12
        toggling = 1 + (np.exp(logs[-1]) - 1) * random
        idle = IDLE_W + (rest_w - IDLE_W) * squared * clocks
        return idle + busy_w * squared + (amounts * toggling * scaled / seconds[:, None]) @ joules

    weight = np.array([_weight(case) for case in cases])
    free = () if with_steps else ("computing_s", RANDOM)
    begin = np.log([5.0, *(start[name] for name in (*names, RANDOM))])
    prior = np.array([0.03, *(1.0 if name in free else 0.03 for name in (*names, RANDOM))])

    def residuals(logs: Floats) -> Floats:
        return np.append(weight * np.log(fitted_watts(logs) / watts), prior * (logs - begin))

    solution = least_squares(residuals, begin, loss="soft_l1", f_scale=0.05).x
    joules = dict(zip((*names, RANDOM), (np.exp(solution[1:]) * 1e-12).tolist(), strict=True))
    limited = [case.watts for case in cases if case.limited]
    with gzip.open(MEASUREMENTS / card / "energy.jsonl.gz", "rt", encoding="utf-8") as file:
        machine = json.loads(file.readline())["machine"]
    by_dtype = {n.removeprefix("tensor_"): j for n, j in joules.items() if n.startswith("tensor_")}
    result = Energies(
        gpu=card,
        source="calibration/measurements: kernels alone and mixtures, 2 s each",
        clock_hz=machine["highest_clock_hz"],
        idle_w=IDLE_W,
        clocked_w=rest_w - IDLE_W,
        busy_w=float(np.exp(solution[0])),
        tensor_w=joules["computing_s"],
        tensor_j_per_flop={
            **by_dtype,
            "int8": by_dtype["fp8"],
            "fp64": 10 * by_dtype["tf32"],
        },
        vector_j_per_flop={"fp32": joules["vector_fp32"], "fp64": 2 * joules["vector_fp32"]},
        instruction_j=joules["instruction"],
        l2_j_per_byte=joules["l2_byte"],
        dram_j_per_byte=joules["dram_byte"],
        launch_j=joules["launch"],
        volts=VOLTS,
        speeds=SPEEDS,
        held=float(np.median(limited)) / machine["limit_w"],
        interval=INTERVAL,
    )
    fitted_w = fitted_watts(solution).tolist()
    rows = [(c.name, c.watts, w) for c, w in zip(cases, fitted_w, strict=True)]
    return result, rows, {name: j * 1e12 for name, j in joules.items()}


def main() -> None:
    """Fit all measured cards, the one with whole steps first."""
    cards = sorted(p.parent.name for p in MEASUREMENTS.glob("*/energy.jsonl.gz"))
    start: Mapping[str, float] = {**PICOJOULES, RANDOM: 1.0}
    for card in sorted(cards, key=lambda name: name != WITH_STEPS):
        energies, rows, picojoules = fit(card, card == WITH_STEPS, start)
        start = picojoules
        for name, measured_w, fitted_w in rows:
            off = fitted_w / measured_w - 1
            print(f"{name:45} {measured_w:6.0f} W measured, {fitted_w:6.0f} W fitted ({off:+.0%})")
        text = msgspec.json.format(msgspec.json.encode(energies), indent=1)
        (FOLDER / f"{card}.json").write_bytes(text + b"\n")
        print(
            picojoules[RANDOM],
            {k: getattr(energies, k) for k in energies.__struct_fields__ if k != "source"},
        )


if __name__ == "__main__":
    main()
