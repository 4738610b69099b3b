"""The base classes of the views of a step over several GPUs: any view, and views with one
picture."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QToolTip, QVBoxLayout, QWidget

from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.page import Clustered
from app.answers.side import Side
from app.drawing import Drawing, Item, Text
from app.theme import SUPPORT_PX, Theme
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.vertical_scroll_area import VerticalScrollArea
from app.widgets.view import View


class ClusterView(View):
    """A view of the session's step over several GPUs; it requests changes by signals."""

    workspace: ClassVar[str] = "Cluster"
    follows: ClassVar[bool] = False
    dims: ClassVar[bool] = True
    """Whether the panel is dimmed while its figures are stale."""
    edited = Signal(object, str, str)
    """ClusterQuestion, the name of the change, and the key under which changes merge."""
    cancelled = Signal()
    retried = Signal()
    """The user asked to predict again."""
    sought = Signal()
    """The user asked for the fastest split."""
    scaled = Signal(bool)
    """The user asked for strong scaling (True) or weak scaling (False)."""
    picked = Signal(int)
    """The user picked a row of the answer's collectives; −1 for none."""
    collective = -1
    """The picked row."""
    clustered: Clustered | None = None

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        """Do nothing: the page's controller supplies the session's question."""

    def show_clustered(self, clustered: Clustered) -> None:
        """Show a step, or its progress."""
        self.clustered = clustered
        self.update_clustered(clustered)

    @abstractmethod
    def update_clustered(self, clustered: Clustered) -> None:
        """Draw from `clustered`."""

    def show_collective(self, row: int) -> None:
        """Highlight a row of the answer's collectives; −1 for none."""
        self.collective = row

    def refuse(self, reason: str) -> None:
        """Show the reason why the last edit is refused."""


class ClusterCanvas(DrawingCanvas):
    """The picture of a view; the tooltip of a spot appears beside the pointer."""

    def __init__(self, theme: Theme, view: PictureView) -> None:
        super().__init__(theme, view.title)
        self.view = view
        self.shown: tuple[object, ...] = ()

    def put(self, clustered: Clustered) -> None:
        """Draw again if the contents have changed."""
        shown = (
            clustered.answer,
            clustered.strong_points if clustered.strong else clustered.points,
            clustered.strong,
            clustered.empty,
            bool(clustered.progress),
        )
        if shown != self.shown:
            self.shown = shown
            self.redraw()
            drawn = self.drawn
            self.setAccessibleDescription(drawn.title if drawn else "")

    def depends_on(self) -> object:
        return self.view.depends_on()

    def overlay(self) -> tuple[Item, ...]:
        drawn = self.drawn
        return self.view.overlay(drawn) if drawn else ()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            drawn = self.drawn
            spot = drawn.pick(event.pos().x(), event.pos().y()) if drawn else None
            QToolTip.showText(event.globalPos(), spot.tooltip if spot else "", self)
            return True
        return super().event(event)

    def item_rows(self) -> list[list[str]]:
        spots = self.drawn.spots if self.drawn and self.over is not None else ()
        words = next((s.tooltip for s in spots if s.key == self.over and s.tooltip), "")
        return [[line] for line in words.splitlines()]

    def drawing(self, width: float, height: float) -> Drawing | None:
        clustered = self.view.clustered
        if clustered is None:
            return None
        if clustered.answer is None:
            words = clustered.empty
            text = Text(width / 2, height / 2, words, "ink3", SUPPORT_PX, anchor="middle")
            return Drawing(width, height, (text,), title=words)
        return self.view.picture(clustered, clustered.answer, width, height)


class PictureView(ClusterView):
    """A view of one picture, which scrolls if its rows need more height."""

    picks: ClassVar[bool] = False
    """Whether the keys of its spots are rows of collectives."""
    canvas_class: ClassVar[type[ClusterCanvas]] = ClusterCanvas

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.canvas = self.canvas_class(theme, self)
        self.canvas.pressed_on.connect(self._pressed)
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(0)
        self.area = VerticalScrollArea(self.canvas)
        self.column.addWidget(self.area)
        self.setFocusProxy(self.canvas)

    @abstractmethod
    def picture(
        self, clustered: Clustered, answer: ClusterAnswer, width: float, height: float
    ) -> Drawing:
        """The drawing at a size in pixels."""

    def depends_on(self) -> object:
        """The state that the picture depends on besides the step, such as a zoom."""
        return None

    def overlay(self, drawn: Drawing) -> tuple[Item, ...]:
        """The drawing above the picture, such as a selection."""
        return ()

    def step(self, by: int) -> None:
        """Pick the next or the previous row of collectives."""
        answer = self.clustered.answer if self.clustered else None
        if answer is not None and answer.collectives:
            row = self.collective + by if self.collective >= 0 else 0
            self.picked.emit(min(max(row, 0), len(answer.collectives) - 1))

    def _pressed(self, key: object) -> None:
        if isinstance(key, int) and self.picks:
            self.picked.emit(-1 if key == self.collective else key)
        elif self.picks:
            self.picked.emit(-1)

    def show_collective(self, row: int) -> None:
        super().show_collective(row)
        self.canvas.update()

    def needed_height(self, answer: ClusterAnswer) -> float:
        """The minimum height of the picture in pixels."""
        return 0.0

    def update_clustered(self, clustered: Clustered) -> None:
        needed = 0.0 if clustered.answer is None else self.needed_height(clustered.answer)
        self.canvas.setMinimumHeight(max(110, int(needed)))
        self.canvas.put(clustered)

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.canvas.restyle(theme)
