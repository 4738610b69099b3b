"""The explorer's window, without a screen: what it shows, and that every change can be undone."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QElapsedTimer, QEvent, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QApplication,
    QComboBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMenuBar,
    QPushButton,
    QScrollBar,
    QWidget,
)

from app.answers.as_command import as_command
from app.commands.option_types import Dtype, Mode, Optimizer
from app.commands.options import question
from app.examples import FIRST
from app.explorer.background.worker import Worker
from app.explorer.docks.panel import Panel, export
from app.explorer.files.exporting import FORMS
from app.explorer.state.session import Named, Session, State
from app.explorer.state.session_file import load
from app.explorer.window.leaving import Leaving
from app.explorer.window.verdict import GRACE_MS
from app.explorer.window.window import Window
from app.quantities import data
from app.views.lessons.view import Lessons
from app.views.memory import MemoryCanvas, MemoryView
from app.views.regime_map.view import RegimeMap
from app.views.sweep.view import Sweep
from app.views.timeline.view import Timeline
from app.widgets.canvas import Canvas
from app.widgets.drawing import application
from app.widgets.paint import Paint
from app.widgets.view import View
from simulator.modes import MODES
from simulator.scenario import trace_source
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply
from tests.app.explorer.waiting import wait


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory):
    patch = pytest.MonkeyPatch()
    patch.setenv("RIDGEPOINT_TRACES", str(tmp_path_factory.mktemp("traces")))
    patch.setenv("RIDGEPOINT_STATE", str(tmp_path_factory.mktemp("state")))
    running = application()
    made = Window(Session(State((Named("Today", FIRST),))), Worker())
    made.resize(1280, 800)
    made.show()
    made.beside[1].hide()  # no advice is looked for where nobody sees it
    wait(made.worker)
    yield made
    made.close()
    made.worker.close()
    trace_source.trace_elsewhere(False)
    trace_source.forget()
    patch.undo()
    del running


@pytest.fixture(autouse=True)
def _as_opened(window: Window):
    yield
    window.session.opened(State((Named("Today", FIRST),)))
    wait(window.worker)


def in_front(window: Window) -> Iterator[View]:
    """Each view in turn, before the others: those behind a tab are not drawn."""
    for offered, panel in window.panels.panels.items():
        window.session.show(offered.workspace)
        panel.raise_()
        for _ in range(5):
            QCoreApplication.processEvents()
            time.sleep(0.01)
        wait(window.worker)
        view = panel.inside
        assert isinstance(view, View) and view.title == offered.title
        assert view.workspace == offered.workspace and isinstance(view, offered.kind())
        yield view


def in_view(window: Window) -> list[Panel]:
    """The panels in front; those behind a tab are visible to Qt too."""
    found = [
        panel
        for panel in window.panels.panels.values()
        if panel.isVisible() and not panel.visibleRegion().isEmpty()
    ]
    assert found
    return found


def test_what_is_shown_is_what_the_simulator_says(window: Window):
    shown = window.verdict.answer
    assert shown is not None and not window.verdict.stale
    assert shown.scenario == FIRST
    assert shown.prediction.period_s == predict(FIRST).period_s
    assert shown.prediction.shares == predict(FIRST).shares
    said = window.verdict.accessibleDescription()
    assert "bert-base, batch 64 × 128, bf16" in said and "80%" in said
    empty = {view.title for view in in_front(window) if len(view.rows()) < 2}
    assert empty <= {"Measured", "From A to B"}  # nothing is measured, nothing to compare with


def test_a_slider_moves_the_prediction_and_undo_brings_it_back(window: Window):
    before = window.verdict.answer
    for batch in (65, 80, 128):
        window.inspector.batch.slider.setValue(batch)
    window.inspector.batch.slider.sliderReleased.emit()
    wait(window.worker)
    after = window.verdict.answer
    assert after is not None and after.scenario == replace(FIRST, batch=128)
    assert after.prediction.period_s == predict(replace(FIRST, batch=128)).period_s
    assert window.session.history.count() == 1
    window.session.history.undo()
    wait(window.worker)
    assert window.verdict.answer == before
    assert window.inspector.batch.slider.value() == 64
    assert window.inspector.batch.box.text() == "64"


def test_what_has_not_caught_up_is_dimmed_at_once(window: Window, monkeypatch: pytest.MonkeyPatch):
    verdict, status = window.verdict, window.status
    seen = [panel for panel in window.panels.panels.values() if panel.inside is not None]
    veils = [panel.veil for panel in seen if panel.inside.follows]  # pyright: ignore
    before = verdict.grab().toImage()
    assert veils and not any(panel.veil.isVisible() for panel in in_view(window))
    with monkeypatch.context() as held:
        held.setattr(window.worker, "ask", lambda *_, **__: None)  # no answer comes
        window.session.ask(replace(FIRST, gpu="v100_sxm2_16"), "another GPU")
        assert verdict.stale
        clock = QElapsedTimer()
        clock.start()
        while clock.elapsed() < 2 * GRACE_MS:
            QCoreApplication.processEvents()
        assert not any(veil.isHidden() for veil in veils)
        for label in (status.counted, status.sources, window.head.asked):
            assert not label.isEnabled()
        assert all(not panel.subtitle.isEnabled() for panel in seen if panel.inside.follows)  # pyright: ignore
        assert window.inspector.advice.found is None
        assert window.inspector.batch.slider.shift is None
        assert verdict.answer is not None and verdict.answer.scenario == FIRST
        lit = [
            max(image.pixelColor(x, 21).lightness() for x in range(image.width()))
            for image in (before, verdict.grab().toImage())
        ]
        assert lit[1] < 0.8 * lit[0]
    window.session.history.undo()
    wait(window.worker)
    assert not verdict.stale and status.counted.isEnabled() and window.head.asked.isEnabled()
    assert not any(panel.veil.isVisible() for panel in in_view(window))


def test_a_shift_along_the_batch_is_of_the_scenario_or_dimmed(
    window: Window, monkeypatch: pytest.MonkeyPatch
):
    verdict = window.verdict
    window.answering._look_along()
    wait(window.worker)
    assert verdict.along is not None and verdict.searched_for is verdict.answer
    assert any("from" in f.sum or "up to" in f.sum for f in verdict.formulas())
    monkeypatch.setattr(window.answering, "_look_along", lambda: None)
    window.session.ask(replace(FIRST, mode="cuda_graph"), "another mode")
    assert not window.worker.busy("along")
    wait(window.worker)
    assert verdict.answer is not None and verdict.answer.scenario.mode == "cuda_graph"
    assert not verdict.stale and verdict.searched_for is not verdict.answer
    told: list[tuple[object, float]] = []

    def figure(paint: Paint, x: float, wide: float, answer: object) -> None:
        told.append((answer, paint.painter.opacity()))

    monkeypatch.setattr("app.explorer.window.verdict.figures", lambda *_: (figure,) * 8)
    verdict.grab()
    assert [opacity for _, opacity in told] == [1.0] * 5 + [pytest.approx(0.6), 1.0, 1.0]
    assert told[5][0] is verdict.searched_for and told[0][0] is verdict.answer


def test_memory_and_shifts_are_the_same_figures_everywhere(window: Window):
    window.answering._look_along()
    sweep = memory = regime_map = None
    for view in in_front(window):
        sweep = view if isinstance(view, Sweep) else sweep
        memory = view if isinstance(view, MemoryView) else memory
        regime_map = view if isinstance(view, RegimeMap) else regime_map
    answer, along = window.verdict.answer, window.verdict.along
    assert answer is not None and along is not None and sweep and memory and regime_map
    p = answer.prediction
    need = p.peak_memory_bytes + p.workspace_bytes
    assert p.workspace_bytes > 0
    first, chart = sweep.canvas.first, regime_map.chart
    assert first is not None and chart is not None and regime_map.map.home is not None
    assert first.columns["memory_bytes"][first.row(first.here)] == need
    assert chart.figures(regime_map.map.home)["memory_bytes"] == need
    assert MemoryCanvas.used_bytes(p, p.memory.peak_op) == need
    pills: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Paint, "pill", lambda _, x, y, words, *rest, **more: pills.append(words))
        memory.canvas.grab()
    assert f"peak {data(need)}" in pills
    shifts = {each.first for each in (along.shift, along.below) if each and each.first}
    found = regime_map.through.slices[0].sweep
    assert found is not None and not found.about and shifts
    of_map = {value for s in found.shifts for value in (s.first, s.last)}
    of_sweep = {value for s in sweep.canvas.sweep.shifts for value in (s.first, s.last)}  # pyright: ignore
    assert shifts <= of_sweep and shifts <= of_map


def test_a_typed_number_beyond_the_slider_is_asked(window: Window):
    window.inspector.batch.box.setText("2000")
    window.inspector.batch.box.editingFinished.emit()
    wait(window.worker)
    assert window.session.state.scenario.batch == 2000
    assert window.verdict.answer is not None
    assert window.verdict.answer.subject.batch == 2000


def test_a_control_takes_the_place_of_the_what_if_that_said_the_same(window: Window):
    window.session.ask(apply(apply(FIRST, "mode", {"to": "cuda_graph"}), "no_python"), "what-ifs")
    window.inspector.mode.buttons["eager"].click()
    assert [each.name for each in window.session.state.scenario.whatifs] == ["no_python"]
    wait(window.worker)
    assert window.verdict.answer is not None
    assert window.verdict.answer.prediction.mode == "eager"


def test_a_mode_of_the_compiler_stands_as_compiled(window: Window):
    window.session.show("Lessons")  # where no view asks for hundreds of compiled steps
    window.session.ask(apply(FIRST, "mode", {"to": "reduce-overhead"}), "mode")
    buttons = window.inspector.mode.buttons
    assert [name for name, button in buttons.items() if button.isChecked()] == ["compiled"]
    wait(window.worker)
    assert window.verdict.answer is not None
    assert window.verdict.answer.prediction.mode == "reduce-overhead"
    chosen = window.inspector.compiler
    assert chosen.currentData() == "reduce-overhead" and not chosen.isHidden()
    assert {*window.inspector.mode.buttons} | {
        chosen.itemData(at) for at in range(chosen.count())
    } == {*MODES}
    chosen.activated.emit(chosen.findData("max-autotune-no-cudagraphs"))
    assert window.session.state.scenario.mode == "max-autotune-no-cudagraphs"
    assert window.session.state.scenario.whatifs == ()
    buttons["eager"].click()
    assert chosen.isHidden() and window.inspector.labels["Mode of torch.compile"].isHidden()


def test_a_refused_scenario_is_said_and_the_last_answer_stays(window: Window):
    before = window.verdict.answer
    window.session.ask(replace(FIRST, batch=0), "batch 0")
    wait(window.worker)
    assert window.banner.isVisible()
    assert window.banner.label.text() == "batch is 0: expected 1 or more"
    assert window.verdict.answer is before and window.verdict.stale
    window.session.history.undo()
    wait(window.worker)
    assert not window.banner.isVisible() and not window.verdict.stale


def test_another_theme_is_a_step_that_can_be_undone(window: Window):
    window.toggle_theme()
    assert {view.theme.name for view in in_front(window)} == {"light"}
    while window.session.state.theme == "light":
        window.session.history.undo()
    assert {view.theme.name for view in in_front(window)} == {"dark"}


def test_everything_that_can_be_used_has_a_name(window: Window):
    kinds = (QAbstractButton, QAbstractSlider, QComboBox, QLineEdit, Canvas)
    found = [w for w in window.findChildren(QWidget) if isinstance(w, kinds)]
    found = [w for w in found if not isinstance(w, QScrollBar)]
    found = [w for w in found if not isinstance(w.parent(), (QMenuBar, QLineEdit))]
    assert len(found) > 20
    assert not [(w, w.parent()) for w in found if not w.accessibleName()]


def test_the_tab_key_comes_to_a_view_before_the_head_of_its_panel(window: Window):
    assert len(list(in_front(window))) == 13  # made one after the other, as they were seen
    places, each = list[QWidget](), window.nextInFocusChain()
    while each is not None and each is not window:
        places.append(each)
        each = each.nextInFocusChain()
    last = 0
    for panel in (panel for docks in window.workspaces.docks.values() for panel in docks.panels):
        first = next(at for at, one in enumerate(places) if _takes_tab(one, panel.inside))
        head = places.index(panel.float_button), places.index(panel.more)
        assert last < first < head[0] < head[1]
        last = head[1]
    assert last < places.index(window.shelf.search)


def _takes_tab(one: QWidget, view: QWidget | None) -> bool:
    tab = Qt.FocusPolicy.TabFocus
    assert view is not None
    return view.isAncestorOf(one) and bool(one.focusPolicy() & tab) and one.focusProxy() is None


def test_a_view_behind_is_told_what_is_picked_once_it_shows_that_answer(window: Window):
    roofline, _, timeline = list(window.panels.panels.values())[:3]
    timeline.raise_()
    wait(window.worker)
    view = timeline.inside
    assert isinstance(view, Timeline)
    roofline.raise_()
    QCoreApplication.processEvents()
    window.session.ask(replace(FIRST, batch=8), "batch 8")
    wait(window.worker)
    window.session.pick(frozenset({2}))
    assert not view.canvas.picked  # its slices are of batch 64
    timeline.raise_()
    QCoreApplication.processEvents()
    assert view.canvas.picked == {2} and view.canvas.lanes is not None
    assert view.canvas.lanes.prediction.trace.samples == 8


def test_a_view_is_written_as_a_picture(window: Window, tmp_path: Path):
    for view in in_front(window):
        for suffix in ("png", "svg"):
            path = tmp_path / f"{view.title}.{suffix}"
            export(view, path)
            assert path.stat().st_size > 2000
    assert not list(tmp_path.glob(".*"))


def docks(window: Window) -> dict[str, str]:
    """The layout without the window's own place, which a screen of 800 pixels cannot give back."""
    return {name: state for name, state in window.layout_.now().items() if name != "window"}


