"""Exports of the current prediction, read back."""

import csv
import json
import re
from pathlib import Path

import pytest

from app.answers.answer import Answer, compute_answer
from app.explorer.files import exporting
from app.explorer.files.exporting import FORMS
from simulator.scenario.scenario import Scenario


@pytest.fixture(scope="module")
def answer() -> Answer:
    return compute_answer(Scenario("mlp-tiny"))


def test_each_form_reads_back(answer: Answer, tmp_path: Path) -> None:
    p = answer.prediction
    for form in FORMS:
        (tmp_path / f"{form.name}{form.suffix}").write_text(
            form.text(answer, lambda: False), "utf-8", newline=""
        )
    assert "ridgepoint predict mlp-tiny" in (tmp_path / "Report.html").read_text("utf-8")
    timeline = json.loads((tmp_path / "Timeline for Perfetto.json").read_text("utf-8"))
    assert sum(e.get("ph") == "X" for e in timeline["traceEvents"]) >= p.kernel_count
    document = json.loads((tmp_path / "Prediction.json").read_text("utf-8"))
    assert document["period_s"] == p.period_s
    with (tmp_path / "Kernels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(float(row["duration_s"]) for row in rows) == pytest.approx(p.gpu_busy_s)


def test_a_report_of_a_compiled_step_has_sliders_as_on_the_command_line() -> None:
    compiled = compute_answer(Scenario("mlp-tiny", mode="compiled"))
    text = FORMS[0].text(compiled, lambda: False)
    assert text.count('type="range"') == 1  # an MLP has a batch, and no sequence
    assert len(text) < 3_000_000 and not re.search(r"(?:src|href)=.?https?:", text)


def test_a_cancelled_report_ends_between_its_points() -> None:
    bert = compute_answer(Scenario("bert-base"))
    calls = 0

    def cancelled() -> bool:
        nonlocal calls
        calls += 1
        return calls > 20

    with pytest.raises(exporting._StoppedError):
        FORMS[0].text(bert, cancelled)
    assert calls == 21  # for more than 300 points
