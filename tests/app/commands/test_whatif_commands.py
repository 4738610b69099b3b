"""The commands of what-ifs: tables, JSON and CSV that agree, and errors in words."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.answers.goals import per_s, time_s
from app.commands.options import whatif_words
from app.quantities import seconds, signed_seconds
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario, load
from simulator.scenario.scenario import predict as answer
from simulator.whatif import whatifs

Run = Callable[..., Any]


def shown(result: Any) -> str:
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    return result.stdout


def data(run: Run, *arguments: object) -> Any:
    result = run(*arguments, "--json", "-")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def rows(run: Run, *arguments: object) -> list[dict[str, str]]:
    result = run(*arguments, "--csv", "-")
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_every_whatif_is_listed_with_its_controls(run: Run) -> None:
    text = shown(run("whatifs"))
    for each in whatifs():
        assert f"  {each.usage}" in text
    assert "times: 0.1 to 10 ×, logarithmic; default 2" in " ".join(text.split())
    found = data(run, "whatifs")
    assert [w["name"] for w in found["whatifs"]] == [w.name for w in whatifs()]
    (one,) = data(run, "whatifs", "+bandwidth")["whatifs"]
    assert (one["group"], one["controls"][0]["high"]) == ("hardware", 10)


WHATIF = ("whatif", "mlp-tiny", "+cuda_graph", "+precision=fp16")


def test_a_whatif_is_each_alone_and_all_together(run: Run) -> None:
    found = data(run, *WHATIF)
    before, after = found["before"], found["after"]
    assert before["period_s"] == answer(Scenario("mlp-tiny")).period_s
    changes = [step["change_s"] for step in found["steps"]]
    assert sum(changes) == pytest.approx(after["period_s"] - before["period_s"])
    assert found["total_s"] == pytest.approx(sum(changes))
    assert [s["change"] for s in found["steps"]] == ["+cuda_graph", "+precision=fp16"]
    alone = data(run, "whatif", "mlp-tiny", "+precision=fp16")
    assert found["steps"][1]["alone_s"] == pytest.approx(alone["total_s"])
    assert after["scenario"]["whatifs"] == ["+cuda_graph", "+precision=fp16"]


def test_the_table_says_what_the_document_says(run: Run) -> None:
    text, found = shown(run(*WHATIF)), data(run, *WHATIF)
    for step in found["steps"]:
        (line,) = [each for each in text.splitlines() if each.startswith(step["change"])]
        assert signed_seconds(step["change_s"]) in line and seconds(step["period_s"]) in line
    assert f"{seconds(found['before']['period_s'])} → " in " ".join(text.split())
    listed = rows(run, *WHATIF)
    assert [float(r["change_s"]) for r in listed] == [s["change_s"] for s in found["steps"]]
    assert listed[0]["change"] == "'+cuda_graph"  # no spreadsheet takes it for a formula


def test_a_change_of_nothing_is_said(run: Run) -> None:
    text = shown(run("whatif", "mlp-tiny", "+bandwidth=1", "+cuda_graph"))
    assert "+bandwidth=1 has no effect here" in text


def test_the_whatifs_of_a_file_count_as_changes(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    run(*WHATIF, "--save-scenario", path)
    assert [a.name for a in load(path).whatifs] == ["cuda_graph", "precision"]
    assert data(run, "whatif", "--scenario", path)["steps"] == data(run, *WHATIF)["steps"]
    more = data(run, "whatif", "--scenario", path, "+batch=64")
    assert [s["change"] for s in more["steps"]] == ["+batch=64"]


def test_batches_compare_by_sample(run: Run) -> None:
    assert "per sample" in shown(run("whatif", "mlp-tiny", "+batch=64"))
    assert "per sample" not in shown(run("whatif", "mlp-tiny", "+cuda_graph"))


def test_a_comparison(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    run("predict", "mlp-tiny", "+cuda_graph", "--save-scenario", path)
    arguments = ("compare", "mlp-tiny", path, "--with", "+cuda_graph +precision=fp16")
    found = data(run, *arguments)
    assert [s["letter"] for s in found["scenarios"]] == ["A", "B", "C"]
    first = found["scenarios"][0]["period_s"]
    for fall, other in zip(found["waterfalls"], found["scenarios"][1:], strict=True):
        total = sum(step["change_s"] for step in fall["steps"])
        assert first + total == pytest.approx(other["period_s"])
    text = shown(run(*arguments))
    assert "From A to B: " in text and "From A to C: " in text
    assert {r["to"] for r in rows(run, *arguments)} == {"B", "C"}
    words = data(run, "compare", "mlp-tiny", "mlp-tiny", "+cuda_graph", "--batch", 4)
    assert [s["scenario"]["batch"] for s in words["scenarios"]] == [4, 4]
    assert words["scenarios"][1]["name"] == "mlp-tiny +cuda_graph"


def test_a_sweep_of_numbers(run: Run) -> None:
    arguments = ("sweep", "mlp-tiny", "--over", "batch=1:65536", "--with", "+cuda_graph")
    found = data(run, *arguments)
    assert list(found["variants"]) == ["as asked", "+cuda_graph"]
    for row in found["variants"]["as asked"]:
        same = answer(Scenario("mlp-tiny", batch=row["batch"]))
        assert row["regime"] == same.regime
        assert row["period_s"] == pytest.approx(same.period_s, rel=1e-12)  # summed in arrays
        assert row["compute"] + row["memory"] + row["overhead"] == pytest.approx(1)
    text = " ".join(shown(run(*arguments)).split())
    for shift in found["shifts"]:
        assert shift["sentence"] in text
        assert answer(Scenario("mlp-tiny", batch=int(shift["last"]))).regime == shift["before"]
        assert answer(Scenario("mlp-tiny", batch=int(shift["first"]))).regime == shift["after"]
    assert found["shifts"], "a tiny network leaves overhead before batch 65536"
    assert len(rows(run, *arguments)) == 2 * len(found["values"])


def test_a_sweep_of_choices_and_of_sizes(run: Run) -> None:
    found = data(run, "sweep", "mlp-tiny", "--over", "gpu=h200,l4")
    assert [r["gpu"] for r in found["variants"]["as asked"]] == ["h200", "l4"]
    assert found["shifts"] == []
    wide = data(run, "sweep", "mlp-tiny", "--over", "width=64,128")["variants"]["as asked"]
    assert wide[0]["peak_memory_bytes"] < wide[1]["peak_memory_bytes"]


def test_points_without_an_answer_say_why(run: Run) -> None:
    arguments = ("sweep", "mlp-tiny", "--over", "precision=fp16,tf32", "--gpu", "t4")
    row = data(run, *arguments)["variants"]["as asked"][1]
    assert row["period_s"] is None and "has no TF32" in row["refused"]
    assert "no answer: precision: " in " ".join(shown(run(*arguments)).split())


def test_a_map(run: Run) -> None:
    arguments = ("map", "mlp-tiny", "--x", "batch=1,65536", "--y", "gpu=h200,t4,l4")
    found = data(run, *arguments)
    assert (len(found["ys"]), len(found["xs"])) == (3, 2)
    assert found["period_s"][1][0] == answer(Scenario("mlp-tiny", gpu="t4", batch=1)).period_s
    for y, row in enumerate(found["regime"]):
        for x, regime in enumerate(row):
            shares = {r: found["shares"][r][y][x] for r in found["shares"]}
            assert sum(shares.values()) == pytest.approx(1)
            assert regime == max(shares, key=lambda r: shares[r])
    assert len(rows(run, *arguments)) == 6
    text = shown(run(*arguments))
    assert seconds(found["period_s"][2][1], 2) in text


def test_advice_is_what_a_whatif_gives(run: Run) -> None:
    found = data(run, "advise", "mlp-tiny")
    gains = [a["gain"] for a in found["advice"]]
    assert gains == sorted(gains, reverse=True) and gains[0] > 0
    graph = next(a for a in found["advice"] if a["whatif"] == "+cuda_graph")
    assert graph["command"] == "ridgepoint whatif mlp-tiny +cuda_graph"
    words = graph["command"].split()[1:]
    assert data(run, *words)["after"]["period_s"] == graph["period_s"]
    text = shown(run("advise", "mlp-tiny", "--refused"))
    assert "Does not apply" in text and "+cuda_graph" in text
    priced = ("advise", "mlp-tiny", "--by", "money", "--price", "4", "--price", "t4=0.4")
    cards = [a for a in data(run, *priced)["advice"] if a["whatif"].startswith("+gpu")]
    assert [a["whatif"] for a in cards] == ["+gpu=t4"]
    assert "USD per million" in shown(run(*priced)) and "$" in shown(run(*priced))
    assert len(rows(run, "advise", "mlp-tiny")) == len(gains)


@pytest.mark.parametrize("columns", [60, 100])
def test_every_cause_of_advice_is_there_word_for_word(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    found = data(run, "advise", "mlp-tiny", "--train")
    result = run("advise", "mlp-tiny", "--train", "--top", "99")
    assert result.exit_code == 0 and "…" not in result.stdout
    said = " ".join(result.stdout.split())
    for advice in found["advice"]:
        assert advice["cause"] in said and advice["warning"] in said


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
    within, rate, flip = data(run, *arguments)["answers"]
    assert within["latency_s"] <= 2e-3 and within["beyond"] == within["value"] + 1
    smaller = answer(Scenario("mlp-tiny", gpu="t4", batch=max(1, int(rate["value"]) - 1)))
    assert rate["value"] / rate["period_s"] >= 50e3 > smaller.trace.samples / smaller.period_s
    assert flip["goal"] == "flip" and (flip["regime"] or flip["reason"])
    assert "every answer is verified" in shown(run(*arguments))
    assert rate["retraced"] is None and flip["retraced"] is None
    assert len(rows(run, *arguments)) == 3


def test_the_least_fusion_for_a_speedup(run: Run) -> None:
    (found,) = data(run, "seek", "mlp-tiny", "--fusion", "1x")["answers"]
    assert (found["goal"], found["value"], found["wanted"]) == ("fusion", 0, 1)
    assert found["command"] == "ridgepoint whatif mlp-tiny"  # no fusion is what it has
    assert "Lowest fusion level for 1×" in shown(run("seek", "mlp-tiny", "--fusion", "1x"))
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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["whatif", "mlp-tiny"], "no what-ifs: expected some after the network, such as "
         "+cuda_graph or +precision=fp16; `ridgepoint whatifs` lists them"),
        (["whatif", "mlp-tiny", "+bandwidth=0"],
         "bandwidth: times is 0: expected 0.1 to 10; choose one within"),
        (["whatif", "mlp-tiny", "+fp8", "--gpu", "a100"], "fp8: A100 SXM4 80GB has no float8 "
         "tensor cores: expected a GPU that has them (Ada, Hopper or later); choose another GPU, "
         "or precision=fp16"),
        (["whatifs", "bandwith"],
         "unknown what-if 'bandwith': did you mean 'bandwidth' or 'l2_bandwidth'?"),
        (["compare", "mlp-tiny"],
         '1 scenario: expected 2 to 4: files, networks, or --with "+cuda_graph"; add some'),
        (["compare", *["mlp-tiny"] * 5],
         '5 scenarios: expected 2 to 4: files, networks, or --with "+cuda_graph"; remove some'),
        (["compare", "+cuda_graph"],
         "+cuda_graph comes first: expected a network or a scenario file before it; add one"),
        (["compare", "--with", "+cuda_graph"],
         "--with without a scenario: expected one to vary; name a network or a file"),
        (["compare", "mlp-tiny", "--with", "cuda_graph"],
         "--with 'cuda_graph': 'cuda_graph' has no +: expected what-ifs, such as \"+cuda_graph\""),
        (["compare", "mlp-tiny", "nope.toml"],
         "cannot read the scenario nope.toml: No such file or directory"),
        (["sweep", "mlp-tiny", "--over", "batch=0"], "axis 'batch=0': 0: expected 1 to "
         "2.14748e+09; choose a value in this range"),
        (["map", "mlp-tiny", "--x", "batch", "--y", "batch=1"],
         "a map of batch by batch: expected two axes; choose another"),
        (["seek", "mlp-tiny", "--latency", "soon"],
         "--latency 'soon': expected a time above 0, such as 20ms or 0.5s"),
        (["seek", "mlp-tiny", "--latency", "5"],
         "--latency '5' has no unit: expected a time such as 20ms or 0.5s; write 5ms or 5s"),
        (["seek", "mlp-tiny", "--latency", "0"],
         "--latency '0': expected a time above 0, such as 20ms or 0.5s"),
        (["seek", "mlp-tiny", "--throughput", "-3"],
         "--throughput '-3': expected samples per second above 0, such as 5000 or 5k"),
        (["seek", "mlp-tiny", "--save-scenario", "x.toml"], "--save-scenario with 4 goals: "
         "expected one, whose answer is saved; name one"),
        (["advise", "mlp-tiny", "--price", "a100=-1"],
         "--price 'a100=-1': expected USD per hour above 0, such as 2.5 or a100=1.8"),
        (["advise", "mlp-tiny", "--by", "money"],
         "advice by money: H200 SXM 141GB has no price: expected USD an hour; give it with "
         "--price, or as price_usd in a GPU file of your own, or ask by time"),
        (["advise", "mlp-tiny", "--png", "-"],
         "--png -: a picture needs a file: expected a file name; add one"),
        (["advise", "mlp-tiny", "--png", "a.svg"],
         "--png a.svg: ends in .svg: expected .png; use --svg, or rename it"),
    ],
)  # fmt: skip
def test_errors_end_with_one_message(run: Run, arguments: list[str], text: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stderr == f"error: {text}\n" and result.stdout == ""


def test_a_single_goal_without_an_answer_is_an_error(run: Run) -> None:
    result = run("seek", "mlp-tiny", "--latency", "1ns")
    assert result.exit_code == 2 and result.stderr.startswith("error: batch 1 misses the goal")


def test_a_quote_that_is_not_closed() -> None:
    with pytest.raises(InputError, match="No closing quotation: expected what-ifs; close the"):
        whatif_words("+size='x")


def test_what_is_computed_again_is_set_against_what_is_not_carried(run: Run) -> None:
    network = (
        "whatif",
        "llama3-1b",
        "--train",
        "--seq",
        64,
        "--dtype",
        "bf16",
        "--size",
        "layers=2",
        "--optimizer",
        "none",
    )
    found = data(run, *network, "+recompute=mincut")
    trade = found["trade"]
    assert trade["flops_added"] == found["after"]["flops"] - found["before"]["flops"] > 0
    assert trade["carried_before_bytes"] > trade["carried_after_bytes"]
    text = " ".join(shown(run(*network, "+recompute=mincut")).split())
    assert "Recomputation for memory: " in text and "less to carry into the backward pass" in text
    assert data(run, *network, "+cuda_graph")["trade"] is None
