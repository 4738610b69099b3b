"""The model of power against the measured power of an H200 and an H100."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import mean, median

import numpy as np
import pytest
import torch
from torch import nn

from calibration.cases.energy.kernels import cosines_of
from calibration.fit.energy_cases import ROWS
from calibration.fit.voltage import CLOCKS, measured, voltages
from calibration.measure import energy
from calibration.measure.instruments.nvml import COLUMNS, FakeMeter
from calibration.record.read import MEASUREMENTS
from calibration.record.sustained import EnergyCase, coolness, kernel_cases, read_cases
from calibration.record.sustained_windows import windows
from simulator import predict_trace, trace
from simulator.hardware.gpu import gpu
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict
from simulator.timing.energies import energies

CARDS = sorted(path.parent.name for path in MEASUREMENTS.glob("*/energy.jsonl.gz"))
STEPS = [(card, case) for card in CARDS for case in read_cases(card) if case.step]


@cache
def predicted(card: str, name: str) -> Prediction:
    """The prediction of a whole step."""
    step = named(card, name).step
    assert step is not None
    return predict(
        Scenario(
            network=step["network"],
            batch=step["batch"],
            optimizer=step["optimizer"],
            sizes=step["sizes"],
            seq=step["seq"] or None,
            dtype=step["precision"],
            gpu=card,
            training=step["phase"] == "training",
        )
    )


def named(card: str, name: str) -> EnergyCase:
    return next(case for case in read_cases(card) if case.name == name)


def test_both_cards_were_measured() -> None:
    assert CARDS == ["h100_sxm", "h200_sxm"]
    assert len(STEPS) == 8


@pytest.mark.parametrize(("card", "case"), STEPS, ids=lambda x: getattr(x, "name", x))
def test_a_step_takes_the_energy_that_was_measured(card: str, case: EnergyCase) -> None:
    """Seconds, joules and clock of the steps that were measured first, without those of the
    H100.
    """
    p = predicted(card, case.name)
    assert p.joules is not None and p.power is not None
    joules = case.seconds * case.watts
    assert p.joules == pytest.approx(joules, rel=0.12)
    assert p.period_s == pytest.approx(case.seconds, rel=0.07)
    assert p.power_limited == case.limited
    assert p.power.clock_hz == pytest.approx(case.clock_hz, rel=0.13)


def test_the_median_error_of_the_energy_of_steps() -> None:
    off = []
    for card, case in STEPS:
        joules = predicted(card, case.name).joules
        assert joules is not None
        off.append(abs(joules / (case.seconds * case.watts) - 1))
    assert median(off) < 0.05


class Loop(nn.Module):
    """Calls a function twenty times."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return [self.function(x) for _ in range(20)][-1]


KERNELS = [(card, case) for card in CARDS for case in kernel_cases(card) if case.name in ROWS]


def test_every_file_of_kernels_is_read() -> None:
    """Twelve kernels on rows of an H200, eight of them measured again, and nine of an H100."""
    names = [(card, case.name) for card, case in KERNELS]
    assert {name for card, name in names if card == "h200_sxm"} == set(ROWS)
    assert names.count(("h200_sxm", "cosine/fp32")) == 2
    assert [len([n for n in names if n[0] == card]) for card in CARDS] == [9, 20]


@pytest.mark.parametrize(
    ("card", "name"), sorted({(card, case.name) for card, case in KERNELS}), ids=str
)
def test_the_limit_slows_the_kernels_that_it_slowed(card: str, name: str) -> None:
    """The power of sustained kernels (the mean of two cards if both were measured), and whether the
    limit lowers their clock. Kernels within 2% of the limit are not checked, because they are
    limited only part of the time."""
    cases = [case for at, case in KERNELS if (at, case.name) == (card, name)]
    function, matrix = ROWS[name]
    p = predict_trace(trace(Loop(function), (matrix,)), gpu=card, mode="cuda_graph")
    assert p.power is not None
    assert p.power.watts == pytest.approx(mean(case.watts for case in cases), rel=0.1)
    if all(case.limited for case in cases):
        assert p.power.watts > 0.92 * p.power.limit_w
    elif max(case.watts for case in cases) < 0.98 * p.power.limit_w:
        assert not p.power_limited and p.power.clock_hz == cases[0].clock_hz


