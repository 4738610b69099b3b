"""A new window builds and imports only what its first frame shows; the rest follows in steps."""

import json
import os
import subprocess
import sys
import time

import pytest
from PySide6.QtCore import QCoreApplication

from app.examples import FIRST
from app.explorer.shelf.card_widget import CardWidget
from app.explorer.window.ahead import Ahead
from app.explorer.window.start import open_window
from app.explorer.window.window import Window
from app.views.catalogue import VIEWS
from app.widgets.drawing import application
from tests.app.explorer.files.settling import until

LATE = (
    "app.answers.cluster.answer",
    "app.answers.plan.draft",
    "app.explorer.docks.table_dialog",
    "app.explorer.window.dialogs.palette",
    "app.explorer.window.pages.plan",
    "app.lessons",
    "app.report.exports",
    "simulator.measured.overlay",
    "simulator.planning",
    "simulator.planning.plan",
)
"""Modules that no first frame needs."""
_OPEN = """
import json, sys
from app.explorer.window.ahead import Ahead
from app.explorer.window.start import open_window
from app.examples import FIRST
from app.widgets.drawing import application
running = application()
window = open_window(FIRST)
window.show()
print(json.dumps(sorted(sys.modules)))
window.close()
window.worker.close()
"""


@pytest.fixture
def new_window():
    running = application()
    window = open_window(FIRST)
    yield window
    window.close()
    window.worker.close()
    del running


def _built(window: Window) -> set[str]:
    return {panel.windowTitle() for panel in window.panels.panels.values() if panel.is_built}


def test_a_new_window_builds_the_panels_of_its_page_and_no_other(new_window: Window):
    explore = {offered.title for offered in VIEWS if offered.workspace == "Explore"}
    assert _built(new_window) == explore and len(explore) == 8
    assert new_window.pages.pages == []
    hidden = [name for name, docks in new_window.workspaces.docks.items() if not docks.is_arranged]
    assert hidden == ["Map", "Compare", "Fusion", "Factory", "Cluster", "Plan", "Lessons"]


def test_the_shelf_builds_the_cards_that_it_shows(new_window: Window):
    shelf = new_window.shelf
    built = shelf.findChildren(CardWidget)
    hidden = [card for card in built if card.isHidden()]
    # three of each of four sections; cards in use below them take the place of one of the three
    assert len(built) - len(hidden) == 12 and len(hidden) <= 3
    assert len(shelf.cards) > 150
    shelf.search.setText("h200 sxm")
    shown = [card.card.name for card in shelf.findChildren(CardWidget) if not card.isHidden()]
    assert shown == ["h200_sxm"]


def test_cards_created_later_are_in_the_order_of_their_section(new_window: Window):
    shelf = new_window.shelf
    shelf.more["gpu"].click()
    names = [card.name for card in shelf.cards if card.kind == "gpu"]
    widgets = [shelf.widget(f"gpu:{name}") for name in names]
    followed = []
    widget = widgets[0]
    while widget is not shelf.more["gpu"]:  # along the Tab order
        if isinstance(widget, CardWidget):
            followed.append(widget.card.name)
        widget = widget.nextInFocusChain()
        assert widget is not None
    assert followed == names
    place = shelf._places["gpu"]
    laid_out = [place.itemAt(index).widget() for index in range(place.count())]
    assert laid_out == widgets


def test_the_first_frame_imports_no_module_of_other_pages():
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    words = [sys.executable, "-c", _OPEN]
    output = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    imported = set(json.loads(output.stdout))
    assert "app.views.roofline.view" in imported
    assert not imported & {*LATE}


def test_hidden_pages_are_prepared_in_steps_after_the_first_prediction(new_window: Window):
    ahead = new_window.findChild(Ahead)
    assert ahead is not None
    new_window.show()
    until(lambda: ahead.is_done)
    assert all(docks.is_arranged for docks in new_window.workspaces.docks.values())
    assert set(new_window.panels.views) == set(VIEWS)
    assert len(new_window.pages.pages) == 3
    assert new_window.session.state.workspace == "Explore"
    undrawn = {offered.title for offered in new_window.panels._stale}
    assert {"Fusion", "Regime map", "Lessons", "Verdict"} <= undrawn


def test_no_step_is_taken_while_a_prediction_is_awaited(
    new_window: Window, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(type(new_window.answering), "waiting", True)
    ahead = new_window.findChild(Ahead)
    assert ahead is not None
    before = len(ahead._steps)
    ahead._step()
    assert len(ahead._steps) == before
    monkeypatch.setattr(type(new_window.answering), "waiting", False)
    ahead._step()
    assert len(ahead._steps) == before - 1


def test_no_step_is_taken_during_a_drag(new_window: Window, monkeypatch: pytest.MonkeyPatch):
    """Even if each prediction ends before the next move."""
    monkeypatch.setattr("app.explorer.window.ahead._FIRST_MS", 0)
    monkeypatch.setattr("app.explorer.window.ahead._STEP_MS", 0)
    monkeypatch.setattr("app.explorer.window.ahead._CALM_MS", 60_000)
    ahead = new_window.findChild(Ahead)
    assert ahead is not None
    steps = len(ahead._steps)
    until(lambda: len(ahead._steps) < steps)
    new_window.inspector.batch.slider.setValue(20)
    steps = len(ahead._steps)
    until(lambda: new_window.answering.up_to_date)
    for _ in range(20):  # `qWait` would also delete the objects of earlier windows
        QCoreApplication.processEvents()
        time.sleep(0.005)
    assert len(ahead._steps) == steps > 0
    ahead._step()  # as when the time is over
    assert len(ahead._steps) == steps - 1
