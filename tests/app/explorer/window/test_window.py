"""The window without a screen: its contents, and that every change can be undone."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QElapsedTimer, QRectF
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QComboBox,
    QLineEdit,
    QMenuBar,
    QScrollBar,
    QWidget,
)

from app.examples import FIRST
from app.explorer.window.verdict.bar import GRACE_MS, VerdictBar
from app.explorer.window.verdict.columns import column_edges
from app.explorer.window.window import Window
from app.quantities import data
from app.views.memory import MemoryCanvas, MemoryView
from app.views.regime_map.view import RegimeMap
from app.views.sweep.view import Sweep
from app.widgets.canvas import Canvas
from app.widgets.paint import Paint
from simulator.errors import InputError
from simulator.modes import MODES
from simulator.scenario.scenario import predict
from simulator.whatif import apply
from tests.app.explorer.files.settling import until
from tests.app.explorer.waiting import wait
from tests.app.explorer.window.front import in_front, in_view


def test_the_window_shows_the_figures_of_the_simulator(window: Window):
    shown = window.verdict.answer
    assert shown is not None and not window.verdict.stale
    assert shown.scenario == FIRST
    assert shown.prediction.period_s == predict(FIRST).period_s
    assert shown.prediction.shares == predict(FIRST).shares
    description = window.verdict.accessibleDescription()
    assert "bert-base, batch 64 × 128, bf16" in description and "80%" in description
    # A plan is computed in its own lane, and has its own tests.
    views = [view for view in in_front(window) if view.workspace not in ("Cluster", "Plan")]
    empty = {view.title for view in views if len(view.rows()) < 2}
    assert empty <= {"Measured", "From A to B"}  # no measurement and no second scenario


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


def test_stale_views_are_dimmed_at_once(window: Window, monkeypatch: pytest.MonkeyPatch):
    verdict, status = window.verdict, window.status
    seen = [panel for panel in window.panels.panels.values() if panel.inside is not None]
    veils = [panel.veil for panel in seen if panel.inside.follows]  # pyright: ignore
    before = verdict.grab().toImage()
    until(lambda: not any(panel.veil.dims for panel in in_view(window)))  # late views too
    assert veils and not any(panel.veil.dims for panel in in_view(window))
    with monkeypatch.context() as held:
        held.setattr(window.worker, "ask", lambda *_, **__: None)  # no answer comes
        window.session.set_scenario(replace(FIRST, gpu="v100_sxm2_16"), "another GPU")
        assert verdict.stale
        clock = QElapsedTimer()
        clock.start()
        while clock.elapsed() < 2 * GRACE_MS:
            QCoreApplication.processEvents()
        for _ in range(20):  # a turn of the event loop may take longer than the grace period
            QCoreApplication.processEvents()
        assert all(veil.dims for veil in veils)
        for label in (status.counted, status.sources, window.head.subject):
            assert not label.isEnabled()
        assert all(not panel.subtitle.isEnabled() for panel in seen if panel.inside.follows)  # pyright: ignore
        assert window.inspector.advice.shown_advice is None
        assert window.inspector.batch.slider.shift is None
        assert verdict.answer is not None and verdict.answer.scenario == FIRST
        lit = [
            max(image.pixelColor(x, 21).lightness() for x in range(image.width()))
            for image in (before, verdict.grab().toImage())
        ]
        assert lit[1] < 0.8 * lit[0]
    window.session.history.undo()
    wait(window.worker)
    assert not verdict.stale and status.counted.isEnabled() and window.head.subject.isEnabled()
    until(lambda: not any(panel.veil.dims for panel in in_view(window)))


def test_a_drag_does_not_postpone_the_dimming(window: Window, monkeypatch: pytest.MonkeyPatch):
    panels = in_view(window)
    until(lambda: not any(panel.veil.dims for panel in panels))
    with monkeypatch.context() as held:
        held.setattr(window.worker, "ask", lambda *_, **__: None)  # no answer comes
        clock = QElapsedTimer()
        clock.start()
        batch = first = 3001  # no test that shares the window has an answer for these batches
        # a move at each turn of the event loop; one turn may take longer than the grace period
        while not clock.hasExpired(3 * GRACE_MS) or batch < first + 20:
            window.session.set_scenario(replace(FIRST, batch=batch), "batch", merge="batch")
            batch += 1
            QCoreApplication.processEvents()
        follow = [panel for panel in panels if panel.inside.follows]  # pyright: ignore
        assert follow and all(panel.veil.dims for panel in follow)
    window.session.history.undo()
    wait(window.worker)
    until(lambda: not any(panel.veil.dims for panel in in_view(window)))


def test_a_shift_along_the_batch_is_of_the_scenario_or_dimmed(
    window: Window, monkeypatch: pytest.MonkeyPatch
):
    verdict = window.verdict
    window.answering._search_along()
    wait(window.worker)
    assert verdict.along is not None and verdict.searched_for is verdict.answer
    assert any("from" in f.sum or "up to" in f.sum for f in verdict.formulas())
    monkeypatch.setattr(window.answering, "_search_along", lambda: None)
    window.session.set_scenario(replace(FIRST, mode="cuda_graph"), "another mode")
    assert not window.worker.busy("along")
    wait(window.worker)
    assert verdict.answer is not None and verdict.answer.scenario.mode == "cuda_graph"
    assert not verdict.stale and verdict.searched_for is not verdict.answer
    answers: list[object] = []

    def figure(paint: Paint, x: float, wide: float, answer: object) -> None:
        answers.append(answer)
        paint.painter.fillRect(QRectF(x, 20, wide, 40), QColor("white"))

    monkeypatch.setattr("app.explorer.window.verdict.bar.figures", lambda *_: (figure,) * 8)
    verdict.restyle(replace(window.theme))  # another object, so that the columns are painted again
    assert strengths(verdict) == [1.0] * 5 + [0.6, 1.0, 1.0]
    assert answers[5] is verdict.searched_for and answers[0] is verdict.answer
    verdict.stale = True
    # the figures are not painted again when they are dimmed
    assert strengths(verdict) == [0.6] * 8 and len(answers) == 8


def strengths(verdict: VerdictBar) -> list[float]:
    """The opacity of a white figure in the middle of each column."""
    image, edges = verdict.grab().toImage(), column_edges(verdict.width() - 1)
    ground = QColor(verdict.theme.bg1).red()
    whites = [image.pixelColor(round((a + b) / 2), 40).red() for a, b in pairwise(edges)]
    return [round((white - ground) / (255 - ground), 2) for white in whites]


def test_memory_and_shifts_are_the_same_figures_everywhere(window: Window):
    window.answering._search_along()
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
    swept = regime_map.through.slices[0].sweep
    assert swept is not None and not swept.about and shifts
    of_map = {value for s in swept.shifts for value in (s.first, s.last)}
    of_sweep = {value for s in sweep.canvas.sweep.shifts for value in (s.first, s.last)}  # pyright: ignore
    assert shifts <= of_sweep and shifts <= of_map


def test_a_typed_number_beyond_the_slider_is_predicted(window: Window):
    window.inspector.batch.box.setText("2000")
    window.inspector.batch.box.editingFinished.emit()
    wait(window.worker)
    assert window.session.state.scenario.batch == 2000
    assert window.verdict.answer is not None
    assert window.verdict.answer.subject.batch == 2000


def test_a_control_replaces_the_equivalent_what_if(window: Window):
    window.session.set_scenario(
        apply(apply(FIRST, "mode", {"to": "cuda_graph"}), "no_python"), "what-ifs"
    )
    window.inspector.mode.buttons["eager"].click()
    assert [each.name for each in window.session.state.scenario.whatifs] == ["no_python"]
    wait(window.worker)
    assert window.verdict.answer is not None
    assert window.verdict.answer.prediction.mode == "eager"


def test_a_mode_of_the_compiler_is_shown_as_compiled(window: Window):
    # in a workspace whose views do not predict hundreds of compiled steps
    window.session.show("Lessons")
    window.session.set_scenario(apply(FIRST, "mode", {"to": "reduce-overhead"}), "mode")
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


def test_a_refused_scenario_shows_the_reason_and_the_last_answer_stays(window: Window):
    before = window.verdict.answer
    window.session.set_scenario(replace(FIRST, batch=0), "batch 0")
    wait(window.worker)
    assert window.banner.isVisible()
    assert window.banner.label.text() == "batch is 0: expected 1 or more"
    assert window.verdict.answer is before and window.verdict.stale
    window.session.history.undo()
    wait(window.worker)
    assert not window.banner.isVisible() and not window.verdict.stale


def test_no_advice_is_searched_for_a_saved_file_that_cannot_be_traced(window: Window):
    window.inspector.wait()  # as when the file was saved
    assert window.inspector.advice.state.text() == "searching …"
    reason = "nets.py raised SyntaxError; correct the file"
    window.answering.reload_failed.emit(Path("nets.py"), InputError(reason))
    assert window.inspector.advice.state.text() == "waits for the corrected file"


def test_another_theme_is_a_step_that_can_be_undone(window: Window):
    window.toggle_theme()
    assert {view.theme.name for view in in_front(window)} == {"light"}
    while window.session.state.theme == "light":
        window.session.history.undo()
    assert {view.theme.name for view in in_front(window)} == {"dark"}


def test_everything_that_can_be_used_has_a_name(window: Window):
    kinds = (QAbstractButton, QAbstractSlider, QComboBox, QLineEdit, Canvas)
    controls = [w for w in window.findChildren(QWidget) if isinstance(w, kinds)]
    controls = [w for w in controls if not isinstance(w, QScrollBar)]
    controls = [w for w in controls if not isinstance(w.parent(), (QMenuBar, QLineEdit))]
    assert len(controls) > 20
    assert not [(w, w.parent()) for w in controls if not w.accessibleName()]
