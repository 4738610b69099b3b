"""The timeline of each distinct rank: computing, waiting and communicating."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from app.answers.cluster.answer import ClusterAnswer, RankAnswer
from app.answers.cluster.page import Clustered
from app.answers.cluster.words import ranks_words
from app.charts.cluster.lanes import lanes_across, lanes_drawing, lanes_height, rank_pin
from app.drawing.picture import Drawing
from app.scenes.pixel_scale import Scale
from app.scenes.timeline.pins import Pin, Pins
from app.theme import Theme
from app.views.cluster.cluster_view import ClusterCanvas, PictureView
from app.widgets.drawn import QT_METRICS

_CLOSEST = 1e-4
"""The smallest visible part of the step."""


class LanesCanvas(ClusterCanvas):
    """Zooms with the wheel, pans with Shift or the arrow keys, and picks collectives."""

    view: RankTimeline

    def wheelEvent(self, event: QWheelEvent) -> None:
        turned = event.angleDelta()
        if turned.x() or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.view.pan(-(turned.x() or turned.y()) / 1200)
        else:
            self.view.zoom(event.position().x(), 1.2 ** (turned.y() / 120))
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.view.look(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        middle = self.width() / 2
        actions = {
            Qt.Key.Key_W: lambda: self.view.zoom(middle, 1.5),
            Qt.Key.Key_Plus: lambda: self.view.zoom(middle, 1.5),
            Qt.Key.Key_S: lambda: self.view.zoom(middle, 1 / 1.5),
            Qt.Key.Key_Minus: lambda: self.view.zoom(middle, 1 / 1.5),
            Qt.Key.Key_Left: lambda: self.view.pan(-0.2),
            Qt.Key.Key_A: lambda: self.view.pan(-0.2),
            Qt.Key.Key_Right: lambda: self.view.pan(0.2),
            Qt.Key.Key_D: lambda: self.view.pan(0.2),
            Qt.Key.Key_F: lambda: self.view.look(None),
            Qt.Key.Key_Up: lambda: self.view.step(-1),
            Qt.Key.Key_Down: lambda: self.view.step(1),
            Qt.Key.Key_P: lambda: self.view.toggle_pin(self.over),
        }
        action = actions.get(Qt.Key(event.key()))
        if action is None:
            super().keyPressEvent(event)
        else:
            action()


class PinnedRanks(LanesCanvas):
    """The legend, the times and the pinned ranks, above the ranks that scroll."""

    def drawing(self, width: float, height: float) -> Drawing | None:
        clustered = self.view.clustered
        if clustered is None or clustered.answer is None:
            return None
        return self.view.lanes_of(clustered.answer, width, height, pinned=True)


class RankTimeline(PictureView):
    """A lane of kernels and one of collectives for each distinct rank. P, or a click on a rank's
    name, pins the rank to the top, where it stays while the others scroll."""

    title: ClassVar[str] = "Rank timeline"
    picks = True
    canvas_class = LanesCanvas
    shown_s: tuple[float, float] | None = None
    """The visible seconds; None for all."""
    _answer: ClusterAnswer | None = None

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.pins: Pins = ()
        self.head = PinnedRanks(theme, self)
        self.head.setAccessibleName("Pinned ranks")
        self.head.pressed_on.connect(self._pressed)
        self.head.hide()
        self.column.insertWidget(0, self.head)

    def picture(
        self, clustered: Clustered, answer: ClusterAnswer, width: float, height: float
    ) -> Drawing:
        return self.lanes_of(answer, width, height, pinned=False)

    def lanes_of(self, answer: ClusterAnswer, width: float, height: float, pinned: bool) -> Drawing:
        """The pinned ranks with the legend and the times, or the others; all ranks if none is
        pinned."""
        fixed = [rank for rank in answer.ranks if rank_pin(rank) in self.pins]
        ranks = fixed if pinned else [rank for rank in answer.ranks if rank not in fixed]
        return lanes_drawing(
            answer,
            width,
            height,
            QT_METRICS,
            self.shown_s,
            self.collective,
            sorted(ranks, key=self._pinned_at),
            self.pins,
            headed=pinned or not fixed,
        )

    def _pinned_at(self, rank: RankAnswer) -> int:
        """The place of a rank among the pins; 0 if it is not pinned."""
        pin = rank_pin(rank)
        return self.pins.index(pin) if pin in self.pins else 0

    def show_pins(self, pins: Pins) -> None:
        self.pins = pins
        self._place_pins()

    def _place_pins(self) -> None:
        fixed = self._pinned
        self.head.setVisible(bool(fixed))
        self.head.setFixedHeight(round(lanes_height(len(fixed))))
        if self._answer is not None:
            self.canvas.setMinimumHeight(round(self.needed_height(self._answer)))
        self.canvas.redraw()
        self.head.redraw()

    @property
    def _pinned(self) -> list[RankAnswer]:
        ranks = self._answer.ranks if self._answer else ()
        return [rank for rank in ranks if rank_pin(rank) in self.pins]

    def toggle_pin(self, under: object) -> None:
        """Pin or unpin a rank: the one of the item under the pointer, else the first one that is
        not pinned, else the last pinned one."""
        ranks = self._answer.ranks if self._answer else ()
        pins = [rank_pin(rank) for rank in ranks]
        if isinstance(under, Pin):
            wanted = [under]
        else:
            here = [rank_pin(rank) for rank in ranks if rank.ranks == under]
            wanted = here or [pin for pin in pins if pin not in self.pins]
        for pin in wanted[:1] or [p for p in self.pins if p in pins][-1:]:
            self.pin_requested.emit(pin)

    def _pressed(self, key: object) -> None:
        if isinstance(key, Pin):
            self.pin_requested.emit(key)
        else:
            super()._pressed(key)

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.head.restyle(theme)

    def show_collective(self, row: int) -> None:
        super().show_collective(row)
        self.head.update()

    def depends_on(self) -> object:
        return self.shown_s, self.collective, self.pins

    def update_clustered(self, clustered: Clustered) -> None:
        if clustered.answer is not self._answer:
            self._answer, self.shown_s = clustered.answer, None
            self._place_pins()
        super().update_clustered(clustered)
        self.head.put(clustered)

    def look(self, shown_s: tuple[float, float] | None) -> None:
        """Show these seconds of the step, clipped to its length; None for all."""
        if self._answer is None:
            return
        end_s = lanes_across(self._answer, self.canvas.width()).high
        if shown_s is not None:
            wide = max(min(shown_s[1] - shown_s[0], end_s), _CLOSEST * end_s)
            start = min(max(shown_s[0], 0.0), end_s - wide)
            shown_s = None if wide >= end_s else (start, start + wide)
        self.shown_s = shown_s
        self.canvas.update()
        self.head.update()

    def zoom(self, pixel: float, times: float) -> None:
        """Zoom by a factor around a pixel."""
        scale = self._scale
        if scale is not None:
            near = scale.zoomed(min(max(pixel, scale.begin), scale.end), times)
            self.look((near.low, near.high))

    def pan(self, share: float) -> None:
        """Pan by a share of the visible time."""
        scale = self._scale
        if scale is not None:
            by_s = share * (scale.high - scale.low)
            self.look((scale.low + by_s, scale.high + by_s))

    @property
    def _scale(self) -> Scale | None:
        if self._answer is None:
            return None
        whole = lanes_across(self._answer, self.canvas.width())
        low, high = self.shown_s or (whole.low, whole.high)
        return Scale(low, high, whole.begin, whole.end)

    def needed_height(self, answer: ClusterAnswer) -> float:
        fixed = len(self._pinned)
        return lanes_height(len(answer.ranks) - fixed, not fixed)

    def rows(self) -> list[list[str]]:
        answer = self.clustered.answer if self.clustered else None
        if answer is None:
            return []
        rows = [["Ranks", "What", "From, ms", "To, ms"]]
        for rank in answer.ranks:
            for span in (*rank.compute, *rank.communication):
                times = [f"{1e3 * s:.6g}" for s in (span.start_s, span.end_s)]
                rows.append([ranks_words(rank.ranks), span.kind, *times])
        return rows