def test_docks_come_back_with_the_session_as_they_were(window: Window, tmp_path: Path):
    roofline, sweep, timeline = list(window.panels.panels.values())[:3]
    sweep.close()
    timeline.raise_()
    window.beside[0].hide()
    QCoreApplication.processEvents()
    window.files.save(tmp_path / "laid")
    before = docks(window)
    window.layout_.arrange()
    roofline.close()
    assert docks(window) != before
    _, laid = load(tmp_path / "laid.ridge")
    assert set(laid) == {"window", *before}
    window.layout_.lay({name: laid[name] for name in before})
    assert docks(window) == before
    assert sweep.isHidden() and not roofline.isHidden() and window.beside[0].isHidden()
    window.layout_.arrange()
    assert not sweep.isHidden() and not window.beside[0].isHidden()
    window.beside[1].hide()


def test_a_card_dropped_on_a_scenario_changes_that_one_alone(window: Window):
    window.strip.copy(0)
    offer = window.dropping.offered("whatif:cuda_graph", 0)
    assert offer.words == "+cuda_graph in scenario A" and offer.done is not None
    offer.done()
    a, b = (side.scenario for side in window.session.state.sides)
    assert a == apply(FIRST, "cuda_graph") and b == FIRST
    assert window.session.state.current == 1
    refused = window.dropping.offered("gpu:h200_sxm", 1)
    assert refused.done is None and refused.words == "H200 SXM 141GB is in scenario B already"
    wait(window.worker)


