"""Actions that do not apply are disabled, with the reason."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtGui import QAction, QGuiApplication

from app.answers.plan.draft import linked
from app.explorer.docks.panel import Panel
from app.explorer.state.session import NamedScenario
from app.explorer.window import comparison_export
from app.explorer.window.verdict.bar import GRACE_MS
from app.explorer.window.window import Window
from app.time_left import Running
from tests.app.explorer.waiting import wait
from tests.app.explorer.window.conftest import INITIAL


def action(window: Window, name: str) -> QAction:
    return window.shortcuts.actions[name]


def test_only_other_scenarios_can_be_switched_to(window: Window):
    assert not action(window, "Switch to A").isEnabled()
    assert action(window, "Switch to A").toolTip() == "A is the current scenario"
    assert not action(window, "Switch to B").isEnabled()
    assert action(window, "Switch to B").toolTip() == "There is no scenario B; duplicate one"
    action(window, "Duplicate scenario").trigger()
    assert action(window, "Switch to A").isEnabled()
    action(window, "Switch to A").trigger()
    assert window.session.state.current == 0 and action(window, "Switch to B").isEnabled()


def test_scenarios_are_renamed_where_their_cards_are(window: Window):
    assert action(window, "Rename").isEnabled()
    window.session.show("Map")
    assert not action(window, "Rename").isEnabled()
    assert action(window, "Rename").toolTip() == (
        "Go to Explore or Compare, whose scenario cards show the name"
    )


def test_exports_without_data_are_disabled(window: Window):
    assert action(window, "Export report …").isEnabled()
    scenario = replace(INITIAL.sides[0].scenario, batch=37)
    window.session.reset(replace(INITIAL, sides=(NamedScenario("Later", scenario),)))
    assert not action(window, "Export report …").isEnabled()
    assert action(window, "Export report …").toolTip() == "There is no prediction yet"
    wait(window.worker)
    assert action(window, "Export report …").isEnabled()


def test_exports_stay_enabled_while_a_slider_is_dragged(window: Window):
    """Until the answer is late: each change of an action costs the menus time."""
    wait(window.worker)
    export, changes = action(window, "Export report …"), list[bool]()
    export.changed.connect(lambda: changes.append(export.isEnabled()))
    soon = window.applicable._soon
    soon.setInterval(60_000)
    scenario = window.session.state.scenario
    for batch in (41, 42, 43):
        window.session.set_scenario(replace(scenario, batch=batch), "drag")
        wait(window.worker)
    assert changes == [] and export.isEnabled() and not soon.isActive()
    soon.setInterval(GRACE_MS)
    window.session.set_scenario(replace(scenario, batch=44), "drag")
    assert window.answering.answer is None
    soon.timeout.emit()
    assert {*changes} == {False}
    wait(window.worker)
    assert changes[-1] and export.isEnabled()


def test_a_comparison_is_exported_of_several_scenarios(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    export = action(window, "Export comparison …")
    assert not export.isEnabled()
    assert export.toolTip() == "There is one scenario; duplicate it"
    window.session.add("None", replace(INITIAL.sides[0].scenario, batch=0))  # refused
    window.session.switch_to(0)
    wait(window.worker)
    assert export.toolTip() == "There is no prediction of B yet"
    window.session.remove(1)
    window.session.add("Graph", replace(INITIAL.sides[0].scenario, mode="cuda_graph"))
    wait(window.worker)
    assert export.isEnabled()
    path = tmp_path / "comparison.html"
    monkeypatch.setattr(comparison_export, "ask_where", lambda *_: path)
    counts: list[tuple[int, int, str]] = []
    monkeypatch.setattr(Running, "count", lambda _, *count: counts.append(count))
    export.trigger()
    wait(window.worker)
    # A and B, and their only change, alone
    assert counts == [(done, 3, "predictions") for done in (1, 2, 3)]
    assert "A, B compared" in path.read_text(encoding="utf-8")


def test_a_page_of_other_steps_does_not_export_the_scenario(window: Window):
    for page in ("Cluster", "Lessons"):
        window.session.show(page)
        assert action(window, "Export report …").toolTip() == (
            "Exports show the scenario on one GPU: go to a page that shows it"
        )
    window.session.show("Compare")
    assert action(window, "Export report …").isEnabled()


def test_the_view_menu_lists_the_panels_of_the_page(window: Window):
    def listed() -> list[str]:
        panels: list[Panel] = [*window.panels.panels.values(), *window.beside]
        return [each.windowTitle() for each in panels if each.toggleViewAction().isVisible()]

    window.session.show("Map")
    assert listed() == ["Regime map", "Shelf", "Scenario"]
    window.session.show("Compare")
    assert listed() == ["From A to B", "Shelf", "Scenario"]


def test_a_copied_command_is_confirmed(window: Window):
    action(window, "Copy as command").trigger()
    assert QGuiApplication.clipboard().text().startswith("ridgepoint predict bert-base")
    assert window.status.activity.text() == "Copied the command line of the scenario"
    window.session.show("Plan")
    action(window, "Copy as command").trigger()
    command, verb, address = QGuiApplication.clipboard().text().split()
    assert (command, verb) == ("ridgepoint", "plan") and linked(address).spec == (
        window.pages.plan.planning.planned.draft.spec
    )
    assert window.status.activity.text() == "Copied the command line of the plan"


def test_a_page_without_panels_has_no_table(window: Window):
    window.session.show("Map")
    panel = next(p for o, p in window.panels.panels.items() if o.workspace == "Map")
    panel.hide()
    action(window, "Show chart as table").trigger()
    assert window.banner.label.text() == "no chart is shown; choose one in the View menu"
    panel.show()


def test_scenarios_are_not_changed_on_pages_that_do_not_show_them(window: Window):
    """Regression: on the page of the plan, Ctrl+D added a scenario and Remove removed one, without
    any visible sign."""
    window.strip.copy(0)
    names = ("Duplicate scenario", "Remove", "Edit the GPU …", "Switch to A", "Copy as command")
    for page in ("Explore", "Map", "Cluster"):
        window.session.show(page)
        assert all(action(window, name).isEnabled() for name in names), page
    for page in ("Plan", "Lessons"):
        window.session.show(page)
        enabled = [name for name in names if action(window, name).isEnabled()]
        assert enabled == (["Copy as command"] if page == "Plan" else [])
        reason = f"{page} does not show the scenarios: go to Explore"
        assert action(window, "Remove").toolTip() == reason
