"""Actions of the window: lessons, exports, explanations, copied commands and closing."""

import time
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QLabel,
    QPushButton,
    QToolButton,
)

from app.commands.options import Dtype, Mode, Optimizer, question
from app.examples import FIRST
from app.explorer.files.exporting import FORMS
from app.explorer.state.session_file import load
from app.explorer.window.cancelling import cancel
from app.explorer.window.dialogs.leaving import Leaving
from app.explorer.window.window import Window
from app.views.lessons.view import Lessons
from simulator.planning.spec_file import read as read_plan
from simulator.scenario.scenario import Scenario
from simulator.scenario.scenario import load as load_scenario
from simulator.scenario.text.command import as_command
from simulator.whatif import apply
from tests.app.explorer.waiting import wait
from tests.app.explorer.window.front import in_view


def test_a_lesson_adds_a_scenario_in_one_undo_step(window: Window):
    offered = next(o for o in window.panels.panels if o.workspace == "Lessons")
    window.session.show("Lessons")
    window.session.history.clear()
    changed = replace(FIRST, mode="cuda_graph")
    window.panels.view(offered).scenario_requested.emit(changed)
    state = window.session.state
    assert [side.scenario for side in state.sides] == [FIRST, changed]
    assert state.current == 1 and state.workspace == "Explore"
    assert window.session.history.count() == 1
    wait(window.worker)
    for _ in range(5):
        QCoreApplication.processEvents()
        time.sleep(0.01)
    wait(window.worker)
    assert not any(panel.veil.dims for panel in in_view(window))
    window.session.history.undo()
    assert window.session.state.workspace == "Lessons" and len(window.session.state.sides) == 1
    window.session.show("Explore")
    wait(window.worker)


def test_an_export_says_where_the_file_is(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "p.json"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    window.export(next(form for form in FORMS if form.name == "Prediction"))
    wait(window.worker)
    assert path.is_file() and window.banner.isVisible()
    assert window.banner.label.text() == f"Wrote {path}"
    offered = next(iter(window.panels.panels))
    window.panels._export(offered, "csv")
    assert window.banner.label.text() == f"Wrote {path.with_suffix('.csv')}"
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url) or False)
    button = window.banner.offers.itemAt(0).widget()
    assert isinstance(button, QToolButton) and button.text() == "Open"
    button.click()
    assert [url.toLocalFile() for url in opened] == [str(path.with_suffix(".csv"))]
    assert window.banner.label.text().startswith(f"No program opens {path.with_suffix('.csv')}")
    window.session.rename(0, "Another name")
    assert not window.banner.isVisible()


def test_a_key_of_the_window_works_while_a_formula_stands_there(
    window: Window, monkeypatch: pytest.MonkeyPatch
):
    emitted: list[bool] = []
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: emitted.append(True) or ("", ""))
    sheet = window.explaining.show(window.verdict.formulas()[0], window.pos())
    QTest.keyClick(sheet, Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier)
    assert emitted == [True] and not sheet.isVisible()


@pytest.mark.parametrize("scenario", [
    FIRST,
    Scenario("gpt2", gpu="l40s", training=True, optimizer="sgd", mode="cuda_graph"),
    apply(apply(Scenario("vit-b16", sizes={"depth": 6}), "bandwidth", {"times": 2.0}), "no_python"),
])  # fmt: skip
def test_a_copied_command_predicts_the_same(scenario: Scenario):
    words = as_command(scenario).split()
    assert words[:2] == ["ridgepoint", "predict"]
    options: dict[str, object] = {"network": words[2], "whatifs": [], "size": []}
    rest = iter(words[3:])
    for word in rest:
        if word.startswith("+"):
            options["whatifs"].append(word)  # pyright: ignore
        elif word in ("--train", "--no-train"):
            options["train"] = word == "--train"
        elif word == "--size":
            options["size"].append(next(rest))  # pyright: ignore
        else:
            name, value = word.removeprefix("--"), next(rest)
            options[name] = int(value) if value.isdecimal() else value
    for name, kind in (("dtype", Dtype), ("mode", Mode), ("optimizer", Optimizer)):
        if name in options:
            options[name] = kind(options[name])
    assert question(**options).scenario.key == scenario.key  # pyright: ignore


