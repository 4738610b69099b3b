"""The commands `advise` and `seek`: their tables, JSON and CSV agree."""

from pathlib import Path

import pytest

from app.answers.sweeps.goals import per_s, time_s
from simulator.scenario.scenario import Scenario, load
from simulator.scenario.scenario import predict as answer
from tests.app.conftest import Run, csv_rows, document, stdout, table


def test_advice_equals_the_what_if(run: Run) -> None:
    parsed = document(run, "advise", "mlp-tiny")
    gains = [a["gain"] for a in parsed["advice"]]
    assert gains == sorted(gains, reverse=True) and gains[0] > 0
    graph = next(a for a in parsed["advice"] if a["whatif"] == "+cuda_graph")
    assert graph["command"] == "ridgepoint whatif mlp-tiny +cuda_graph"
    words = graph["command"].split()[1:]
    assert document(run, *words)["after"]["period_s"] == graph["period_s"]
    text = table(run("advise", "mlp-tiny", "--refused"))
    assert "Does not apply" in text and "+cuda_graph" in text
    priced = ("advise", "mlp-tiny", "--by", "money", "--price", "4", "--price", "t4=0.4")
    cards = [a for a in document(run, *priced)["advice"] if a["whatif"].startswith("+gpu")]
    # the card alone, and the card with code changes
    assert {a["whatif"].split()[0] for a in cards} == {"+gpu=t4"}
    assert "+gpu=t4" in {a["whatif"] for a in cards}
    assert "USD per million" in table(run(*priced)) and "$" in table(run(*priced))
    assert len(csv_rows(run, "advise", "mlp-tiny")) == len(gains)


@pytest.mark.parametrize("columns", [60, 100])
def test_every_cause_of_advice_is_there_word_for_word(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    parsed = document(run, "advise", "mlp-tiny", "--train")
    result = run("advise", "mlp-tiny", "--train", "--top", "99")
    assert result.exit_code == 0 and "…" not in result.stdout
    text = " ".join(result.stdout.split())
    for advice in parsed["advice"]:
        assert advice["cause"] in text and advice["warning"] in text


def test_advice_to_use_software_that_was_not_calibrated(run: Run, tmp_path: Path) -> None:
    arguments = ("advise", "bert-base", "--batch", 64, "--seq", 512, "--dtype", "bf16")
    picture = tmp_path / "advice.svg"
    stdout(run(*arguments, "--svg", picture))
    text = " ".join(stdout(run(*arguments)).split())
    words = "ROCm was not calibrated, and the 80% interval contains the time on H200 SXM 141GB"
    assert text.count(words) == 1
    parsed = document(run, *arguments)["advice"]
    assert {a["whatif"]: a["caution"] for a in parsed if a["caution"]} == {"+gpu=mi300x": words}
    assert [r["whatif"] for r in csv_rows(run, *arguments) if r["caution"]] == ["'+gpu=mi300x"]
    assert "ROCm was not calibrated" in picture.read_text("utf-8")


def test_goals(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "out.toml"
    one = run("seek", "mlp-tiny", "--out-of-overhead", "--save-scenario", path)
    assert one.exit_code == 0, one.output
    assert answer(load(path)).regime != "overhead"
    arguments = (
        "seek",
        "mlp-tiny",
        "--gpu",
        "t4",
        "--latency",
        "2ms",
        "--throughput",
        "50k",
        "--flip",
        "host_speed",
    )
    within, rate, flip = document(run, *arguments)["answers"]
    assert within["latency_s"] <= 2e-3 and within["beyond"] == within["value"] + 1
    smaller = answer(Scenario("mlp-tiny", gpu="t4", batch=max(1, int(rate["value"]) - 1)))
    assert rate["value"] / rate["period_s"] >= 50e3 > smaller.trace.samples / smaller.period_s
    assert flip["goal"] == "flip" and (flip["regime"] or flip["reason"])
    assert "every answer is verified" in table(run(*arguments))
    assert rate["retraced"] is None and flip["retraced"] is None
    assert len(csv_rows(run, *arguments)) == 3


def test_the_least_fusion_for_a_speedup(run: Run) -> None:
    (answer,) = document(run, "seek", "mlp-tiny", "--fusion", "1x")["answers"]
    assert (answer["goal"], answer["value"], answer["wanted"]) == ("fusion", 0, 1)
    assert answer["command"] == "ridgepoint whatif mlp-tiny"  # the step has no fusion
    assert "Lowest fusion level for 1×" in table(run("seek", "mlp-tiny", "--fusion", "1x"))
    none = run("seek", "mlp-tiny", "--fusion", "1ns")
    assert none.exit_code == 2
    assert none.stderr.startswith("error: no level of fusion reaches the goal, a step within 1e-09")
    wrong = run("seek", "mlp-tiny", "--fusion", "fast")
    assert wrong.stderr == (
        "error: --fusion 'fast': expected a time above 0, such as 20ms, or a factor such as 1.5x\n"
    )


def test_figures_of_goals() -> None:
    assert [time_s(t) for t in ("20ms", "0.5s", "2e-2 s", "3 us")] == [0.02, 0.5, 0.02, 3e-6]
    assert [per_s(t) for t in ("5000", "5k", "1.5M")] == [5000, 5000, 1.5e6]


def test_a_single_goal_without_an_answer_is_an_error(run: Run) -> None:
    result = run("seek", "mlp-tiny", "--latency", "1ns")
    assert result.exit_code == 2 and result.stderr.startswith("error: batch 1 misses the goal")
