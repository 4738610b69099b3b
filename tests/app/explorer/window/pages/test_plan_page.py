"""The page of the plan: edited by keys, pointer and drops, planned in the background."""

from dataclasses import replace

from PySide6.QtCore import QCoreApplication, QMimeData, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.answers.cards import MIME
from app.explorer.window.window import Window
from app.views.plan.workload import Workload
from app.widgets.drops import Outline
from tests.app.explorer.keys import typed
from tests.app.explorer.window.plan_driver import answer, field, settled, workload


def dropped(on: QWidget, data: QMimeData) -> str:
    """Drop data on a widget. Returns the text of the outline before the drop."""
    middle, buttons = on.rect().center(), Qt.MouseButton.LeftButton
    keys, copy = Qt.KeyboardModifier.NoModifier, Qt.DropAction.CopyAction
    QCoreApplication.sendEvent(on, QDragEnterEvent(middle, copy, data, buttons, keys))
    words = [o.words for o in on.findChildren(QWidget) if isinstance(o, Outline)]
    QCoreApplication.sendEvent(on, QDropEvent(QPointF(middle), copy, data, buttons, keys))
    return words[0] if words else ""


def card(key: str) -> QMimeData:
    data = QMimeData()
    data.setData(MIME, key.encode())
    return data


def test_a_plan_is_shown_with_its_verdict(planned: Window):
    shown = answer(planned)
    plan = planned.pages.plan.planning.planned.plan
    assert plan is not None and shown.words.text() == plan.verdict
    assert shown.subtitle() == "2 candidates, the cheapest that fits is first"
    rows = shown.rows()
    assert [row[0] for row in rows[:3]] == [
        "Configuration",
        "1 × L40S, vllm, bf16",
        "1 × H200 SXM 141GB, vllm, bf16",
    ]
    scene = shown.tornado.scene
    assert scene is not None and scene.bars
    assert rows[3][:3] == ["Sensitivity of L40S ×1, vllm, bf16 to", "now", "low end"]
    assert shown.varied.text() == "of L40S ×1, vllm, bf16"
    assert [row[:2] for row in rows[4:]] == [[bar.name, bar.value] for bar in scene.bars]
    assert {len(row) for row in rows} == {len(rows[0])}
    assert shown.step.isHidden() and shown.open.isEnabled()
    assert planned.verdict.isHidden() and planned.strip.isHidden()


def test_an_unfinished_plan_shows_no_words_of_the_one_before(planned: Window):
    state, view = planned.pages.plan.planning.planned, answer(planned)
    view.show_plan(replace(state, plan=None, rows=state.rows[:1], progress="planning L40S"))
    assert view.words.text() == "Planning …" and view.tornado.isHidden() and view.rests.isHidden()
    assert view.subtitle() == "1 candidate so far"
    stale = replace(state, stale=True)
    view.show_plan(stale)
    assert state.plan is not None and view.words.text() == state.plan.verdict
    assert not view.words.isEnabled() and not view.tornado.isHidden()


def test_another_kind_of_workload_leaves_the_focus_in_its_field(planned: Window):
    planned.activateWindow()
    at = workload(planned).sentence.field("Kind of workload")
    at.setFocus()
    at.entered.emit(at.field, "Train")
    now = workload(planned).sentence.field("Kind of workload")
    assert now is not at and now.text() == "Train" and now.hasFocus()


def test_an_edit_is_planned_again_and_dims_the_answer_at_once(planned: Window):
    page = planned.pages.plan
    typed(field(planned, "Requests a second"), "7")
    state = page.planning.planned
    assert state.stale and state.draft.get("load", "rate") == "7/s"
    panel = next(p for o, p in planned.panels.panels.items() if o.title == "Verdict")
    assert panel.veil.dims and not answer(planned).words.isEnabled()
    settled(page.planning)
    state = page.planning.planned
    assert not state.stale and state.plan is not None
    assert state.plan.question.startswith("Serve llama3-8b to 7 requests/s")
    assert not panel.veil.dims and answer(planned).words.isEnabled()
    planned.session.history.undo()
    assert page.planning.planned.draft.get("load", "rate") == "5/s"
    assert field(planned, "Requests a second").text() == "5"