def test_what_a_lesson_opens_is_one_more_scenario_and_one_step(window: Window):
    offered = next(o for o in window.panels.panels if o.workspace == "Lessons")
    window.session.show("Lessons")
    window.session.history.clear()
    asked = replace(FIRST, mode="cuda_graph")
    window.panels.view(offered).asked.emit(asked)
    state = window.session.state
    assert [side.scenario for side in state.sides] == [FIRST, asked]
    assert state.current == 1 and state.workspace == "Explore"
    assert window.session.history.count() == 1
    wait(window.worker)
    for _ in range(5):
        QCoreApplication.processEvents()
        time.sleep(0.01)
    wait(window.worker)
    assert not any(panel.veil.isVisible() for panel in in_view(window))
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
    assert path.is_file() and window.banner.isVisible()
    assert window.banner.label.text() == f"Wrote {path}"
    offered = next(iter(window.panels.panels))
    window.panels._export(offered, "csv")
    assert window.banner.label.text() == f"Wrote {path.with_suffix('.csv')}"
    window.session.rename(0, "Another name")
    assert not window.banner.isVisible()


def test_a_key_of_the_window_works_while_a_formula_stands_there(
    window: Window, monkeypatch: pytest.MonkeyPatch
):
    asked: list[bool] = []
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: asked.append(True) or ("", ""))
    sheet = window.explaining.show(window.verdict.formulas()[0], window.pos())
    QTest.keyClick(sheet, Qt.Key.Key_O, Qt.KeyboardModifier.ControlModifier)
    assert asked == [True] and not sheet.isVisible()


