"""The conclusion of a comparison, in sentences."""

from dataclasses import replace

import pytest

from app.answers.side import Side
from app.report.comparisons.conclusion import conclusion
from simulator.analysis.compare import Waterfall, waterfall
from simulator.scenario.scenario import Scenario, predict


def side(letter: str, scenario: Scenario) -> Side:
    return Side(letter, letter, scenario, predict(scenario))


def fall_to(b: Side) -> Waterfall:
    return waterfall(A.scenario, b.scenario, predict, (A.prediction, b.prediction))


A = side("A", Scenario("bert-base", batch=64, seq=128, dtype="bf16"))


def test_the_steps_that_repay_compiling_are_stated():
    b = side("B", Scenario("bert-base", batch=64, seq=128, dtype="bf16", mode="compiled"))
    saved_s = A.prediction.period_s - b.prediction.period_s
    steps = float(f"{60 / saved_s:.2g}")
    sentences = conclusion(A, b, fall_to(b))
    assert sentences[-1] == (
        "torch.compile also takes compile time once, which is not predicted: each minute of it "
        f"pays off after {steps:,.0f} steps."
    )
    assert sentences[0].startswith("B is ") and " times faster than A: " in sentences[0]


def test_the_largest_of_several_changes_is_named():
    scenario = Scenario("bert-base", gpu="l4", batch=64, seq=128, dtype="bf16", mode="cuda_graph")
    b = side("B", scenario)
    fall = fall_to(b)
    sentences = conclusion(A, b, fall)
    assert " times slower than A: " in sentences[0]
    assert sentences[1].startswith("The largest part comes from gpu h200 → l4 (+")
    assert not any("torch.compile" in text for text in sentences)


def test_equal_scenarios():
    b = side("B", A.scenario)
    assert conclusion(A, b) == (
        f"B is as fast as A: {b.prediction.period_s * 1e3:.2f} ms a step.",
        "Both are compute-bound.",
    )


def test_a_scenario_that_does_not_fit():
    b = side("B", Scenario("bert-base", gpu="l4", batch=100_000, seq=128, dtype="bf16"))
    sentences = conclusion(A, b)
    assert "B does not fit in the memory of L4." in sentences
    assert " a sample instead of " in sentences[0]


def test_the_compiler_is_repaid_by_what_it_saves_alone():
    """Regression: savings of other changes counted as those of torch.compile."""
    scenario = Scenario("bert-base", gpu="b200", batch=64, seq=128, dtype="bf16", mode="compiled")
    b = side("B", scenario)
    fall = fall_to(b)
    assert [(s.label, s.switches_compiler) for s in fall.steps] == [
        ("gpu h200 → b200", False),
        ("mode eager → compiled", True),
    ]
    alone = predict(Scenario("bert-base", batch=64, seq=128, dtype="bf16", mode="compiled"))
    steps = float(f"{60 / (A.prediction.period_s - alone.period_s):.2g}")
    assert conclusion(A, b, fall)[-1].endswith(
        f": each minute of it pays off after {steps:,.0f} steps of A."
    )
    assert conclusion(A, b)[-1] == (
        "torch.compile also takes compile time once, which is not predicted."
    )


def test_the_largest_part_is_per_sample_if_the_scenarios_are_compared_per_sample():
    """Regression: "B is 3.20 times faster", followed by a change that makes the step slower."""
    small = side("A", Scenario("bert-base", batch=1, seq=128, dtype="bf16"))
    b = side("B", Scenario("bert-base", gpu="l4", batch=64, seq=128, dtype="bf16"))
    fall = waterfall(small.scenario, b.scenario, predict, (small.prediction, b.prediction))
    batch, gpu = fall.steps
    assert (batch.label, gpu.label) == ("batch 1 → 64", "gpu h200 → l4")
    assert batch.change_s > 0 > batch.sample_change_s and gpu.sample_change_s > 0
    total_s = b.prediction.period_s / 64 - small.prediction.period_s
    assert batch.sample_change_s + gpu.sample_change_s == pytest.approx(total_s, rel=1e-12)
    first, largest = conclusion(small, b, fall)[:2]
    saved_s = small.prediction.period_s - predict(replace(A.scenario, batch=64)).period_s / 64
    assert " times faster than A: " in first and " a sample instead of " in first
    assert largest == (
        f"The largest part comes from batch 1 → 64 (−{1e3 * saved_s:.2f} ms a sample)."
    )


def test_a_change_against_the_direction_is_never_the_largest_part():
    b = side("B", replace(A.scenario, gpu="b200", dtype="fp32"))
    fall = fall_to(b)
    slower = b.prediction.period_s > A.prediction.period_s
    sentence = conclusion(A, b, fall)[1]
    assert slower and sentence.startswith("The largest part comes from dtype bf16 → fp32 (+")
