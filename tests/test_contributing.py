"""The diffs of docs/extend apply to this tree, and their additions work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "extend").glob("*.md"))
DIFFS = [
    diff
    for page in PAGES
    for diff in re.findall(r"```diff\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
]
SCREEN = 60  # lines
ADDED = """
from types import SimpleNamespace
from app.answers.advice_words import sentence
from app.answers.subject import Scenario, Subject, predict, subject
from app.charts.registry import prediction_charts
from app.drawing import TABULATED
from app.html.page import as_html
from app.lessons import lessons
from app.scenes.lessons.task import task_progress
from simulator.costs import COSTS, TRAITS
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.lowering.registry import RULES
from simulator.analysis.trials import TRIALS
from simulator.whatif import apply, parse, whatifs
from tests.simulator.costs.movement.test_copies import test_jagged_rows_are_padded
from tests.simulator.scenario.test_registry import (
    test_every_whatif_is_tried_or_left_out_with_a_reason as every_whatif_is_tried,
)
import sys

test_jagged_rows_are_padded()
every_whatif_is_tried()
print(COSTS["aten._jagged_to_padded_dense_forward.default"].__module__)
print(TRAITS["_jagged_to_padded_dense_forward"].slots)
print(RULES["fill"].__module__)
print(gpu("acme_a1").name, gpu("acme_a1").unsourced)
print(host("my-host").cpu)
(trial,) = (each for each in TRIALS if each.text == "+units=1.5")
tried = apply(Scenario("mlp-tiny"), *parse(trial.text))
print(sentence(SimpleNamespace(scenario=tried)))
found, refused = lessons()
(lesson,) = (each for each in found if each.title == "Half the bytes")
solved = lesson.task.solution
reached = task_progress(lesson, solved, predict(solved, subject(solved))).reached
print(reached, refused)

asked = Scenario("mlp-tiny")
prediction = predict(asked, subject(asked))
(chart,) = (each for each in prediction_charts() if each.title == "Kernel families")
drawing = chart.draw(prediction, 600, chart.height, TABULATED)
print([spot.key for spot in drawing.spots])
print("Kernel families" in as_html(prediction, subject(asked), ""))
print([name for name in sys.modules if name.startswith("PySide6")])

from pathlib import Path
from app.answers.side import Side
from app.theme import DARK
from app.views.catalogue import VIEWS
from app.widgets.drawing import application
from app.widgets.drawn import write_png

application()
write_png(drawing, DARK, Path("families.png"))
(offered,) = (each for each in VIEWS if each.title == "Kernel families")
view = offered.kind()(DARK)
view.resize(600, 300)
view.draw((Side("A", "Today", asked, prediction),), 0)
print(view.rows()[0], view.grab().width())
"""


def apply(diff: str, root: Path, *options: str) -> None:
    done = subprocess.run(
        ["git", "apply", *options, "-"], cwd=root, input=diff, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("diff", DIFFS, ids=lambda diff: diff.split()[3])
def test_a_diff_applies(diff: str) -> None:
    apply(diff, ROOT, "--check")


def test_there_is_one_for_each_kind_of_extension() -> None:
    assert len(DIFFS) == len(PAGES) == 7
    guide = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert all(f"(docs/extend/{page.name})" in guide for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_fits_on_a_screen(page: Path) -> None:
    assert len(page.read_text("utf-8").splitlines()) <= SCREEN


def test_the_changed_tree_has_what_the_diffs_add(tmp_path: Path) -> None:
    for folder in ("app", "simulator", "tests"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for diff in DIFFS:
        apply(diff, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", ADDED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "simulator.costs.movement.slices",
        "4",
        "simulator.lowering.fills",
        "Acme A1 ()",
        "AMD EPYC, 32 cores; Python 3.12, torch 2.11",
        "Use 1.5 times the SMs.",
        "True ()",
        "['gemm', 'pointwise', 'fill']",
        "True",
        "[]",
        "['Kernel families'] 600",
    ]
    assert (tmp_path / "families.png").stat().st_size > 1000
