"""The conclusion of a comparison, in sentences."""

from app.answers.side import Side
from app.report.comparisons.conclusion import conclusion
from simulator.analysis.compare import waterfall
from simulator.scenario.scenario import Scenario, predict


def side(letter: str, scenario: Scenario) -> Side:
    return Side(letter, letter, scenario, predict(scenario))


A = side("A", Scenario("bert-base", batch=64, seq=128, dtype="bf16"))


def test_the_steps_that_repay_compiling_are_stated():
    b = side("B", Scenario("bert-base", batch=64, seq=128, dtype="bf16", mode="compiled"))
    saved_s = A.prediction.period_s - b.prediction.period_s
    steps = float(f"{60 / saved_s:.2g}")
    sentences = conclusion(A, b)
    assert sentences[-1] == (
        "torch.compile also takes compile time once, which is not predicted: each minute of it "
        f"pays off after {steps:,.0f} steps."
    )
    assert sentences[0].startswith("B is ") and " times faster than A: " in sentences[0]


def test_the_largest_of_several_changes_is_named():
    scenario = Scenario("bert-base", gpu="l4", batch=64, seq=128, dtype="bf16", mode="cuda_graph")
    b = side("B", scenario)
    fall = waterfall(A.scenario, b.scenario, predict, (A.prediction, b.prediction))
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
