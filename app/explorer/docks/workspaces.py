"""Workspaces: inner windows of dock panels, one of which is shown."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QStackedWidget, QTabBar, QTabWidget

from app.explorer.background.worker import later
from app.explorer.docks import explore_layout
from app.explorer.docks.page_layouts import PAGE_LAYOUTS
from app.explorer.docks.panel import Panel
from app.widgets.tab_order import insert_after, stop_before, tab_stops

ORDER = ("Explore", "Map", "Compare", "Fusion", "Factory", "Cluster", "Plan", "Lessons")
_WIDE, _NARROW, _STACKED = 62, 38, 3


class Docks(QMainWindow):
    """The panels of one workspace."""

    def __init__(self, workspace: str) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setObjectName(workspace)
        self.setAccessibleName(workspace)
        self.setDockNestingEnabled(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.panels: list[Panel] = []
        self.is_arranged = False
        """Whether the panels are built and placed: when the workspace is first shown, or before."""
        self._sized = True
        self._own_sizes = False
        """Whether the user chose the sizes of panels, which are then kept."""
        self._arranging = False
        self._at_press: list[QSize] = []
        self._waiting: QByteArray | None = None
        self._afloat: list[Panel] = []
        self._afloat_state: QByteArray | None = None
        self._rearrange = later(0, self._follow_size, self)

    def arrange(self) -> None:
        """Build and place the panels, if they are not placed yet."""
        if not self.is_arranged:
            self.reset()
            stops = [stop for panel in self.panels for stop in tab_stops(panel)]
            bars = [stop for stop in tab_stops(self) if stop not in stops]
            insert_after(stop_before(self), [*stops, *bars])

    def reset(self) -> None:
        """Apply the default layout. The layout of Explore depends on its size. Any other workspace
        has a wide first panel with the others beside it; the fourth and later panels are tabs."""
        area = Qt.DockWidgetArea.LeftDockWidgetArea
        if self.is_arranged:
            self._waiting = None
        for panel in self.panels:
            panel.build()
            if self.is_arranged:
                panel.setFloating(False)
                self.removeDockWidget(panel)
        self.is_arranged = True
        down, across = Qt.Orientation.Vertical, Qt.Orientation.Horizontal
        docks: Sequence[QDockWidget] = self.panels
        if self.objectName() == "Explore":
            explore_layout.arrange(self, explore_layout.shape_of(self.size()))
            self._own_sizes = False
            return
        page = PAGE_LAYOUTS.get(self.objectName())
        if page is not None:
            page.arrange(self)
            self._sized = self._own_sizes = False
            if self.isVisible():
                self._size_page()
            return
        for at, dock in enumerate(docks):
            if at == 0:
                self.addDockWidget(area, dock)
            elif at == 1:
                self.splitDockWidget(docks[0], dock, across)
            elif 1 < at <= _STACKED:
                self.splitDockWidget(docks[at - 1], dock, down)
            elif at > 1:
                self.tabifyDockWidget(docks[_STACKED], dock)
        for dock in docks:  # not earlier: stacked docks would enlarge the window
            dock.show()
        for dock in docks[: _STACKED + 1]:
            dock.raise_()
        if len(docks) > 1:
            self.resizeDocks(docks[:2], [_WIDE, _NARROW], across)

    def _size_page(self) -> None:
        """Give the columns of the page's default layout their shares of the current size."""
        self._sized = True
        PAGE_LAYOUTS[self.objectName()].size(self)

    def restore_state(self, state: QByteArray) -> None:
        """Restore a layout once the docks are shown, because Qt divides their current size."""
        self._waiting, self._afloat, self._afloat_state = state, [], None
        if self.isVisible():
            self._restore_waiting()

    def save_state(self) -> QByteArray | None:
        """The layout; None for the default layout before the panels are placed."""
        waiting = self._waiting if self._afloat_state is None else self._afloat_state
        if waiting is None and not self.is_arranged:
            return None
        return self.saveState() if waiting is None else waiting

    def _hide_afloat(self) -> None:
        """Hide the floating panels, which Qt would leave over the other workspaces."""
        self._afloat = [p for p in self.panels if p.isFloating() and not p.isHidden()]
        if self._afloat:
            self._afloat_state = self.saveState()
        for panel in self._afloat:
            panel.hide()

    def _show_afloat(self) -> None:
        self._afloat_state = None
        for panel in self._afloat:
            panel.show()
        self._afloat = []

    def _restore_waiting(self) -> None:
        state, self._waiting = self._waiting, None
        if state is not None:
            self._own_sizes = self.restoreState(state)
            self._sized = self._own_sizes or self._sized

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.Hide and not event.spontaneous():
            self._hide_afloat()
        if event.type() == QEvent.Type.Show:
            self.arrange()
            self._show_afloat()
            self._restore_waiting()
            if not self._sized:
                self._size_page()
            if self.objectName() == "Explore":
                self._follow_size()
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Show):
            self._tidy()
        if event.type() == QEvent.Type.MouseButtonPress:
            self._at_press = self._sizes()
        if event.type() == QEvent.Type.MouseButtonRelease and self._at_press != self._sizes():
            self.keep_sizes()
        return done

    def keep_sizes(self) -> None:
        """Keep the sizes of the panels when the window is resized."""
        self._own_sizes = True

    def _sizes(self) -> list[QSize]:
        return [panel.size() for panel in self.panels]

    def minimumSizeHint(self) -> QSize:
        """The minimum size. Explore returns that of its lowest and narrowest layout, so that
        neither another layout nor a group of tabs that is being placed keeps the window large."""
        if self.objectName() == "Explore" and (self._arranging or self._has_default_layout):
            return explore_layout.least_size(self.panels)
        return super().minimumSizeHint()

    @property
    def _has_default_layout(self) -> bool:
        """Whether Explore is in one of its default layouts."""
        return any(explore_layout.is_arranged(self, each) for each in explore_layout.SHAPES)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.isVisible():
            self._rearrange.start()  # not here: Qt is laying out the panels

    def settle(self) -> None:
        """Divide the current size now if it has changed; if it were divided after the first
        painting, every chart would be drawn twice."""
        if self._rearrange.isActive():
            self._rearrange.stop()
            self._follow_size()
            QCoreApplication.sendPostedEvents(self, QEvent.Type.LayoutRequest)  # may move by 1 px

    def _follow_size(self) -> None:
        """Divide the current size as the default layout does. Explore changes between its default
        layouts, if one of them is in place."""
        own = self._own_sizes or any(panel.isHidden() for panel in self.panels)
        if self.objectName() in PAGE_LAYOUTS and not own:
            self._size_page()
        if self.objectName() != "Explore":
            return
        shape = explore_layout.shape_of(self.size())
        if explore_layout.is_arranged(self, shape):
            if not self._own_sizes:
                explore_layout.divide(self, shape)
            return
        if not self._has_default_layout:
            return
        front = [panel for panel in self.panels if not panel.visibleRegion().isEmpty()]
        for panel in self.panels:  # raising each would create its view
            panel.blockSignals(True)
        self._arranging = True
        self.reset()
        self._arranging = False
        for panel in reversed(front):
            panel.raise_()
        for panel in self.panels:
            panel.blockSignals(False)
        for group in explore_layout.groups(self.panels, shape):
            shown = next((panel for panel in front if panel in group), group[0])
            shown.visibilityChanged.emit(True)

    def _tidy(self) -> None:
        """Hide the tab bars of former groups, which Qt leaves in place. The others scroll if there
        is little room: elided titles of many tabs would be a few letters each."""
        groups = [
            {dock.windowTitle() for dock in (panel, *self.tabifiedDockWidgets(panel))}
            for panel in self.panels
        ]
        nearest: dict[frozenset[str], QTabBar] = {}
        for bar in self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            tabs = [bar.tabText(at) for at in range(bar.count())]
            bar.setAccessibleName(f"Panels: {', '.join(tabs)}")
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            other = nearest.get(frozenset(tabs))
            if {*tabs} not in groups:
                bar.hide()
            elif other is None or self._distance(bar, tabs) < self._distance(other, tabs):
                nearest[frozenset(tabs)] = bar
                if other is not None:
                    other.hide()
            else:
                bar.hide()

    def _distance(self, bar: QTabBar, tabs: list[str]) -> int:
        """Pixels between the place of a tab bar and the panels of its tabs: another bar may have
        the same tabs."""
        group = [panel for panel in self.panels if panel.windowTitle() in tabs]
        return min((panel.pos() - bar.geometry().bottomLeft()).manhattanLength() for panel in group)