def test_candidates_are_seen_before_the_plan_is_finished(planned: Window):
    planning = planned.pages.plan.planning
    seen: list[tuple[int, bool, bool]] = []

    def note() -> None:
        state = planning.planned
        seen.append((len(state.rows), state.stale, state.plan is not None))

    planning.changed.connect(note)
    typed(field(planned, "Tokens of a prompt"), "32")
    settled(planning)
    planning.changed.disconnect(note)
    assert any(rows and not (stale or done) for rows, stale, done in seen)
    assert seen[-1] == (2, False, True)


def test_a_refused_text_stays_with_its_reason_and_the_plan_stays(planned: Window):
    page, view = planned.pages.plan, workload(planned)
    before = page.planning.planned
    at = field(planned, "Time limit per token")
    typed(at, "5 parsecs")
    assert view.message.text() == (
        "limits.per_token = '5 parsecs': unknown unit 'parsecs': expected a time above 0 with its "
        'unit, such as "50 ms" or "2 weeks"; known are ns, us, µs, ms, s, min, h, hour, hours, '
        "day, days, week, weeks, month, months, year, years"
    )
    assert at.text() == "5 parsecs" and at.property("look") == "wrongfield"
    assert page.planning.planned == before and not page.planning.busy
    QTest.keyClick(at, Qt.Key.Key_Tab)
    assert at.text() == "5 parsecs" and at.property("look") == "wrongfield"
    at.setFocus()
    QTest.keyClick(at, Qt.Key.Key_Escape)
    assert at.text() == "50 ms" and at.property("look") == "field"
    assert view.message.isHidden()


def test_a_later_failure_is_shown_and_keeps_the_previous_plan(planned: Window):
    planning = planned.pages.plan.planning
    rows = planning.planned.rows
    draft = planning.planned.draft.put("resnet50", "workload", "network")
    planned.pages.plan.edit(draft, "network")
    settled(planning)
    state, shown = planning.planned, answer(planned)
    assert state.rows == rows and state.stale
    assert shown.error.text().startswith(
        "workload.network = 'resnet50' cannot be served: expected a network with its own "
        "decode step: "
    )
    assert shown.retry.isVisibleTo(shown)


def test_planning_is_cancelled(planned: Window):
    planning = planned.pages.plan.planning
    typed(field(planned, "Requests a second"), "9")
    answer(planned).stop.click()
    assert not planning.busy and planning.planned.stale
    assert answer(planned).error.text() == "Cancelled. Plan again to continue."
    answer(planned).retry.click()
    settled(planning)
    assert not planning.planned.stale and answer(planned).error.isHidden()
    typed(field(planned, "Requests a second"), "11")
    QTest.keyClick(planned, Qt.Key.Key_Escape)
    assert not planning.busy and planning.planned.stale


def test_cards_are_edited_with_pointer_and_keys(planned: Window):
    planning, view = planned.pages.plan.planning, workload(planned)
    h200, l40s = view.cards
    l40s.buttons["counts", "2"].click()
    typed(l40s.price, "0.4")
    l40s.switch.click()
    draft = planning.planned.draft
    assert draft.get("candidates", "per_gpu", "l40s") == {"counts": [1, 2], "use": False}
    assert draft.get("prices", "hourly", "l40s") == "0.4 USD/h"
    assert l40s.source.toolTip() == "yours" and view.count.text() == "1 on"
    h200.setFocus()
    QTest.keyClick(h200, Qt.Key.Key_Space)
    assert view.message.text() == (
        "the last GPU that is on cannot be switched off; switch on another first"
    )
    h200.switch.click()
    assert h200.switch.isChecked()
    h200.buttons["engines", "vllm"].click()
    assert h200.buttons["engines", "vllm"].isChecked() and view.message.text() == (
        "H200 SXM 141GB needs at least one engine; choose another first, or switch the card off"
    )
    QTest.keyClick(l40s, Qt.Key.Key_Delete)
    assert len(view.cards) == 1 and planned.session.history.undoText() == "remove L40S"
    view.add.chosen.emit("b200_sxm")
    assert [c.card.id for c in view.cards] == ["h200_sxm", "b200_sxm"]