class Cosines(nn.Module):
    """The cosine of the cosine …, `count` times."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return cosines_of(x, self.count)


COSINES = [(card, c) for card in CARDS for c in kernel_cases(card) if c.name.startswith("cosines/")]


@pytest.mark.parametrize(("card", "case"), COSINES, ids=lambda x: getattr(x, "name", x))
def test_fused_cosines_draw_the_measured_power(card: str, case: EnergyCase) -> None:
    """The kernels range from one that waits for DRAM to one that computes. Where the power limit
    acts, the clock that it allows is compared too: 1,687 MHz for two cosines on the H200, 1,835 MHz
    on the H100."""
    count = int(case.name.removeprefix("cosines/"))
    x = torch.empty(2**26, device="meta")
    p = predict_trace(trace(Cosines(count), (x,)), gpu=card, mode="compiled")
    assert p.power is not None
    assert p.power.watts == pytest.approx(case.watts, rel=0.04)
    if case.limited:
        assert p.power.clock_hz == pytest.approx(case.clock_hz, rel=0.03)
        assert p.power_limited


def test_within_a_kernel_the_power_falls_with_the_clock_and_its_time_does_not() -> None:
    """Two fused cosines on the H100 wait for DRAM: 180 µs at 1,980 MHz and 767 W, before the limit
    acts, and 1% more at 1,500 MHz and 584 W.
    """
    every_window = [w for w in windows("h100_sxm", "energy_further") if w.kernel[2] == "cosines/2"]
    fast = [w for w in every_window if w.clock_hz == 1.98e9]
    slow = [w for w in every_window if 1.49e9 < w.clock_hz < 1.52e9]
    assert len(fast) > 5 and len(slow) > 0
    assert median(w.joules / w.seconds for w in fast) == pytest.approx(765, abs=5)
    assert median(w.joules / w.seconds for w in slow) == pytest.approx(584, abs=5)
    assert max(w.seconds for w in slow) < 1.02 * min(w.seconds for w in fast)


def test_the_voltage_is_that_of_kernels_compared_with_themselves_at_other_clocks() -> None:
    known = energies(gpu("h200_sxm"))
    assert known is not None
    volts = np.sqrt(known.voltage.squared(np.array(CLOCKS)))
    assert voltages(measured(), known) == pytest.approx(volts, abs=0.01)


def test_dram_does_not_warm_the_sensor_of_the_chip() -> None:
    """ReLUs at 4.3 TB/s and eight fused cosines draw the same 620 W: 48 and 59 °C. Neither
    temperature shows whether the card is cool or warm.
    """
    file = "energy_further_2"
    relu, cosines = (
        next(c for c in read_cases("h200_sxm", file) if c.name == name)
        for name in ("relu/fp32", "cosines/8")
    )
    assert cosines.watts == pytest.approx(relu.watts, rel=0.02)
    assert cosines.celsius > relu.celsius + 10
    assert coolness(cosines) == pytest.approx(coolness(relu), abs=0.02)


def test_zeros_draw_less_than_random_numbers() -> None:
    """The reason for random operands: zeros took 1.40 ms and 403 W, random numbers 1.64 ms and 689
    W.
    """
    random, zeros = (
        named("h200_sxm", f"product/bf16/8192x8192x8192{data}") for data in ("", "/zeros")
    )
    assert zeros.seconds < 0.88 * random.seconds and zeros.watts < 0.6 * random.watts


def test_a_limited_product_is_slower_after_its_first_hundredths_of_a_second() -> None:
    for card in CARDS:
        product = named(card, "product/bf16/8192x8192x8192")
        assert product.limited and 1.15 < product.seconds / product.burst_s < 1.25
        light = named(card, "pause")
        assert not light.limited and light.seconds == pytest.approx(light.burst_s, rel=0.01)


def test_the_script_runs_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.freeze()  # the script collects garbage: leave out the objects of other tests
    file = tmp_path / "energy.jsonl"
    chosen = [c for c in energy.CASES if c.name in ("copy/8MiB", "chain/exponentials")]
    monkeypatch.setattr(energy, "CASES", chosen)
    monkeypatch.setattr(sys, "argv", ["energy", str(file), "--seconds", "60", "--dry"])
    energy.main()
    first, rest, copied, failed, last = map(json.loads, file.read_text().splitlines())
    assert tuple(first["columns"]) == COLUMNS and first["machine"]["limit_w"] == 700.0
    assert rest["name"] == "rest" and last == {"ended": "all"}
    assert copied["sustained_s"] > 0 and copied["work"]["launches"] == 1
    assert "Jiterator" in failed["failed"]


def test_power_is_the_slope_of_the_energy_counter() -> None:
    rows = [(t, 300.0 * t, None, None, None, None, None) for t in np.linspace(10, 12, 50).tolist()]
    assert energy.power_w(rows, 10.5, 12) == pytest.approx(300.0)
    assert energy.power_w(rows[:3], 10, 12) is None
    assert FakeMeter().limits()["limit_w"] == 700.0
    # 30 iterations between 1 s and 2.5 s: 0.05 s per iteration
    marks = [(0.0, 0), (1.0, 10), (2.0, 30), (2.5, 40)]
    assert energy.per_iteration_s(marks, 0.5, 3.0) == pytest.approx(0.05)