class Workspaces(QStackedWidget):
    """The docks of all workspaces, in the order of `ORDER`."""

    def __init__(self) -> None:
        super().__init__()
        self.docks: dict[str, Docks] = {}

    def fill(self, placed: Sequence[tuple[str, Panel]]) -> None:
        """Place panels, given as pairs of workspace and panel."""
        used = {name for name, _ in placed}
        for name in (name for name in ORDER if name in used):
            docks = self.docks[name] = Docks(name)
            docks.panels = [panel for place, panel in placed if place == name]
            for panel in docks.panels:
                panel.setParent(docks)
                panel.topLevelChanged.connect(docks.keep_sizes)
            self.addWidget(docks)

    def show_workspace(self, name: str) -> str:
        """Show a workspace, or the first if the name is unknown. Returns the name shown."""
        name = name if name in self.docks else next(iter(self.docks))
        self.docks[name].arrange()
        self.setCurrentWidget(self.docks[name])
        self.updateGeometry()
        return name

    def minimumSizeHint(self) -> QSize:
        """The minimum size of the workspace shown; hidden workspaces need no space."""
        shown = self.currentWidget()
        return shown.minimumSizeHint() if shown else QSize()

    def layouts(self) -> dict[str, str]:
        """The layout of each workspace whose panels are placed: Qt's bytes in base 64."""
        states = {name: docks.save_state() for name, docks in self.docks.items()}
        return {name: to_base64(state) for name, state in states.items() if state is not None}

    def restore(self, layouts: dict[str, str]) -> None:
        """Restore layouts; an invalid one is ignored."""
        for name, docks in self.docks.items():
            if name in layouts:
                docks.restore_state(from_base64(layouts[name]))


def to_base64(data: QByteArray) -> str:
    """Encode Qt's bytes as text."""
    return bytes(data.toBase64().data()).decode("ascii")


def from_base64(text: str) -> QByteArray:
    """Decode Qt's bytes; empty for an invalid text."""
    return QByteArray.fromBase64(text.encode("ascii", "replace"))