def test_a_lesson_opens_its_scenario_in_explore(window: Window):
    window.session.show("Lessons")
    view = next(v for v in window.panels.views.values() if isinstance(v, Lessons))
    scenario = Scenario("bert-base", batch=8, seq=128, dtype="bf16")
    view.scenario_requested.emit(scenario)
    state = window.session.state
    assert (state.workspace, state.scenario) == ("Explore", scenario)


def test_a_figure_leads_to_the_lesson_that_teaches_it(window: Window):
    formula = window.verdict.formulas()[3]
    sheet = window.explaining.show(formula, window.mapToGlobal(window.rect().bottomRight()))
    assert window.frameGeometry().contains(sheet.frameGeometry())
    sheet.findChildren(QPushButton)[0].click()
    assert window.session.state.workspace == "Lessons"
    view = next(v for v in window.panels.views.values() if isinstance(v, Lessons))
    assert view.lesson is not None and view.lesson.name == formula.lesson


def test_closing_asks_about_unsaved_changes(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    closed: list[bool] = []
    monkeypatch.setattr(window, "close", lambda: closed.append(True))
    window.files.save(tmp_path / "one")
    window.leave()
    assert closed == [True]  # nothing is lost
    window.session.set_scenario(replace(FIRST, batch=8), "batch 8")
    window.leave()
    (dialog,) = window.findChildren(Leaving)
    assert [b.text() for b in dialog.findChildren(QPushButton)] == [
        "Cancel",
        "Close without saving",
        "Save and close",
    ]
    assert "one.ridge" in dialog.findChildren(QLabel)[0].text()
    dialog.cancel.click()
    assert closed == [True] and window.files.edited
    window.leave()
    window.findChildren(Leaving)[-1].save.click()
    assert closed == [True, True] and not window.files.edited
    assert load(tmp_path / "one.ridge")[0].scenario.batch == 8
    for left in window.findChildren(Leaving):
        left.deleteLater()


def test_a_cancelled_lesson_continues_when_it_is_shown_again(window: Window):
    window.session.show("Lessons")
    offered = next(each for each in window.panels.panels if each.workspace == "Lessons")
    view = window.panels.view(offered)
    assert isinstance(view, Lessons)
    wait(window.worker)
    view.turn_to(1)
    assert window.worker.busy()
    cancel(window)
    assert window.panels.panels[offered].subtitle.accessibleName() == (
        "cancelled; leave the page and come back to continue"
    )
    assert view.page.reveal.waiting == "Cancelled; leave the page and come back to continue"
    wait(window.worker)
    assert view.attempt is None
    window.session.show("Explore")
    window.session.show("Lessons")
    wait(window.worker)
    assert view.attempt is not None


def test_a_page_without_the_verdict_does_not_explain_it(window: Window):
    window.session.show("Lessons")
    window.explaining.open(QPoint(-1000, -1000))
    assert QApplication.activePopupWidget() is None
    assert window.banner.label.text() == (
        "No figure here has a formula: point at a figure, or go to a page with the verdict"
    )


def test_copy_link_copies_the_scenario_or_the_plan(window: Window):
    action = next(a for a in window.actions() if a.text() == "Copy link")
    action.trigger()
    copied = QGuiApplication.clipboard().text()
    assert load_scenario(copied) == window.session.state.scenario
    assert window.banner.label.text() == (
        f"Copied the link of the scenario, {len(copied)} characters; File → Open link … opens it"
    )
    # copying would replace the link in the clipboard with this sentence
    assert window.banner.copying.isHidden()
    window.session.show("Plan")
    action.trigger()
    assert read_plan(QGuiApplication.clipboard().text()) == read_plan(
        tomllib.loads(window.pages.plan.text)
    )
    window.session.show("Explore")


def test_the_error_of_a_file_goes_with_the_next_change(window: Window, tmp_path: Path):
    odd = tmp_path / "odd.xyz"
    odd.write_text("no session", "utf-8")
    for path, wrong in ((odd, "odd.xyz"), (tmp_path / "empty.json", "has no GPU kernels")):
        if not path.exists():
            path.write_text('{"traceEvents": []}', "utf-8")
        window.opening.open([path])
        wait(window.worker)
        assert wrong in window.banner.label.text() and not window.banner.isHidden()
        window.session.set_scenario(replace(FIRST, batch=len(wrong)), "another batch")
        assert window.banner.isHidden()