def test_a_gpu_is_dropped_into_the_contest(planned: Window):
    view = workload(planned)
    target = planned.workspaces
    assert dropped(target, card("gpu:l4")) == "Add L4 to the candidates"
    assert [c.card.id for c in view.cards] == ["h200_sxm", "l40s", "l4"]
    sides = planned.session.state.sides
    assert dropped(target, card("gpu:l4")) == "L4 is already a candidate; change its card"
    assert dropped(target, card("whatif:fp8")) == (
        "A plan takes networks and GPUs: drop the card of one"
    )
    assert planned.session.state.sides == sides
    planned.dropping.apply(planned.shelf.card("gpu:t4"), -1)  # pyright: ignore[reportArgumentType]
    assert [c.card.id for c in view.cards][-1] == "t4"


def test_the_place_for_drops_names_the_shelf_where_it_is_hidden(planned: Window):
    view = workload(planned)
    planned.beside[0].hide()
    assert "click to show the shelf" in view.drop.text()
    view.drop.click()
    assert not planned.beside[0].isHidden()


def test_a_network_is_dropped_into_the_workload(planned: Window):
    target, plan = planned.workspaces, planned.pages.plan.planning
    assert dropped(target, card("network:resnet50")) == (
        "resnet50 cannot be planned for serving: expected one that decodes, such as llama3-8b; "
        "choose another"
    )
    assert dropped(target, card("network:llama3-8b-decode")) == (
        "the plan is for llama3-8b already; choose another network"
    )
    assert dropped(target, card("network:llama3-1b-decode")) == "Plan for llama3-1b-decode"
    assert plan.planned.draft.get("workload", "network") == "llama3-1b"
    assert planned.session.history.undoText() == "plan for llama3-1b-decode"


def test_the_table_chooses_and_the_choice_opens_in_explore(planned: Window):
    shown, planning = answer(planned), planned.pages.plan.planning
    QTest.keyClick(shown.table, Qt.Key.Key_Down)
    row = planning.planned.row
    assert row is not None and row.gpu == "h200_sxm"
    count = len(planned.session.state.sides)
    shown.open.click()
    state = planned.session.state
    assert (state.workspace, len(state.sides)) == ("Explore", count + 1)
    assert state.sides[-1].name == "1 × H200 SXM 141GB, vllm, bf16: PyTorch's kernels"
    assert (state.scenario.network, state.scenario.seq) == ("llama3-8b-decode", 68)


def test_a_narrow_window_leaves_the_table_its_columns(planned: Window):
    """Cost, batch and time take 64 + 50 + 56 pixels, in addition to the names, the limits and the
    regime."""
    assert planned.width() == 1280
    planned.layout_.reset()
    QCoreApplication.processEvents()
    panel = next(p for o, p in planned.panels.panels.items() if o.title == "Verdict")
    assert panel.width() > 440


def test_a_window_of_1600_pixels_has_room_for_cost_batch_and_time(planned: Window):
    """Names such as "A100 SXM4 ×1 compiled+graph" take 200 of the 600 pixels."""
    planned.resize(1600, 1000)
    planned.layout_.reset()
    QCoreApplication.processEvents()
    panel = next(p for o, p in planned.panels.panels.items() if o.title == "Verdict")
    assert panel.width() >= 590
    planned.resize(1280, 800)
    planned.layout_.reset()
    QCoreApplication.processEvents()


def test_a_wide_window_shows_the_shelf_next_to_a_plan(planned: Window):
    shelf, inspector = planned.beside
    for wide, visible in ((1920, True), (1280, False)):
        planned.resize(wide, 800)
        QCoreApplication.processEvents()
        assert (shelf.isVisible(), inspector.isVisible()) == (visible, False)


def test_the_place_for_gpu_cards_shows_the_shelf(planned: Window):
    shelf = planned.beside[0]
    assert not shelf.isVisible()
    workload = next(v for _, v in planned.pages.plan.views if isinstance(v, Workload))
    workload.drop.click()
    QCoreApplication.processEvents()
    assert shelf.isVisible()
    section = planned.shelf.heads["gpu"]
    assert not section.visibleRegion().isEmpty()
    shelf.hide()
