"""Power, energy and the clock of scenarios side by side."""

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from rich.console import Console

from app.report.comparisons.power_rows import power_rows
from app.report.comparisons.sides import sides
from simulator.prediction import Prediction
from simulator.timing.kernel_times import NO_SLOWDOWN
from simulator.timing.power import Power, SettledClock
from tests.app.conftest import Run, document, table

SETTLED = SettledClock(np.array([1.0]), NO_SLOWDOWN)
AT_700 = Power(690.9, 15.4, (14.5, 17.7), 1.833e9, 1.98e9, 700.0, SETTLED)
AT_500 = Power(493.4, 13.2, (12.4, 15.2), 1.411e9, 1.98e9, 500.0, SETTLED)


def test_a_lower_limit(tiny_prediction: Prediction) -> None:
    both = [replace(tiny_prediction, power=power) for power in (AT_700, AT_500)]
    assert power_rows(both, roomy=True) == [
        ("power", ["691 W", "493 W"], None),
        ("power limit", ["700 W", "500 W"], None),
        ("energy a step", ["15.4 J", "13.2 J"], [15.4, 13.2]),
        ("clock", ["1,833 of 1,980 MHz", "1,411 of 1,980 MHz"], None),
    ]
    assert power_rows(both, roomy=False)[3] == ("clock", ["1,833 MHz", "1,411 MHz"], None)


def test_figures_that_do_not_differ_have_no_row(tiny_prediction: Prediction) -> None:
    p = replace(tiny_prediction, power=AT_700)
    assert power_rows([p, p], roomy=True) == []
    less = replace(tiny_prediction, power=replace(AT_700, joules=7.7))
    assert power_rows([p, less], True) == [("energy a step", ["15.4 J", "7.70 J"], [15.4, 7.7])]


def test_a_limit_above_the_power_leaves_every_figure_equal(tiny_prediction: Prediction) -> None:
    limits = (AT_500, replace(AT_500, limit_w=600.0))
    both = [replace(tiny_prediction, power=power) for power in limits]
    assert power_rows(both, roomy=False) == [
        ("power", ["493 W", "493 W"], None),
        ("power limit", ["500 W", "600 W"], None),
        ("energy a step", ["13.2 J", "13.2 J"], [13.2, 13.2]),
        ("clock", ["1,411 MHz", "1,411 MHz"], None),
    ]


def test_a_card_of_unknown_power(tiny_prediction: Prediction) -> None:
    known, unknown = (replace(tiny_prediction, power=power) for power in (AT_700, None))
    assert power_rows([known, unknown], roomy=True) == [
        ("power", ["691 W", "unknown"], None),
        ("energy a step", ["15.4 J", "unknown"], None),
        ("clock", ["1,833 of 1,980 MHz", "unknown"], None),
    ]
    assert power_rows([unknown, unknown], roomy=True) == []


def test_batches_compare_by_sample(tiny_prediction: Prediction) -> None:
    trace = tiny_prediction.trace
    one, other = (
        replace(tiny_prediction, power=power, trace=msgspec.structs.replace(trace, samples=samples))
        for power, samples in ((AT_700, 64), (AT_500, 40))
    )
    assert power_rows([one, other], roomy=True)[3] == (
        "energy a sample",
        ["241 mJ", "330 mJ"],  # 15.4 / 64 and 13.2 / 40
        [15.4 / 64, 13.2 / 40],
    )


def test_the_table_shows_the_change_of_the_energy(tiny_prediction: Prediction) -> None:
    both = [replace(tiny_prediction, power=power) for power in (AT_700, AT_500)]
    console = Console(width=100, record=True, file=None)
    with console.capture() as shown:
        console.print(sides(("before", "after"), both, changes=True))
    rows = {line[:15].strip(): line[15:].split() for line in shown.get().splitlines()}
    assert rows["energy a step"] == ["15.4", "J", "13.2", "J", "−14%"]
    assert rows["power"] == ["691", "W", "493", "W"]


def test_a_what_if_and_a_comparison_show_power(run: Run) -> None:
    arguments = ("bert-base", "--batch", 64, "--dtype", "bf16")
    printed = table(run("whatif", *arguments, "+power_limit=400"))
    assert "\npower " in printed and "\nenergy a step " in printed and "\nclock " in printed
    parsed = document(run, "whatif", *arguments, "+power_limit=400")
    powers: list[dict[str, Any]] = [parsed[side]["power"] for side in ("before", "after")]
    assert [power["limit_w"] for power in powers] == [700, 400]
    assert powers[1]["watts"] < 400 < powers[0]["watts"]
    printed = table(run("compare", *arguments, "--with", "+power_limit=400", "--with", "+batch=32"))
    assert "\nenergy a sample " in printed
    for side in document(run, "compare", *arguments, "--with", "+power_limit=400")["scenarios"]:
        assert {"watts", "joules", "joules_per_sample", "clock_hz"} <= side["power"].keys()
