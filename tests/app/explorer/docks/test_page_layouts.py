"""The columns of the pages Cluster and Plan follow the size of the window."""

from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtTest import QTest

from app.explorer.docks.panel import Panel
from app.explorer.docks.workspaces import Docks, Workspaces
from app.theme import DARK
from app.widgets.drawing import application
from app.widgets.view import View

PANELS = {
    "Cluster": ("Split", "The cluster", "Ranks", "Collectives", "Scaling", "Timeline"),
    "Plan": ("Workload", "Front", "Queue", "Verdict"),
}


class _Plain(View):
    def draw(self, sides: Any, current: int) -> None: ...


def _view(title: str, page: str) -> View:
    return type("View", (_Plain,), {"title": title, "workspace": page})(DARK)


@pytest.fixture
def workspaces() -> Workspaces:
    running = application()
    workspaces = Workspaces()
    views = [_view(title, page) for page, titles in PANELS.items() for title in titles]
    workspaces.fill([(view.workspace, Panel(view.title, view, DARK)) for view in views])
    running.processEvents()
    return workspaces


def shown(workspaces: Workspaces, page: str, *sizes: tuple[int, int]) -> Docks:
    workspaces.show_workspace(page)
    for size in sizes:
        workspaces.resize(*size)
        workspaces.show()
        for _ in range(4):
            QCoreApplication.processEvents()
    return workspaces.docks[page]


def widths(docks: Docks) -> dict[str, int]:
    front = [panel for panel in docks.panels if not panel.visibleRegion().isEmpty()]
    return {panel.windowTitle(): panel.width() for panel in front}


def test_the_cluster_has_most_of_its_page_at_any_size(workspaces: Workspaces):
    sizes = ((1264, 640), (970, 540), (1600, 840), (1264, 640))
    for at in range(1, len(sizes) + 1):
        docks = shown(workspaces, "Cluster", *sizes[:at])
        wide = widths(docks)
        assert {*wide} == {"Split", "The cluster", "Scaling", "Collectives"}
        assert 320 <= wide["Split"] <= 400
        assert wide["The cluster"] >= 0.64 * sizes[at - 1][0]
        assert abs(wide["Scaling"] - wide["Collectives"]) <= 6


@pytest.mark.parametrize("page", list(PANELS))
def test_a_dragged_separator_keeps_its_share(workspaces: Workspaces, page: str):
    docks = shown(workspaces, page, (1264, 640))
    first, second = docks.panels[:2]
    start = QPoint((first.geometry().right() + second.geometry().left()) // 2, 300)
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    before = first.width()
    QTest.mousePress(docks, left, none, start)
    QTest.mouseMove(docks, start + QPoint(160, 0))
    QCoreApplication.processEvents()
    QTest.mouseRelease(docks, left, none, start + QPoint(160, 0))
    QCoreApplication.processEvents()
    assert first.width() > before + 100
    shown(workspaces, page, (1300, 640))
    assert first.width() > before + 100
    docks.reset()
    for _ in range(3):
        QCoreApplication.processEvents()
    assert abs(first.width() - before) < 20
