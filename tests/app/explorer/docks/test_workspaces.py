"""Workspaces: one is shown at a time, each with its own views and layout."""

from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QTabBar

from app.explorer.docks.panel import Panel
from app.explorer.docks.workspaces import Workspaces
from app.theme import DARK
from app.widgets.drawing import application
from app.widgets.view import View


class _Plain(View):
    def draw(self, sides: Any, current: int) -> None: ...


def _view(name: str, place: str) -> View:
    kind = type(name, (_Plain,), {"title": name, "workspace": place})
    return kind(DARK)


@pytest.fixture
def workspaces() -> Workspaces:
    running = application()
    views = [_view(f"{place} {at}", place) for place in ("Map", "Explore") for at in range(5)]
    workspaces = Workspaces()
    workspaces.fill([(view.workspace, Panel(view.title, view, DARK)) for view in views])
    workspaces.resize(1200, 800)
    workspaces.show()
    running.processEvents()
    return workspaces


def test_each_view_is_in_its_workspace(workspaces: Workspaces):
    assert list(workspaces.docks) == ["Explore", "Map"]
    for name, docks in workspaces.docks.items():
        assert [p.windowTitle() for p in docks.panels] == [f"{name} {at}" for at in range(5)]


def test_one_is_shown_and_an_unknown_one_is_the_first(workspaces: Workspaces):
    assert workspaces.show_workspace("Map") == "Map"
    assert workspaces.currentWidget() is workspaces.docks["Map"]
    assert not workspaces.docks["Explore"].isVisible()
    assert workspaces.show_workspace("Nowhere") == "Explore"


def test_a_workspace_that_is_not_shown_needs_no_room(workspaces: Workspaces):
    inside = workspaces.docks["Map"].panels[0].inside
    assert inside is not None
    inside.setMinimumSize(3000, 200)
    workspaces.show_workspace("Explore")
    QCoreApplication.processEvents()
    assert workspaces.minimumSizeHint().width() < 2000
    workspaces.show_workspace("Map")
    QCoreApplication.processEvents()
    assert workspaces.minimumSizeHint().width() >= 3000


def test_the_layout_of_one_workspace_comes_back_and_the_other_stays(workspaces: Workspaces):
    panels = workspaces.docks["Map"].panels
    workspaces.show_workspace("Map")
    first = workspaces.layouts()
    panels[0].close()
    panels[2].setFloating(True)
    second = workspaces.layouts()
    assert second["Map"] != first["Map"] and second["Explore"] == first["Explore"]
    workspaces.restore(first)
    assert not panels[0].isHidden() and not panels[2].isFloating()
    workspaces.restore({"Map": second["Map"], "Explore": "no layout at all"})
    assert panels[0].isHidden() and panels[2].isFloating()
    workspaces.docks["Map"].reset()
    assert not any(panel.isHidden() or panel.isFloating() for panel in panels)


def test_a_panel_that_floats_is_over_its_own_workspace_alone(workspaces: Workspaces):
    workspaces.show_workspace("Map")
    QCoreApplication.processEvents()
    panel, closed = workspaces.docks["Map"].panels[:2]
    for each in (panel, closed):
        each.setFloating(True)
    closed.hide()
    QCoreApplication.processEvents()
    assert panel.isVisible()
    workspaces.show_workspace("Explore")
    QCoreApplication.processEvents()
    assert not panel.isVisible()
    layouts = workspaces.layouts()
    workspaces.show_workspace("Map")
    QCoreApplication.processEvents()
    assert panel.isVisible() and panel.isFloating()
    assert not closed.isVisible()
    assert workspaces.layouts()["Map"] == layouts["Map"]


def groups(workspaces: Workspaces) -> set[frozenset[str]]:
    docks = workspaces.docks["Explore"]
    return {
        frozenset(p.windowTitle() for p in (panel, *docks.tabifiedDockWidgets(panel)))
        for panel in docks.panels
    }


def resized(workspaces: Workspaces, wide: int, high: int) -> None:
    workspaces.resize(wide, high)
    for _ in range(3):
        QCoreApplication.processEvents()


def test_explore_has_three_groups_where_there_is_room(workspaces: Workspaces):
    workspaces.show_workspace("Explore")
    narrow = {frozenset({f"Explore {at}" for at in row}) for row in ((0, 2, 4), (1, 3))}
    wide = {frozenset({f"Explore {at}" for at in row}) for row in ((0, 4), (1, 3), (2,))}
    panels = workspaces.docks["Explore"].panels
    for size, expected in (((800, 600), narrow), ((1100, 700), wide), ((800, 600), narrow)):
        resized(workspaces, *size)
        assert groups(workspaces) == expected
        assert not panels[0].visibleRegion().isEmpty()
    resized(workspaces, 1100, 700)
    first, second, third = (panel.geometry() for panel in panels[:3])
    assert abs(first.top() - second.top()) < 2 and first.right() < second.left()
    assert third.top() > first.bottom() and third.width() > first.width() + second.width()


def test_explore_is_one_row_where_two_do_not_fit(workspaces: Workspaces):
    explore = workspaces.docks["Explore"]
    workspaces.show_workspace("Explore")
    for wide, high, together in ((430, 280, 4), (1200, 800, 1), (430, 280, 4), (600, 600, 2)):
        workspaces.resize(wide, high)
        for _ in range(3):
            QCoreApplication.processEvents()
        assert (workspaces.width(), workspaces.height()) == (wide, high)
        assert len(explore.tabifiedDockWidgets(explore.panels[0])) == together
    bars = [bar for bar in explore.findChildren(QTabBar) if bar.isVisible()]
    assert bars and all(bar.elideMode() == Qt.TextElideMode.ElideNone for bar in bars)


def test_the_rows_of_explore_keep_their_shares(workspaces: Workspaces):
    """A banner takes height and gives it back."""
    workspaces.show_workspace("Explore")
    panels = workspaces.docks["Explore"].panels
    for high in (700, 560, 900, 700):
        resized(workspaces, 1100, high)
        above, below = panels[0].height(), panels[2].height()
        assert 0.5 < above / (above + below) < 0.66, high


def test_a_layout_of_the_users_own_stays_whatever_the_size(workspaces: Workspaces):
    workspaces.show_workspace("Explore")
    resized(workspaces, 800, 600)
    docks = workspaces.docks["Explore"]
    docks.removeDockWidget(docks.panels[1])
    docks.tabifyDockWidget(docks.panels[0], docks.panels[1])
    docks.panels[1].show()
    chosen = groups(workspaces)
    assert frozenset({f"Explore {at}" for at in (0, 1, 2, 4)}) in chosen
    resized(workspaces, 1200, 800)
    assert groups(workspaces) == chosen
    docks.reset()
    resized(workspaces, 1200, 801)
    assert groups(workspaces) != chosen


def test_the_tabs_of_a_group_have_a_name(workspaces: Workspaces):
    bars = workspaces.docks["Explore"].findChildren(QTabBar)
    names = {bar.accessibleName() for bar in bars if bar.isVisible()}
    assert names and all(name.startswith("Panels: Explore ") for name in names)
