"""The style sheet of the window, applied to its parts one after another: the visible ones before
the window paints again, the hidden ones later, each at the latest when it is shown.

Qt styles every widget below the one that gets a sheet, about 0.15 ms each; a window has more than a
thousand, most of them on pages that are not shown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QChildEvent, QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from app.explorer.background.worker import later
from app.theme import Theme
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.style import palette, sheet
from app.widgets.view import View

if TYPE_CHECKING:
    from app.explorer.window.window import Window

_OWN = """
QMainWindow::separator { background: transparent; width: 8px; height: 8px; }
QMainWindow::separator:hover { background: rgba(128, 128, 128, 60); }
"""
"""The style sheet of the window itself. It is the same in every theme, because a change of it would
restyle all parts."""
_SOON_MS = 30
"""Delay between the styling of two hidden parts, so that the window can respond."""
_FIRST_MS = 1000
"""Delay before the hidden parts of a new window are styled: its first prediction comes sooner."""


class Styling(QObject):
    """Styles the parts of a window: pages, side panels, scenario cards, head and dialogs."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.window_ = window
        self.sheet = ""
        self._waiting: list[QWidget] = []
        self._undrawn: list[DrawingCanvas] = []
        self._hidden = deque[View | DrawingCanvas]()
        self._next = later(_SOON_MS, self._style_next, self)
        self._system = later(0, self._follow_system, self)
        window.setStyleSheet(_OWN)  # before it has children, which would all be styled
        window.installEventFilter(self)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._system_changed)

    def apply(self, theme: Theme) -> None:
        """Style the visible parts and then the others, each in its own turn, so that the window
        responds between them. Then style the hidden views, and paint the pictures of their charts
        if they have old ones, so that their pages open as fast as before. In a new window, the
        pages are styled later than the other parts.
        """
        self.sheet = sheet(theme)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.setPalette(palette(theme))
        self._waiting = sorted(self._parts(), key=lambda part: not part.isVisible())
        if self.window_.isVisible():
            canvases = self.window_.findChildren(DrawingCanvas)
            self._undrawn = [canvas for canvas in canvases if canvas.isVisible()]
            self._hidden = _to_prepare(self.window_.panels.views.values())
            self.window_.setUpdatesEnabled(False)  # until all visible parts have the theme
            self._next.start(0)
        else:
            pages = self.window_.workspaces.docks.values()
            self.finish(*(part for part in self._parts() if part not in pages))
            self._next.start(_FIRST_MS)

    def finish(self, *parts: QWidget) -> None:
        """Style parts that are about to be shown, if they are not styled yet."""
        for part in parts:
            if part in self._waiting:
                self._waiting.remove(part)
                part.setStyleSheet(self.sheet)

    def _system_changed(self) -> None:
        """Follow once Qt has applied its own change: if updates are disabled during that, Qt never
        paints the window again."""
        self._system.start()

    def _follow_system(self) -> None:
        """Apply the system's new theme to a window that uses it."""
        if self.window_.session.state.theme == "system":
            self.window_.restyle()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ChildPolished and isinstance(event, QChildEvent):
            child = event.child()
            if isinstance(child, QWidget) and child.isWindow() and child.styleSheet() != self.sheet:
                child.setStyleSheet(self.sheet)
        return False

    def _style_next(self) -> None:
        self._waiting = [part for part in self._waiting if isValid(part)]  # dialogs may be closed
        if self._waiting and self._waiting[0].isVisible():
            self.finish(self._waiting[0])
            self._next.start(0)
        elif self._undrawn:  # in turns of their own: painting the window takes long enough
            canvas = self._undrawn.pop()
            if isValid(canvas):
                canvas.prepare()
            self._next.start(0)
        elif not self.window_.updatesEnabled():
            self.window_.setUpdatesEnabled(True)
            self._next.start(_SOON_MS)
        elif self._waiting:
            self.finish(self._waiting[0])
            self._next.start(_SOON_MS)
        elif self._hidden:
            self._prepare(self._hidden.popleft())
            self._next.start(_SOON_MS)

    def _prepare(self, hidden: View | DrawingCanvas) -> None:
        """Style a hidden view, or paint the picture of a hidden chart."""
        theme = self.window_.theme
        if not isValid(hidden) or hidden.isVisible():
            return
        if isinstance(hidden, DrawingCanvas):
            if hidden.has_picture and hidden.theme is theme:
                hidden.prepare()
        elif hidden.theme is not theme:
            hidden.restyle(theme)

    def _parts(self) -> list[QWidget]:
        """The widgets that get the sheet: the window's children, with the central widget replaced
        by its pages and scenario cards.
        """
        window = self.window_
        children = window.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        others = [child for child in children if child is not window.centralWidget()]
        return [*others, window.strip, *window.workspaces.docks.values()]


def _to_prepare(views: Iterable[View]) -> deque[View | DrawingCanvas]:
    """The hidden views, each followed by its charts that have pictures, because they were shown not
    long ago; views without such charts last."""
    pictured, others = list[View | DrawingCanvas](), list[View | DrawingCanvas]()
    for view in views:
        charts = [chart for chart in view.findChildren(DrawingCanvas) if chart.has_picture]
        if not view.isVisible():
            (pictured if charts else others).extend((view, *charts))
    return deque([*pictured, *others])
