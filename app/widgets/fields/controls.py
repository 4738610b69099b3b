"""Controls of the inspector: a logarithmic slider with a number field, and segmented buttons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QIntValidator,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSlider,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.theme import LABEL_PX, Theme
from app.widgets.fields.value_line import ValueLine
from app.widgets.paint import Paint

_MOST = 10**7
_GROOVE_Y = 11.0


class LogSlider(QSlider):
    """A slider for whole numbers on a logarithmic scale. Arrow keys change the value by 5%, page
    keys double or halve it."""

    edge = 9.0
    """Margin in pixels at each end, so that the handle is not clipped."""

    def __init__(self, theme: Theme, name: str, most: int, marks: Sequence[int]) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.theme, self.marks = theme, tuple(marks)
        self._usual = most, self.marks
        self.shift: float | None = None
        self.setRange(min(marks), most)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedHeight(40)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(220, 40)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # else scrolling the inspector would change the scenario

    def limit(self, most: int) -> None:
        """End the slider at `most`, or at its usual end if `most` is 0 or beyond it."""
        usual, marks = self._usual
        end = min(usual, most) if most > self.minimum() else usual
        self.marks = (*(mark for mark in marks if mark < end), end)
        self.setMaximum(end)

    def at(self, value: float) -> float:
        """The x position of a value, in pixels."""
        part = log(value / self.minimum()) / log(self.maximum() / self.minimum())
        return self.edge + min(1.0, max(0.0, part)) * (self.width() - 2 * self.edge)

    def value_at(self, x: float) -> int:
        """The value at pixel `x`, snapped to marks within 3 px."""
        part = min(1.0, max(0.0, (x - self.edge) / max(1.0, self.width() - 2 * self.edge)))
        exact = self.minimum() * (self.maximum() / self.minimum()) ** part
        near = [mark for mark in self.marks if abs(self.at(mark) - x) <= 3]
        return near[0] if near else round(exact)

    def word(self, value: int) -> str:
        """The label of a mark."""
        return f"{value:,}"

    def step(self) -> int:
        """The step of the arrow keys."""
        return max(1, round(self.value() / 20))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint, theme = Paint(painter, self.theme), self.theme
        at, end = self.at(self.value()), self.width() - self.edge
        on = self.isEnabled()
        paint.area(QRectF(self.edge, _GROOVE_Y - 2, end - self.edge, 4), theme.line2, radius=2)
        filled = QRectF(self.edge, _GROOVE_Y - 2, at - self.edge, 4)
        paint.area(filled, theme.b if on else theme.ink3, radius=2)
        if self.shift is not None and self.minimum() <= self.shift <= self.maximum():
            paint.area(QRectF(self.at(self.shift) - 1, _GROOVE_Y - 7, 2, 14), theme.overhead.fill)
        for mark in self.marks:
            align = 0.0 if mark == self.minimum() else 1.0 if mark == self.maximum() else 0.5
            x = {0.0: self.edge - 5, 1.0: end + 5}.get(align, self.at(mark))
            paint.text(x, 31, self.word(mark), theme.ink3, LABEL_PX, align=align)
        painter.setBrush(QColor(theme.bg1))
        painter.setPen(QPen(QColor(theme.b if on else theme.ink3), 2.4))
        painter.drawEllipse(QPointF(at, _GROOVE_Y), 6, 6)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(theme.focus), 2))
            painter.drawEllipse(QPointF(at, _GROOVE_Y), 9.5, 9.5)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setValue(self.value_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.isSliderDown():
            self.setValue(self.value_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.setSliderDown(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, value = Qt.Key(event.key()), self.value()
        step = self.step()
        to = {
            Qt.Key.Key_Left: value - step,
            Qt.Key.Key_Down: value - step,
            Qt.Key.Key_Right: value + step,
            Qt.Key.Key_Up: value + step,
            Qt.Key.Key_PageUp: 2 * value,
            Qt.Key.Key_PageDown: value // 2,
            Qt.Key.Key_Home: self.minimum(),
            Qt.Key.Key_End: self.maximum(),
        }.get(key)
        if to is None:
            super().keyPressEvent(event)
        else:
            self.setValue(to)


class _Whole(QIntValidator):
    """Accepts whole numbers from 1. Replaces any other text, such as "0" or an empty field, with
    the `current` number when the user leaves the field."""

    def __init__(self, current: Callable[[], int], parent: QWidget) -> None:
        super().__init__(1, _MOST, parent)
        self._current = current

    def fixup(self, text: str) -> str:
        return str(self._current())


class Number(QWidget):
    """A whole number: its name, a text field and a slider."""

    changed = Signal(int)
    drag_ended = Signal()

    def __init__(self, theme: Theme, name: str, most: int, marks: Sequence[int]) -> None:
        super().__init__()
        self.value, self.most = 0, 0
        self.slider = LogSlider(theme, name, most, marks)
        self.box = ValueLine(lambda: str(self.value))
        self.box.setValidator(_Whole(lambda: self.value, self.box))
        self.box.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.box.setFixedWidth(76)
        self.box.setAccessibleName(f"{name}, as a number")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        head = QHBoxLayout()
        self.label = QLabel(name)
        self.label.setBuddy(self.box)
        head.addWidget(self.label)
        head.addStretch(1)
        head.addWidget(self.box)
        column.addLayout(head)
        column.addWidget(self.slider)
        self.slider.valueChanged.connect(self._set)
        self.slider.sliderReleased.connect(self.drag_ended)
        self.box.editingFinished.connect(self._typed)

    def put(self, value: int | None, reason: str = "", most: int = 0) -> None:
        """Show a value; None disables the control, for a reason. Typed values are at most `most`,
        unless that is 0."""
        self.setEnabled(value is not None)
        self.most = most
        with QSignalBlocker(self.slider):
            self.slider.limit(most)
        self.setToolTip(reason)
        if value is None:
            self.box.clear()  # a former value would be read as the current one
        else:
            with QSignalBlocker(self.slider):
                self.slider.setValue(value)
            if self.box.text() != str(value):
                self.box.setText(str(value))
            self.value = value
            self.slider.setAccessibleDescription(f"{value:,}")
            self.slider.update()

    def mark_shift(self, value: float | None) -> None:
        """Mark the value where the regime changes; None removes the mark."""
        self.slider.shift = value
        self.slider.update()

    def _typed(self) -> None:
        value = min(int(self.box.text()), self.most or _MOST)
        if value != self.value:
            self.drag_ended.emit()
            self._set(value)
        else:
            self.box.setText(str(value))

    def _set(self, value: int) -> None:
        self.put(value, most=self.most)
        self.changed.emit(value)


class Segments(QFrame):
    """Buttons side by side, one of which is chosen. Unavailable buttons are disabled, with the
    reason as a tooltip."""

    chosen = Signal(str)

    def __init__(self, name: str, words: dict[str, str], tips: dict[str, str]) -> None:
        super().__init__()
        self.setProperty("look", "segments")
        self.setAccessibleName(name)
        self.buttons: dict[str, QToolButton] = {}
        self._tips = tips
        group = QButtonGroup(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(0)
        for value, word in words.items():
            button = QToolButton()
            button.setText(word)
            button.setCheckable(True)
            button.setProperty("look", "segment")
            button.setAccessibleName(f"{name}: {tips.get(value, word)}")
            button.setToolTip(tips.get(value, ""))
            button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            button.clicked.connect(self._clicked(value))
            group.addButton(button)
            row.addWidget(button, max(3, len(word)))
            self.buttons[value] = button

    def _clicked(self, value: str) -> Callable[[], None]:
        return lambda: self.chosen.emit(value)

    def put(self, value: str, refused: dict[str, str] | None = None) -> None:
        """Show a choice; `refused` maps unavailable choices to their reasons."""
        refused = refused or {}
        for name, button in self.buttons.items():
            button.setChecked(name == value)
            button.setEnabled(name == value or name not in refused)
            button.setToolTip(refused.get(name) or self._tips.get(name, ""))
