"""Explanations of figures: a popup with the formula, its current values, and a link to a lesson."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCursor, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QPushButton, QVBoxLayout, QWidget

from app.explorer.window.verdict.bar import VerdictBar
from app.formulas.formula import Formula, title_of
from app.widgets.view import View

if TYPE_CHECKING:
    from app.explorer.window.window import Window

_WIDE = 460


class Explanation(QFrame):
    """A popup that explains a figure."""

    def __init__(
        self,
        formula: Formula,
        lesson_button: QPushButton | None,
        parent: QWidget,
        sheet: str = "",
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setStyleSheet(sheet)  # the height below depends on the style
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
            (f"= {_with_hard_spaces(formula.sum)}", "figure"),
            (formula.means, "support"),
        ):
            if words:
                label = QLabel(words)
                label.setWordWrap(True)
                label.setProperty("tone", tone)
                column.addWidget(label)
        if lesson_button is not None:
            lesson_button.clicked.connect(self.close)
            column.addSpacing(4)
            column.addWidget(lesson_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.setFixedHeight(column.totalHeightForWidth(_WIDE))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Trigger the shortcuts of the window, and close."""
        pressed = QKeySequence(event.keyCombination())
        window = self.parentWidget()
        for action in window.actions() if window else []:
            if action.isEnabled() and pressed in action.shortcuts():
                self.close()
                action.trigger()
                return
        super().keyPressEvent(event)


class Explaining:
    """Explains the figure under the pointer, else the figure with the focus, else the verdict if
    the page shows it."""

    def __init__(self, window: Window) -> None:
        self.window = window
        window.verdict.explained.connect(self.open)

    def open(self, at: QPoint | None = None) -> None:
        """Explain the figure at a screen position."""
        place = QCursor.pos() if at is None else at
        under = QApplication.widgetAt(place)
        verdict = self.window.verdict if self.window.verdict.isVisible() else None
        for start in (under, QApplication.focusWidget(), verdict):
            formula = _formula(start, place)
            if formula is not None:
                self.show(formula, place)
                return
        self.window.banner.say(
            "No figure here has a formula: point at a figure, or go to a page with the verdict",
            about="card",
            wrong=False,
        )

    def show(self, formula: Formula, at: QPoint) -> Explanation:
        """Show a formula beside a screen position, inside the window."""
        lesson_button = None
        if formula.lesson:
            lesson_button = QPushButton(f"Lesson: {title_of(formula.lesson)}")
            lesson_button.setAccessibleName(lesson_button.text())
            lesson_button.clicked.connect(lambda: self.teach(formula.lesson))
        popup = Explanation(formula, lesson_button, self.window, self.window.styling.sheet)
        inside = self.window.frameGeometry()
        x = min(at.x(), inside.right() - popup.width() - 8)
        y = min(at.y() + 14, inside.bottom() - popup.height() - 8)
        popup.move(max(inside.left() + 8, x), max(inside.top() + 8, y))
        popup.show()
        return popup

    def teach(self, lesson: str) -> None:
        """Show a lesson."""
        self.window.pages.lessons.show().turn_to_lesson(lesson)


def _with_hard_spaces(words: str) -> str:
    """Prevent line breaks between a number and its unit."""
    return re.sub(r"\b([\d.,]+) (?=[A-Za-zµ])", "\\1\u00a0", words)


def _formula(widget: QWidget | None, at: QPoint) -> Formula | None:
    while widget is not None:
        if isinstance(widget, View | VerdictBar):
            return widget.formula(at)
        widget = widget.parentWidget()
    return None
