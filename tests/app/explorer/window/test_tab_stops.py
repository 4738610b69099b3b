"""Tab reaches every control that the user sees, and no other."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.explorer.docks.panel import Panel
from app.explorer.window.window import Window
from tests.app.explorer.files.settling import until
from tests.app.explorer.waiting import wait


def stops(window: Window, page: str) -> list[QWidget]:
    """The widgets that Tab reaches, from the window until one repeats."""
    window.session.show(page)
    wait(window.worker)
    window.resize(1600, 1000)
    window.show()
    window.activateWindow()
    until(lambda: window.isActiveWindow())
    QApplication.processEvents()
    window.setFocus()
    seen: list[QWidget] = []
    while len(seen) < 400:
        QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Tab)
        widget = QApplication.focusWidget()
        assert widget is not None
        if widget in seen:
            return seen
        seen.append(widget)
    raise AssertionError("Tab does not come back")


def _panel_of(widget: QWidget) -> Panel | None:
    parent: QWidget | None = widget
    while parent is not None and not isinstance(parent, Panel):
        parent = parent.parentWidget()
    return parent


@pytest.fixture
def with_scenario(window: Window):
    """The window with its Scenario panel, which the shared window hides for other tests."""
    scenario = window.beside[1]
    scenario.show()
    yield window
    scenario.hide()
    window.worker.cancel_all()  # the search for advice


def test_tab_stops_only_in_panels_in_front(with_scenario: Window) -> None:
    window = with_scenario
    panels = {panel.windowTitle(): panel for panel in window.panels.panels.values()}
    for title in ("Ops", "Roofline"):
        panels[title].raise_()
        wait(window.worker)
    seen = stops(window, "Explore")
    titles = {panel.windowTitle() for panel in map(_panel_of, seen) if panel}
    assert titles >= {"Roofline", "Sweep", "Timeline", "Shelf", "Scenario"}
    covered = [p.windowTitle() for p in map(_panel_of, seen) if p and p.visibleRegion().isEmpty()]
    assert not covered


def test_tab_leads_to_each_lesson_and_to_no_hidden_page(window: Window) -> None:
    window.session.show("Lessons")
    wait(window.worker)
    view = next(v for o, v in window.panels.views.items() if o.title == "Lessons")
    view.list_all()
    seen = stops(window, "Lessons")
    names = [widget.accessibleName() for widget in seen]
    opening = [name for name in names if name.startswith("Open lesson")]
    assert len(opening) == len(view.index.rows) >= 14
    assert opening == [row.button.accessibleName() for row in view.index.rows]
    assert all(widget.isVisible() for widget in seen)
    window.session.show("Explore")
