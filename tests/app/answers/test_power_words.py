"""The words for power, energy and the clock, in the report, the page and the formulas."""

from dataclasses import replace

import numpy as np
import pytest

from app.answers.answer import compute_answer
from app.answers.power import energy_sentence, power_sentence
from app.answers.subject import Subject
from app.formulas.step import power
from app.html.page import verdict_contents
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario
from simulator.timing.kernel_times import NO_SLOWDOWN
from simulator.timing.power import Power, SettledClock

SETTLED = SettledClock(np.array([1.0]), NO_SLOWDOWN)
LIMITED = Power(690.9, 15.4, (14.5, 17.7), 1.833e9, 1.98e9, 700.0, SETTLED)
LOWER = Power(493.4, 13.2, (12.4, 15.2), 1.411e9, 1.98e9, 500.0, SETTLED)
ABOVE = Power(92.4, 3.99, (2.6, 6.0), 0.306e9, 2.04e9, 72.0, SETTLED)
FREE = Power(432.1, 0.0076, (0.007, 0.008), 1.98e9, 1.98e9, 700.0, SETTLED)


@pytest.mark.parametrize(
    ("drawn", "words"),
    [
        (LIMITED, "691 W at its limit of 700 W, 1,833 of 1,980 MHz"),
        (LOWER, "493 W at its limit of 500 W, 1,411 of 1,980 MHz"),
        (ABOVE, "92.4 W above its limit of 72.0 W at the lowest clock, 306 of 2,040 MHz"),
        (FREE, "432 W of 700 W, at 1,980 MHz"),
    ],
)
def test_the_limit_itself_is_stated(
    tiny_prediction: Prediction, tiny: Subject, drawn: Power, words: str
) -> None:
    p = replace(tiny_prediction, power=drawn)
    assert power_sentence(p) == words
    facts = {name: (figure, below) for name, figure, below in verdict_contents(p, tiny)["facts"]}
    figure, _, below = words.partition(" W ")
    assert facts["power"] == (f"{figure} W", below)


def test_an_unknown_power(tiny_prediction: Prediction) -> None:
    p = replace(tiny_prediction, power=None)
    assert power_sentence(p) == "unknown: no power data for H200 SXM 141GB"
    assert energy_sentence(p) == "unknown"


def test_the_formula_of_a_limited_step() -> None:
    answer = compute_answer(Scenario("mlp-tiny"))
    limited = replace(answer, prediction=replace(answer.prediction, power=LIMITED))
    assert power(limited).means == (
        "The limit of 700 W holds the clock at 1,833 of 1,980 MHz, where the mean power settles "
        "just below it: compute-bound kernels slow down, memory-bound kernels hardly do."
    )


def test_the_formula_of_a_step_above_its_limit() -> None:
    answer = compute_answer(Scenario("mlp-tiny"))
    above = replace(answer, prediction=replace(answer.prediction, power=ABOVE))
    assert power(above).means == (
        "Above the limit of 72.0 W even at the lowest clock, 306 of 2,040 MHz."
    )
