"""A figure explained where it stands: its formula with today's numbers, and the way to its
lesson."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCursor, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from app.explorer.window.verdict import VerdictBar
from app.formulas.formula import Formula, title_of
from app.widgets.view import View

if TYPE_CHECKING:
    from app.explorer.window.window import Window

_WIDE = 460


class Explanation(QFrame):
    """A sheet that goes when the user looks elsewhere."""

    def __init__(self, formula: Formula, taught: QPushButton | None, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setProperty("look", "offer")
        self.setAccessibleName(formula.name)
        self.setAccessibleDescription(formula.text)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFixedWidth(_WIDE)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 14)
        column.setSpacing(6)
        for words, tone in (
            (formula.name, "title"),
            (f"= {formula.rule}", "support"),
            (f"= {_kept_together(formula.sum)}", "figure"),
            (formula.means, "support"),
        ):
            if words:
                label = QLabel(words)
                label.setWordWrap(True)
                label.setProperty("tone", tone)
                column.addWidget(label)
        if taught is not None:
            taught.clicked.connect(self.close)
            column.addSpacing(4)
            column.addWidget(taught, 0, Qt.AlignmentFlag.AlignLeft)
        self.setFixedHeight(column.totalHeightForWidth(_WIDE))
        self.window_ = parent

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The window's keys do what they do, and the sheet goes."""
        pressed = QKeySequence(event.keyCombination())
        for action in self.window_.actions():
            if action.isEnabled() and pressed in action.shortcuts():
                self.close()
                action.trigger()
                return
        super().keyPressEvent(event)


class Explaining:
    """Explains what is under the pointer, else what has the focus, else the verdict."""

    def __init__(self, window: Window) -> None:
        self.window = window
        window.verdict.explained.connect(self.open)

    def open(self, at: QPoint | None = None) -> None:
        """The sheet of the figure at a place of the screen."""
        place = QCursor.pos() if at is None else at
        under = QApplication.widgetAt(place)
        for start in (under, QApplication.focusWidget(), self.window.verdict):
            formula = _formula(start, place)
            if formula is not None:
                self.show(formula, place)
                return

    def show(self, formula: Formula, at: QPoint) -> Explanation:
        """A formula, beside a place, within the window."""
        taught = None
        if formula.lesson:
            taught = QPushButton(f"Lesson: {title_of(formula.lesson)}")
            taught.setAccessibleName(taught.text())
            taught.clicked.connect(lambda: self.teach(formula.lesson))
        sheet = Explanation(formula, taught, self.window)
        inside = self.window.frameGeometry()
        x = min(at.x(), inside.right() - sheet.width() - 8)
        y = min(at.y() + 14, inside.bottom() - sheet.height() - 8)
        sheet.move(max(inside.left() + 8, x), max(inside.top() + 8, y))
        sheet.show()
        return sheet

    def teach(self, lesson: str) -> None:
        """Go to a lesson."""
        window = self.window
        from app.views.lessons.view import Lessons  # not before it is seen: it takes a while

        window.session.show(Lessons.workspace)
        for offered in window.panels.panels:
            if offered.workspace == Lessons.workspace:
                view = window.panels.view(offered)
                assert isinstance(view, Lessons)
                view.turn_to_lesson(lesson)


def _kept_together(words: str) -> str:
    """No line ends between a number and its unit."""
    return re.sub(r"\b([\d.,]+) (?=[A-Za-zµ])", "\\1\u00a0", words)


def _formula(widget: QWidget | None, at: QPoint) -> Formula | None:
    while widget is not None:
        if isinstance(widget, View | VerdictBar):
            return widget.formula(at)
        widget = widget.parentWidget()
    return None
