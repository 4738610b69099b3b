"""Formulas with current values: each is correct, each figure has one, and each named lesson
exists.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolTip

from app.answers.answer import Answer, batch_regimes, compute_answer
from app.explorer.window.explaining import Explanation
from app.explorer.window.verdict.bar import VerdictBar
from app.formulas.columns import COLUMN_FORMULAS
from app.formulas.formula import Formula, title_of
from app.formulas.launches import achieved, intensity, limit
from app.formulas.step import metrics
from app.lessons import packaged
from app.quantities import number, scaled
from app.scenes.launches import LaunchGroup, launch_groups
from app.scenes.op_table import groups
from app.theme import DARK
from app.views.ops.model import COLUMNS, OpModel
from app.widgets.drawing import application
from simulator.scenario.scenario import Scenario


@pytest.fixture(scope="module")
def answer() -> Answer:
    application()
    return compute_answer(Scenario("mlp-tiny"))


def launch(**changes: Any) -> LaunchGroup:
    group = LaunchGroup(
        "mm",
        "gemm",
        "up",
        "1×1×1",
        "bf16",
        ("up",),
        frozenset([0]),
        2,
        20e-6,
        0.5,
        3_100_000_000,
        12 * 2**20,
        "compute",
        "tensor",
        989.4e12,
        0.31,
        "bf16 tensor",
    )
    return replace(group, **changes)


def test_intensity_has_its_numbers_put_in(answer: Answer) -> None:
    h200 = answer.prediction
    assert h200.gpu.bandwidth_bytes_per_s == 4800e9
    # 3.1e9 / (12 · 1048576) = 246.4; the ridge is 989.4e12 / 4800e9 = 206.1
    assert intensity(launch(), h200).sum == "3.10 GFLOP / 12.0 MiB = 246 FLOP/byte"
    assert intensity(launch(), h200).means == (
        "Ridge = peak / bandwidth = 989 TFLOP/s / 4.80 TB/s = 206 FLOP/byte: "
        "at best, arithmetic is the limit."
    )
    assert "at best, memory is the limit" in intensity(launch(flops=10**9), h200).means
    # left of the ridge, but compute-bound: the card and the formula state the reason
    erf = launch(flops=10**9, engine="vector", roof="DRAM")
    assert limit(erf) == "by instructions: special functions take several"
    assert intensity(erf, h200).means.endswith(f"Predicted: compute-bound, {limit(erf)}.")
    assert "Predicted" not in intensity(launch(), h200).means
    assert limit(launch()) == "by arithmetic on the tensor unit"
    # two launches in 20 µs: 3.1e9 / 10e-6 = 310e12
    assert achieved(launch()).sum == "3.10 GFLOP / 10.0 µs = 310 TFLOP/s"
    assert achieved(launch(flops=0)).sum == "12.0 MiB / 10.0 µs = 1.26 TB/s"  # 12582912 / 10e-6


def test_the_sums_of_the_verdict_add_up(answer: Answer) -> None:
    by_name = {each.name: each for each in metrics(answer, None)}
    p, t = answer.prediction, answer.totals
    assert len(by_name) == 8
    parts = [float(part) for part in by_name["Regime"].sum.replace("<1", "0").split("%")[0:1]]
    assert parts[0] == round(100 * p.shares["compute"]) or p.shares["compute"] < 0.01
    assert by_name["Regime"].sum.endswith(f": {p.regime}-bound")
    batch = answer.subject.batch
    assert by_name["Throughput"].sum.startswith(f"{batch:,} / ")
    assert t.samples_per_s == pytest.approx(batch / p.period_s)
    assert by_name["Utilisation"].rule.startswith("FLOPs of the matrix products")
    need = p.peak_memory_bytes + p.workspace_bytes
    assert sum(p.memory.at_peak.values()) + p.workspace_bytes == need
    assert "It fits" in by_name["Memory"].means and "141 GiB" in by_name["Memory"].means
    assert p.power is not None and p.power.joules == pytest.approx(p.power.watts * p.period_s)
    assert f" = {number(p.power.watts)} W; " in by_name["Power"].sum
    assert "Within the limit of 700 W at 1,980 MHz" in by_name["Power"].means
    assert "100% of" not in by_name["Trust"].sum and by_name["Trust"].means


def test_the_shift_says_from_which_batch(answer: Answer) -> None:
    along = batch_regimes(answer.scenario, answer.subject.batch)
    assert along is not None
    regime_metric = metrics(answer, along)[5]
    for shift, word in ((along.below, "up to"), (along.shift, "from")):
        if shift is not None and shift.after is not None:
            assert f"{shift.after}-bound {word} {shift.first:,.0f}" in regime_metric.sum


def test_every_column_of_figures_has_one(answer: Answer) -> None:
    figures = {c.name for c in COLUMNS if c.values is not None} | {"Regime"}
    assert set(COLUMN_FORMULAS) == figures
    model = OpModel()
    model.show(groups(answer.prediction, "op"))
    role = Qt.ItemDataRole.ToolTipRole
    for n, column in enumerate(COLUMNS):
        tip = model.headerData(n, Qt.Orientation.Horizontal, role)
        assert tip.startswith(f"{column.name} = ") == (column.name in figures)
    g, formula = model.groups, model.formula([c.name for c in COLUMNS].index("FLOP/s"))
    assert g is not None and formula is not None
    row = int(model.order[0])
    rate = float(g.flops[row]) / float(g.total_s[row])
    assert formula.sum.endswith(f" = {scaled(rate, 'FLOP/s')}")


def test_every_lesson_that_is_named_is_there(answer: Answer) -> None:
    model = OpModel()
    model.show(groups(answer.prediction, "op"))
    heavy = launch_groups(answer.prediction)[0]
    every = [*metrics(answer, None), intensity(heavy, answer.prediction), achieved(heavy)]
    every += [f for n in range(len(COLUMNS)) if (f := model.formula(n)) is not None]
    titles = {lesson.name: lesson.title for lesson in packaged()}
    for formula in every:
        assert formula.name and formula.rule and formula.sum
        if formula.lesson:
            assert titles[formula.lesson] == title_of(formula.lesson)
            assert formula.text.endswith(f"F1: the lesson “{titles[formula.lesson]}”")


def test_a_text_has_no_empty_lines() -> None:
    assert Formula("A", "b / c", "1 / 2 = 0.5").text == "A = b / c\n= 1 / 2 = 0.5"


@pytest.fixture
def bar(answer: Answer) -> Iterator[VerdictBar]:
    bar = VerdictBar(DARK)
    bar.resize(1264, 92)
    bar.show_answer(answer)
    bar.show()
    yield bar
    bar.close()


def test_the_verdict_tells_the_figure_below_the_pointer(bar: VerdictBar) -> None:
    formulas = bar.formulas()
    for x, column in ((20, 0), (300, 1), (620, 3), (1100, 6), (1250, 7)):
        here = QPoint(x, 50)
        assert bar.formula(bar.mapToGlobal(here)) == formulas[column]
        QApplication.sendEvent(bar, QHelpEvent(QEvent.Type.ToolTip, here, bar.mapToGlobal(here)))
        assert QToolTip.text().endswith(formulas[column].text)


def test_keys_go_from_figure_to_figure(bar: VerdictBar) -> None:
    emitted: list[QPoint] = []
    bar.explained.connect(emitted.append)
    for _ in range(3):
        QTest.keyClick(bar, Qt.Key.Key_Right)
    assert bar.accessibleDescription() == bar.formulas()[2].text
    QTest.keyClick(bar, Qt.Key.Key_Return)
    assert bar.formula(emitted[0]) == bar.formulas()[2]
    bar.clearFocus()


def test_a_sheet_says_it_and_leads_to_its_lesson(bar: VerdictBar) -> None:
    clicks: list[bool] = []
    taught = QPushButton("Lesson")
    taught.clicked.connect(lambda: clicks.append(True))
    formula = bar.formulas()[3]
    sheet = Explanation(formula, taught, bar)
    texts = [label.text() for label in sheet.findChildren(QLabel)]
    summed = texts.pop(2)
    assert texts == [formula.name, f"= {formula.rule}", formula.means]
    assert summed.replace("\u00a0", " ") == f"= {formula.sum}"
    assert " µs" not in summed and "435\u00a0µs" in summed  # a number stays next to its unit
    words = [label for label in sheet.findChildren(QLabel) if label.text() != taught.text()]
    sheet.show()
    assert all(label.height() <= label.heightForWidth(label.width()) + 1 for label in words)
    sheet.hide()
    taught.click()
    assert clicks == [True]
