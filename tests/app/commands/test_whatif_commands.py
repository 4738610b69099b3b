"""The commands of what-ifs: their tables, JSON and CSV agree."""

from pathlib import Path

import pytest

from app.quantities import seconds, signed_seconds
from simulator.scenario.scenario import Scenario, load
from simulator.scenario.scenario import predict as answer
from simulator.whatif import whatifs
from tests.app.conftest import Run, csv_rows, document, table


def test_every_whatif_is_listed_with_its_controls(run: Run) -> None:
    text = table(run("whatifs"))
    for each in whatifs():
        assert f"  {each.usage}" in text
    assert "times: 0.1 to 10 ×, logarithmic; default 2" in " ".join(text.split())
    parsed = document(run, "whatifs")
    assert [w["name"] for w in parsed["whatifs"]] == [w.name for w in whatifs()]
    (one,) = document(run, "whatifs", "+bandwidth")["whatifs"]
    assert (one["group"], one["controls"][0]["high"]) == ("hardware", 10)


WHATIF = ("whatif", "mlp-tiny", "+cuda_graph", "+precision=fp16")


def test_a_whatif_is_each_alone_and_all_together(run: Run) -> None:
    parsed = document(run, *WHATIF)
    before, after = parsed["before"], parsed["after"]
    assert before["period_s"] == answer(Scenario("mlp-tiny")).period_s
    changes = [step["change_s"] for step in parsed["steps"]]
    assert sum(changes) == pytest.approx(after["period_s"] - before["period_s"])
    assert parsed["total_s"] == pytest.approx(sum(changes))
    assert [s["change"] for s in parsed["steps"]] == ["+cuda_graph", "+precision=fp16"]
    alone = document(run, "whatif", "mlp-tiny", "+precision=fp16")
    assert parsed["steps"][1]["alone_s"] == pytest.approx(alone["total_s"])
    assert after["scenario"]["whatifs"] == ["+cuda_graph", "+precision=fp16"]


def test_the_table_agrees_with_the_document(run: Run) -> None:
    text, written = table(run(*WHATIF)), document(run, *WHATIF)
    for step in written["steps"]:
        (line,) = [each for each in text.splitlines() if each.startswith(step["change"])]
        assert signed_seconds(step["change_s"]) in line and seconds(step["period_s"]) in line
    assert f"{seconds(written['before']['period_s'])} → " in " ".join(text.split())
    listed = csv_rows(run, *WHATIF)
    assert [float(r["change_s"]) for r in listed] == [s["change_s"] for s in written["steps"]]
    # the apostrophe keeps spreadsheets from reading it as a formula
    assert listed[0]["change"] == "'+cuda_graph"


def test_a_change_without_effect_is_reported(run: Run) -> None:
    text = table(run("whatif", "mlp-tiny", "+bandwidth=1", "+cuda_graph"))
    assert "+bandwidth=1 has no effect here" in text


