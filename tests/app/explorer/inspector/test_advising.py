"""Advice of the simulator in the window, with buttons to apply it, and goals."""

import re
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from msgspec import structs
from PySide6.QtCore import QCoreApplication, QPoint
from PySide6.QtWidgets import QLabel

from app.answers.advice_words import GROUPS, group, sentence
from app.examples import FIRST
from app.explorer.background.advising import AdviceResult, Advising
from app.explorer.background.worker import Worker
from app.explorer.inspector.advice_panel import AdvicePanel, Gain, effect
from app.explorer.inspector.goals import Goals
from app.explorer.inspector.inspector import Inspector
from app.explorer.state.session import NamedScenario, Session, State
from app.theme import DARK
from app.widgets.drawing import application
from app.widgets.style import sheet
from simulator.analysis.seek import SeekResult, batch_out_of_overhead
from simulator.errors import UntracedError
from simulator.prediction import Prediction
from simulator.scenario import trace_source
from simulator.scenario.scenario import Scenario, predict


@pytest.fixture(scope="module")
def advising(tmp_path_factory: pytest.TempPathFactory):
    patch = pytest.MonkeyPatch()
    patch.setenv("RIDGEPOINT_TRACES", str(tmp_path_factory.mktemp("traces")))
    application()
    worker = Worker()
    advising = Advising(worker)
    yield advising
    worker.close()
    trace_source.trace_elsewhere(False)
    trace_source.forget()
    patch.undo()


def wait(advising: Advising) -> None:
    end = time.monotonic() + 30
    while (advising._pause.isActive() or advising.worker.busy()) and time.monotonic() < end:
        QCoreApplication.processEvents()
        time.sleep(0.01)
    assert not advising.worker.busy()


@pytest.fixture(scope="module")
def found(advising: Advising) -> AdviceResult:
    """Advice for an AMD card, without traces of the what-ifs that are tried."""

    def only_nvidia(scenario: Scenario) -> Prediction:
        if any("mi300x" in applied.arguments.values() for applied in scenario.whatifs):
            raise UntracedError(scenario, None)
        return predict(scenario)

    got: list[AdviceResult] = []
    advising.advice_ready.connect(got.append)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.explorer.background.advising.predict", only_nvidia)
        advising.set_scenario(FIRST)
        wait(advising)
    return got[-1]


def test_advice_is_the_simulators_and_untraced_trials_are_counted(found: AdviceResult):
    assert found.scenario == FIRST and found.missing > 0
    best = found.advised.advice[0]
    base, after = predict(FIRST), predict(best.scenario)
    assert best.period_s == after.period_s
    assert best.gain == pytest.approx(1 - after.period_s / base.period_s)
    waiting = [r for r in found.advised.refused.values() if "expected a trace" in r]
    assert len(waiting) == found.missing


def test_a_button_applies_its_advice_as_a_step(found: AdviceResult):
    session = Session(State((NamedScenario("Today", FIRST),)))
    panel = AdvicePanel(session, DARK)
    panel.show_advice(found)
    labels = [w.text() for w in panel.findChildren(QLabel)]
    for name in GROUPS:
        count = sum(group(advice) == name for advice in found.advised.advice)
        assert count and name in labels
        shown = [a for a in found.advised.advice if group(a) == name][:3]
        assert [text for text in labels if text in {sentence(a) for a in shown}]
    assert labels.index(GROUPS[0]) < labels.index(GROUPS[1])
    assert panel.rows.count() == 2 + sum(
        min(3, sum(group(a) == name for a in found.advised.advice)) for name in GROUPS
    )
    assert panel.more.text() == f"Trace and try {found.missing} more"
    panel._apply(found.advised.advice[0])
    assert session.state.scenario == found.advised.advice[0].scenario
    session.history.undo()
    assert session.state.scenario == FIRST
    panel.wait()
    assert panel.rows.count() == 0 and panel.more.isHidden()


def test_words_of_advice(found: AdviceResult):
    advice = {sentence(a): a for a in found.advised.advice}
    base = found.advised.baseline
    assert effect(base, advice["Use tensor cores twice as fast."]).startswith("5.5 to ")
    assert {group(a) for a in advice.values() if a.whatif.startswith("+gpu")} == {GROUPS[1]}
    other = next(a for a in found.advised.advice if a.whatif.startswith("+batch"))
    assert effect(base, other).startswith("per item; ")


def test_advice_on_another_gpu_says_what_it_costs(found: AdviceResult):
    panel = AdvicePanel(Session(State((NamedScenario("Today", found.scenario),))), DARK)
    panel.show_advice(found)
    words = {label.text(): label.toolTip() for label in panel.findChildren(QLabel)}
    b200 = next(text for text in words if text.startswith("Run on B200"))
    assert re.fullmatch(r"Run on B200 .*, at \d+% higher cost\.", b200)
    assert words[b200].startswith("At ") and "USD an hour" in words[b200]
    assert words[sentence(found.advised.advice[0])] == ""


