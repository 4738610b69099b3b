"""The roofline in a window: its groups of launches, the zoom, the pointer and the keys."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

from app.charts.roofline.frame import Frame
from app.charts.roofline.marks import FEW, Mark, marks, nearest
from app.charts.roofline.roofline import frame_of, roofline
from app.drawing import Drawing
from app.formulas.launches import achieved, intensity_sum, limit, ridge
from app.quantities import number, percent, seconds
from app.scenes.launches import LaunchGroup
from app.scenes.pixel_scale import Scale
from app.scenes.roofline import Ends, RooflineScene, roofline_scene
from app.theme import Theme
from app.widgets.canvas import Card
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS
from simulator.prediction import Prediction

_Part = tuple[RooflineScene, int, tuple[LaunchGroup, ...], tuple[LaunchGroup, ...]]
"""A scene, the number of groups shown, and the scene with only those groups and the baseline's."""


class RooflineCanvas(DrawingCanvas):
    """`scene` holds all groups of identical launches, `shown` is the number drawn. `fitted` emits
    whether the axes show everything."""

    fitted = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Roofline: intensity against achieved FLOP/s")
        self.scene: RooflineScene | None = None
        self.shown = 0
        self.picked: frozenset[int] = frozenset()
        self.ends: Ends | None = None
        self.zoomed = False
        self.dragged: QPointF | None = None
        self._part: _Part | None = None
        self.setMinimumSize(320, 130)

    def set(self, p: Prediction, groups: list[LaunchGroup], before: list[LaunchGroup]) -> None:
        """Draw groups of launches; another GPU refits the axes."""
        new_gpu = self.scene is None or self.scene.prediction.gpu != p.gpu
        self.scene, self.over = roofline_scene(p, groups, before), None
        if new_gpu or not self.zoomed:
            self.fit()
        self.redraw()

    def fit(self) -> None:
        """Fit the axes to all launches."""
        self.zoomed = False
        if self.scene:
            self.ends = self.scene.ends
        self.fitted.emit(True)
        self.update()

    # the drawing

    @property
    def visible(self) -> RooflineScene:
        """The scene with the groups that are drawn, and the axes in view."""
        assert self.scene is not None and self.ends is not None
        part = self._part  # cached: the columns of many groups are computed once per tuple
        if part is None or part[0] is not self.scene or part[1] != self.shown:
            groups, before = self.scene.groups[: self.shown], self.scene.before[: self.shown]
            part = self._part = self.scene, self.shown, groups, before
        return replace(self.scene, groups=part[2], before=part[3], ends=self.ends)

    @property
    def frame(self) -> Frame:
        """The geometry of the drawing."""
        return frame_of(self.visible, self.width(), self.height())

    def marks(self) -> list[Mark]:
        """The drawn marks, the heaviest first."""
        return marks(self.frame, self.visible.groups)

    def drawing(self, width: float, height: float) -> Drawing | None:
        if self.scene is None:
            return None
        return roofline(self.visible, self.frame, QT_METRICS, self.picked, self.over, False)

    def depends_on(self) -> object:
        return self.shown, self.ends, self.picked, self.over

    # the pointer and the keys

    def hit(self, at: QPointF) -> LaunchGroup | None:
        spot = super().hit(at)
        if isinstance(spot, LaunchGroup) or self.scene is None or self.shown <= FEW:
            return spot
        return nearest(self.marks()[FEW:], at.x(), at.y())

    def card(self) -> Card | None:
        a = self.over
        if not isinstance(a, LaunchGroup) or self.scene is None:
            return None
        p = self.scene.prediction
        source = f"{', '.join(p.tiers)}, profile {p.profile}"
        return Card(
            a.label,
            note=f"×{a.count}, {a.regime}-bound",
            regime=a.regime,
            rows=(
                ("Op", a.op),
                (
                    "Time",
                    f"{seconds(a.each_s)} each, {seconds(a.total_s)} total, "
                    f"{percent(a.share)} of GPU busy time",
                ),
                ("Intensity", f"{intensity_sum(a)}, ridge {number(ridge(a, p))}"),
                ("Achieved", f"{achieved(a).sum}, {percent(a.of_roof)} of the {a.roof} roof"),
                ("Limited", limit(a)),
                ("Shape", f"{a.shape}, {a.dtype} {a.engine}"),
                ("Source", source),
            ),
        )

    def card_at(self) -> QPointF:
        if not isinstance(self.over, LaunchGroup):
            return self.at
        return QPointF(*self.frame.place(self.over))

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self._in_plot(event.position()):
            self.zoom(event.position(), 1.2 ** (event.angleDelta().y() / 120))

    def zoom(self, at: QPointF, times: float) -> None:
        """Zoom in by a factor around a point."""
        if self.ends is None:
            return
        frame = self.frame
        self._set_ends(frame.x.zoomed(at.x(), times), frame.y.zoomed(at.y(), times))

    def _in_plot(self, at: QPointF) -> bool:
        return self.scene is not None and self.frame.plot.holds(at.x(), at.y())

    def _set_ends(self, x: Scale, y: Scale) -> None:
        if x.high / x.low > 1.5 and y.high / y.low > 1.5 and x.high / x.low < 1e12:
            assert self.ends is not None
            self.ends = replace(self.ends, x=(x.low, x.high), y=(y.low, y.high))
            self.zoomed = True
            self.fitted.emit(False)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        left = event.button() == Qt.MouseButton.LeftButton
        if left and self.hit(event.position()) is None and self._in_plot(event.position()):
            self.dragged = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.dragged is not None and self.ends is not None:
            away = event.position() - self.dragged
            self.dragged = event.position()
            frame = self.frame
            self._set_ends(frame.x.moved(away.x()), frame.y.moved(away.y()))
            return
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.dragged = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.scene is None:
            super().keyPressEvent(event)
            return
        key, middle = event.key(), QPointF(*self.frame.plot.centre)
        groups = [mark[0] for mark in self.marks()]
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}
        if key in steps and groups:
            at = groups.index(self.over) if self.over in groups else -1
            self.show_over(groups[(at + steps[Qt.Key(key)]) % len(groups)])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Space) and self.over is not None:
            self.pressed_on.emit(self.over)
        elif key == Qt.Key.Key_Escape and (self.picked or self.over is not None):
            self.over = None
            self.pressed_on.emit(None)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_W):
            self.zoom(middle, 1.3)
        elif key in (Qt.Key.Key_Minus, Qt.Key.Key_S):
            self.zoom(middle, 1 / 1.3)
        elif key == Qt.Key.Key_F:
            self.fit()
        else:
            super().keyPressEvent(event)