def test_the_whatifs_of_a_file_count_as_changes(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    run(*WHATIF, "--save-scenario", path)
    assert [a.name for a in load(path).whatifs] == ["cuda_graph", "precision"]
    assert document(run, "whatif", "--scenario", path)["steps"] == document(run, *WHATIF)["steps"]
    more = document(run, "whatif", "--scenario", path, "+batch=64")
    assert [s["change"] for s in more["steps"]] == ["+batch=64"]


def test_batches_compare_by_sample(run: Run) -> None:
    assert "per sample" in table(run("whatif", "mlp-tiny", "+batch=64"))
    assert "per sample" not in table(run("whatif", "mlp-tiny", "+cuda_graph"))


def test_a_comparison(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    run("predict", "mlp-tiny", "+cuda_graph", "--save-scenario", path)
    arguments = ("compare", "mlp-tiny", path, "--with", "+cuda_graph +precision=fp16")
    parsed = document(run, *arguments)
    assert [s["letter"] for s in parsed["scenarios"]] == ["A", "B", "C"]
    first = parsed["scenarios"][0]["period_s"]
    for fall, other in zip(parsed["waterfalls"], parsed["scenarios"][1:], strict=True):
        total = sum(step["change_s"] for step in fall["steps"])
        assert first + total == pytest.approx(other["period_s"])
    text = table(run(*arguments))
    assert "From A to B: " in text and "From A to C: " in text
    assert {r["to"] for r in csv_rows(run, *arguments)} == {"B", "C"}
    words = document(run, "compare", "mlp-tiny", "mlp-tiny", "+cuda_graph", "--batch", 4)
    assert [s["scenario"]["batch"] for s in words["scenarios"]] == [4, 4]
    assert words["scenarios"][1]["name"] == "mlp-tiny +cuda_graph"


def test_a_sweep_of_numbers(run: Run) -> None:
    arguments = ("sweep", "mlp-tiny", "--over", "batch=1:65536", "--with", "+cuda_graph")
    parsed = document(run, *arguments)
    assert list(parsed["variants"]) == ["baseline", "+cuda_graph"]
    for row in parsed["variants"]["baseline"]:
        same = answer(Scenario("mlp-tiny", batch=row["batch"]))
        assert row["regime"] == same.regime
        # sums over arrays may be rounded differently
        assert row["period_s"] == pytest.approx(same.period_s, rel=1e-12)
        assert row["compute"] + row["memory"] + row["overhead"] == pytest.approx(1)
    text = " ".join(table(run(*arguments)).split())
    for shift in parsed["shifts"]:
        assert shift["sentence"] in text
        assert answer(Scenario("mlp-tiny", batch=int(shift["last"]))).regime == shift["before"]
        assert answer(Scenario("mlp-tiny", batch=int(shift["first"]))).regime == shift["after"]
    assert parsed["shifts"], "a tiny network leaves overhead before batch 65536"
    assert len(csv_rows(run, *arguments)) == 2 * len(parsed["values"])


def test_a_sweep_of_choices_and_of_sizes(run: Run) -> None:
    parsed = document(run, "sweep", "mlp-tiny", "--over", "gpu=h200,l4")
    assert [r["gpu"] for r in parsed["variants"]["baseline"]] == ["h200", "l4"]
    assert parsed["shifts"] == []
    wide = document(run, "sweep", "mlp-tiny", "--over", "width=64,128")["variants"]["baseline"]
    assert wide[0]["peak_memory_bytes"] < wide[1]["peak_memory_bytes"]


def test_points_without_an_answer_say_why(run: Run) -> None:
    arguments = ("sweep", "mlp-tiny", "--over", "precision=fp16,tf32", "--gpu", "t4")
    row = document(run, *arguments)["variants"]["baseline"][1]
    assert row["period_s"] is None and "has no TF32" in row["refused"]
    assert "no answer: precision: " in " ".join(table(run(*arguments)).split())


def test_a_map(run: Run) -> None:
    arguments = ("map", "mlp-tiny", "--x", "batch=1,65536", "--y", "gpu=h200,t4,l4")
    parsed = document(run, *arguments)
    assert (len(parsed["ys"]), len(parsed["xs"])) == (3, 2)
    assert parsed["period_s"][1][0] == answer(Scenario("mlp-tiny", gpu="t4", batch=1)).period_s
    for y, row in enumerate(parsed["regime"]):
        for x, regime in enumerate(row):
            shares = {r: parsed["shares"][r][y][x] for r in parsed["shares"]}
            assert sum(shares.values()) == pytest.approx(1)
            assert regime == max(shares, key=lambda r: shares[r])
    assert len(csv_rows(run, *arguments)) == 6
    text = table(run(*arguments))
    assert seconds(parsed["period_s"][2][1], 2) in text


def test_recomputation_is_compared_with_the_saved_memory(run: Run) -> None:
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
    parsed = document(run, *network, "+recompute=mincut")
    trade = parsed["trade"]
    assert trade["flops_added"] == parsed["after"]["flops"] - parsed["before"]["flops"] > 0
    assert trade["carried_before_bytes"] > trade["carried_after_bytes"]
    text = " ".join(table(run(*network, "+recompute=mincut")).split())
    assert "Recomputation for memory: " in text and "less for the backward pass" in text
    assert document(run, *network, "+cuda_graph")["trade"] is None