def test_a_card_on_plus_is_a_new_scenario_and_a_refused_one_says_why(window: Window):
    plus, session = window.strip.more, window.session
    assert plus.acceptDrops()
    widget = next(w for w in window.shelf.widgets if w.card.key == "whatif:cuda_graph")
    drag = widget.mime(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    middle = plus.rect().center()
    QApplication.sendEvent(plus, QDragEnterEvent(middle, Qt.DropAction.CopyAction, *drag))
    outline = window.dropping.targets[-1].outline
    assert outline.isVisible() and not outline.refused
    assert outline.words == "New scenario B with CUDA graph"
    assert outline.geometry().contains(plus.geometry()) and outline.width() > 400
    QApplication.sendEvent(plus, QDropEvent(QPointF(middle), Qt.DropAction.CopyAction, *drag))
    assert not outline.isVisible() and session.history.count() == 1
    assert [side.name for side in session.state.sides] == ["Today", "CUDA graph"]
    assert session.state.current == 1 and session.state.scenario == apply(FIRST, "cuda_graph")
    assert session.state.sides[0].scenario == FIRST
    for key, words in (
        ("gpu:h200_sxm", "H200 SXM 141GB is in scenario B already, as in its copy"),
        ("whatif:recompute", "expected"),
    ):
        refused = window.dropping.offered_new(key)
        assert refused.done is None and words in refused.words
    session.history.undo()
    assert len(session.state.sides) == 1
    widget.keyPressEvent(
        QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    )
    assert session.state.scenario == apply(FIRST, "cuda_graph") and session.state.current == 1
    for _ in range(2):
        window.strip.copy(0)
    assert window.dropping.offered_new("gpu:l40s").words == (
        "There are 4 scenarios already: remove one first"
    )
    wait(window.worker)


def test_a_card_that_is_refused_is_said_and_nothing_moves(window: Window):
    card = window.shelf.card("whatif:recompute")
    assert card is not None
    window.dropping.apply(card, -1)
    assert window.banner.isVisible() and "expected" in window.banner.label.text()
    assert window.session.state.scenario == FIRST and not window.session.history.count()
    window.banner.hide()


@pytest.mark.parametrize("scenario", [
    FIRST,
    Scenario("gpt2", gpu="l40s", training=True, optimizer="sgd", mode="cuda_graph"),
    apply(apply(Scenario("vit-b16", sizes={"depth": 6}), "bandwidth", {"times": 2.0}), "no_python"),
])  # fmt: skip
def test_a_copied_command_asks_the_same(scenario: Scenario):
    words = as_command(scenario).split()
    assert words[:2] == ["ridgepoint", "predict"]
    given: dict[str, object] = {"network": words[2], "whatifs": [], "size": []}
    rest = iter(words[3:])
    for word in rest:
        if word.startswith("+"):
            given["whatifs"].append(word)  # pyright: ignore
        elif word in ("--train", "--no-train"):
            given["train"] = word == "--train"
        elif word == "--size":
            given["size"].append(next(rest))  # pyright: ignore
        else:
            name, value = word.removeprefix("--"), next(rest)
            given[name] = int(value) if value.isdecimal() else value
    for name, kind in (("dtype", Dtype), ("mode", Mode), ("optimizer", Optimizer)):
        if name in given:
            given[name] = kind(given[name])
    assert question(**given).scenario.key == scenario.key  # pyright: ignore


def test_a_lesson_opens_its_scenario_in_explore(window: Window):
    window.session.show("Lessons")
    view = next(v for v in window.panels.views.values() if isinstance(v, Lessons))
    asked = Scenario("bert-base", batch=8, seq=128, dtype="bf16")
    view.asked.emit(asked)
    state = window.session.state
    assert (state.workspace, state.scenario) == ("Explore", asked)


def test_a_figure_leads_to_the_lesson_that_teaches_it(window: Window):
    formula = window.verdict.formulas()[3]
    sheet = window.explaining.show(formula, window.mapToGlobal(window.rect().bottomRight()))
    assert window.frameGeometry().contains(sheet.frameGeometry())
    sheet.findChildren(QPushButton)[0].click()
    assert window.session.state.workspace == "Lessons"
    view = next(v for v in window.panels.views.values() if isinstance(v, Lessons))
    assert view.lesson is not None and view.lesson.name == formula.lesson


def test_who_leaves_is_asked_what_becomes_of_what_is_not_saved(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    closed: list[bool] = []
    monkeypatch.setattr(window, "close", lambda: closed.append(True))
    window.files.save(tmp_path / "one")
    window.leave()
    assert closed == [True]  # nothing is lost
    window.session.ask(replace(FIRST, batch=8), "batch 8")
    window.leave()
    (asked,) = window.findChildren(Leaving)
    assert [b.text() for b in asked.findChildren(QPushButton)] == [
        "Stay",
        "Close without saving",
        "Save and close",
    ]
    assert "one.ridge" in asked.findChildren(QLabel)[0].text()
    asked.stay.click()
    assert closed == [True] and window.files.edited
    window.leave()
    window.findChildren(Leaving)[-1].save.click()
    assert closed == [True, True] and not window.files.edited
    assert load(tmp_path / "one.ridge")[0].scenario.batch == 8
    for left in window.findChildren(Leaving):
        left.deleteLater()
