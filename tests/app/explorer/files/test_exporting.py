"""Exports of the current prediction, read back."""

import csv
import json
from pathlib import Path

import pytest

from app.answers.answer import Answer, compute_answer
from app.explorer.files.exporting import FORMS, export
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario


@pytest.fixture(scope="module")
def answer() -> Answer:
    return compute_answer(Scenario("mlp-tiny"))


def test_each_form_reads_back(answer: Answer, tmp_path: Path) -> None:
    p = answer.prediction
    for form in FORMS:
        export(form, answer, tmp_path / f"{form.name}{form.suffix}")
    assert "ridgepoint predict mlp-tiny" in (tmp_path / "Report.html").read_text("utf-8")
    timeline = json.loads((tmp_path / "Timeline for Perfetto.json").read_text("utf-8"))
    assert sum(e.get("ph") == "X" for e in timeline["traceEvents"]) >= p.kernel_count
    document = json.loads((tmp_path / "Prediction.json").read_text("utf-8"))
    assert document["period_s"] == p.period_s
    with (tmp_path / "Kernels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(float(row["duration_s"]) for row in rows) == pytest.approx(p.gpu_busy_s)


def test_a_path_that_is_not_writable_is_reported(answer: Answer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Export report .*gone.*: cannot write: No such"):
        export(FORMS[0], answer, tmp_path / "gone" / "r.html")