def test_a_cancelled_search_says_so_where_advice_is_awaited(advising: Advising):
    reasons: list[str] = []
    connection = advising.failed.connect(reasons.append)
    advising.set_scenario(replace(FIRST, batch=3))
    advising.cancel()
    assert reasons == ["cancelled; change the scenario to search again"]
    advising.cancel()
    advising.failed.disconnect(connection)
    assert len(reasons) == 1


def test_goals_are_found_and_applied(advising: Advising):
    session = Session(State((NamedScenario("Today", FIRST),)))
    goals = Goals(session, DARK)
    advising.goal_ready.connect(goals.show_result)
    goals.requested.connect(advising.seek)
    advising.set_scenario(FIRST)
    goals.buttons["regime"].click()
    goals.buttons["under"].click()
    refused = "expected a number above 0; enter one"
    assert goals.labels["under"].accessibleName() == refused
    wait(advising)
    assert goals.results["regime"].value == batch_out_of_overhead(FIRST).value
    assert goals.buttons["regime"].text() == "Apply" and "under" not in goals.results
    goals.boxes["under"].setText("10")
    goals.boxes["under"].returnPressed.emit()
    wait(advising)
    there = goals.results["under"]
    assert predict(there.scenario).latency_s <= 0.010 and there.beyond == there.value + 1
    goals.buttons["under"].click()
    assert session.state.scenario == there.scenario
    goals.figure.setCurrentIndex(2)
    assert goals.units["under"].text() == "GiB" and goals.buttons["under"].text() == "Seek"
    goals.boxes["under"].setText("2")
    goals.boxes["under"].returnPressed.emit()
    wait(advising)
    small = goals.results["under"]
    for batch, fits in ((small.value, True), (small.value + 1, False)):
        p = predict(replace(FIRST, batch=int(batch)))
        assert (p.peak_memory_bytes + p.workspace_bytes <= 2 * 2**30) == fits
    goals.wait()
    assert goals.buttons["under"].text() == "Seek" and not goals.results


def _result(batch: int) -> SeekResult:
    scenario = replace(FIRST, batch=batch)
    result = SimpleNamespace(axis="batch", value=batch, sentence="found", scenario=scenario)
    return cast("SeekResult", result)


def test_a_result_of_a_question_that_was_changed_is_not_shown():
    goals = Goals(Session(State((NamedScenario("Today", FIRST),))), DARK)
    goals.boxes["under"].setText("10")
    goals.buttons["under"].click()
    goals.figure.setCurrentIndex(2)  # a goal for memory, while the goal for a time is searched
    goals.show_result("under", _result(38), "")
    assert not goals.results and goals.buttons["under"].text() == "Seek"
    goals.buttons["under"].click()
    goals.boxes["under"].clear()
    goals.boxes["under"].textEdited.emit("")
    goals.show_result("under", None, "refused")
    assert goals.labels["under"].accessibleName() == ""


def test_the_step_of_a_goal_is_named_by_its_question():
    session = Session(State((NamedScenario("Today", FIRST),)))
    goals = Goals(session, DARK)
    assert goals.buttons["under"].accessibleName() == "Seek: Largest batch with step alone under"
    goals.boxes["under"].setText("10")
    goals.buttons["under"].click()
    goals.show_result("under", _result(38), "")
    assert goals.buttons["under"].accessibleName() == (
        "Apply: Largest batch with step alone under 10 ms, found"
    )
    goals.buttons["under"].click()
    assert session.history.undoText() == "largest batch with step alone under 10 ms: 38"


def test_advice_says_what_makes_a_step_fit(found: AdviceResult):
    base, advice = found.advised.baseline, found.advised.advice[0]
    assert base.fits and advice.fits
    assert not Gain(DARK, base, advice, 1.0).accessibleName().endswith("then fits")
    full = replace(base, gpu=structs.replace(base.gpu, memory_bytes=1))
    assert not full.fits
    assert Gain(DARK, full, advice, 1.0).accessibleName().endswith(", then fits")
    still = replace(advice, fits=False)
    assert not Gain(DARK, full, still, 1.0).accessibleName().endswith("then fits")


def test_the_first_advice_is_above_the_fold_of_a_small_window(found: AdviceResult):
    """A window of 1280 × 800 pixels leaves the inspector 304 × 604."""
    running = application()
    inspector = Inspector(Session(State((NamedScenario("Today", FIRST),))), DARK)
    inspector.setStyleSheet(sheet(DARK))
    inspector.advice.show_advice(found)
    inspector.resize(304, 604)
    inspector.show()
    for _ in range(5):
        running.processEvents()
    first = next(gain for gain in inspector.advice.findChildren(Gain) if gain.isVisible())
    top = first.mapTo(inspector.viewport(), QPoint(0, 0)).y()
    assert top > 0 and top + first.height() <= inspector.viewport().height()
    assert inspector.column.minimumSize().width() <= inspector.viewport().width()
    assert inspector.gpu.shown_text() == "H200 SXM 141GB"
    assert inspector.host.shown_text() == "xeon-h200"
    inspector.gpu.addItem("RTX PRO 6000 Blackwell Max-Q Workstation Edition")
    inspector.gpu.setCurrentIndex(inspector.gpu.count() - 1)
    assert "…" in inspector.gpu.shown_text()  # elided, not cut
    inspector.close()
