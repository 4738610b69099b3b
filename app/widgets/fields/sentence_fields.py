"""The fields of a sentence: text, and choices from a menu."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton, QWidget

from app.answers.sentence import Field
from app.widgets.fields.value_line import ValueLine

_PAD_PX, _LEAST_PX = 22, 36


class TextField(ValueLine):
    """A figure as text, as wide as its text. Enter, or leaving the field, accepts the text; Esc
    reverts it."""

    entered = Signal(object, str)
    """The field and its new text."""
    restored = Signal()
    """The user reverted the text."""

    def __init__(self, field: Field[Any]) -> None:
        super().__init__(lambda: self.field.shown)
        self.field = field
        self._named: tuple[str, str, str] | None = None
        self.setProperty("look", "field")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.textChanged.connect(self.updateGeometry)
        self.editingFinished.connect(self._enter)
        self.put(field)

    def put(self, field: Field[Any]) -> None:
        """Show another value, unless the user is typing."""
        typing = self.hasFocus() and self.isModified() and self.text() != self.field.shown
        if not typing and self.text() != field.shown:
            self.setText(field.shown)
        if not typing:
            self.setModified(False)
            self.mark("")
        same = (field.name, field.empty, field.tip) == self._named
        self.field = field
        if same:
            return
        self._named = field.name, field.empty, field.tip
        self.setAccessibleName(field.name)
        self.setPlaceholderText(field.empty)
        self.setToolTip(f"{field.name}: {field.tip}" if field.tip else field.name)

    def mark(self, reason: str) -> None:
        """Mark the text as refused, or remove the mark."""
        _mark(self, reason)

    def sizeHint(self) -> QSize:
        words = self.text() or self.placeholderText()
        wide = self.fontMetrics().horizontalAdvance(words) + _PAD_PX
        return QSize(max(_LEAST_PX, wide), 26)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text() != self.field.shown:
            self.setText(self.field.shown)
            self.mark("")
            self.restored.emit()
            return
        super().keyPressEvent(event)

    def _enter(self) -> None:
        text = self.text().strip()
        if text != self.field.shown:
            self.entered.emit(self.field, text)


class MenuField(QToolButton):
    """A figure chosen from a menu, or several of them."""

    entered = Signal(object, str)

    def __init__(self, field: Field[Any]) -> None:
        super().__init__()
        self.setProperty("look", "field")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        menu = QMenu(self)
        menu.setStyleSheet("QMenu { menu-scrollable: 1; }")
        menu.aboutToShow.connect(self._fill)
        self.setMenu(menu)
        self.put(field)

    def put(self, field: Field[Any]) -> None:
        """Show another value."""
        self.field = field
        self.setText(field.shown)
        self.setAccessibleName(f"{field.name}: {field.shown}")
        tip = field.wrong or field.tip
        self.setToolTip(f"{field.name}: {tip}" if tip else field.name)
        _mark(self, field.wrong)
        self.updateGeometry()

    def mark(self, reason: str) -> None:
        """Do nothing: an option of the menu is never refused for its text."""

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self.text()) + _PAD_PX, 26)

    def _fill(self) -> None:
        menu, chosen = self.menu(), self.field.shown.split(", ")
        menu.clear()
        for option in self.field.options:
            action = menu.addAction(option)
            action.setCheckable(True)
            action.setChecked(option in chosen)
            action.triggered.connect(lambda _=False, option=option: self._choose(option))

    def _choose(self, option: str) -> None:
        text = option
        if self.field.several:
            chosen = set(self.field.shown.split(", ")) ^ {option}
            text = ", ".join(each for each in self.field.options if each in chosen)
        if text != self.field.shown:
            self.entered.emit(self.field, text)


def _mark(widget: QWidget, reason: str) -> None:
    """Show a field as refused for this reason, or as accepted if it is empty."""
    look = "wrongfield" if reason else "field"
    widget.setAccessibleDescription(reason)
    if look == widget.property("look"):
        return
    widget.setProperty("look", look)
    widget.style().unpolish(widget)
    widget.style().polish(widget)
