"""A text field that offers existing names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QStringListModel, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QCompleter, QLineEdit, QWidget

_SHOWN = 12


class _Parts(QCompleter):
    """Completes the last of several names joined by `+`, such as gelu+add."""

    def splitPath(self, path: str) -> list[str]:
        return [path.rpartition("+")[2]]

    def pathFromIndex(self, index: QModelIndex | QPersistentModelIndex) -> str:
        box = self.widget()
        text = box.text() if isinstance(box, QLineEdit) else ""
        before, plus, _ = text.rpartition("+")
        return f"{before}{plus}{super().pathFromIndex(index)}"


class NameBox(QLineEdit):
    """Names that contain the typed text appear below; Down, or a click on the empty field, shows
    all of them. Other text can be entered too. `names` is called when the field gets the focus."""

    def __init__(self, text: str, names: Callable[[], Sequence[str]]) -> None:
        super().__init__(text)
        self._names = names
        self._model = QStringListModel(self)
        completer = _Parts(self._model, self)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setMaxVisibleItems(_SHOWN)
        completer.activated.connect(self._finish)
        self.setCompleter(completer)

    def offered(self) -> list[str]:
        """The names that fit the text."""
        completer = self.completer()
        model = completer.completionModel()
        return [str(model.index(at, 0).data()) for at in range(model.rowCount())]

    def offer_all(self) -> None:
        """Show all names."""
        self._load()
        if not self._model.rowCount():
            return
        completer = self.completer()
        completer.setCompletionPrefix("")
        popup = completer.popup()
        assert popup is not None
        popup.setAccessibleName(f"Names for {self.accessibleName()}")
        completer.complete()

    def _finish(self, text: str) -> None:
        self.editingFinished.emit()

    def _load(self) -> None:
        """Read the names, and give the list, which is a separate window, the style of the field."""
        popup = self.completer().popup()
        assert popup is not None
        sheet = _sheet_of(self)
        if popup.styleSheet() != sheet:
            popup.setStyleSheet(sheet)
        popup.setFont(self.font())
        names = list(self._names())
        if names != self._model.stringList():
            self._model.setStringList(names)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._load()
        super().focusInEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self.offer_all()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if not self.text():
            self.offer_all()


def _sheet_of(widget: QWidget) -> str:
    """The style sheet that applies to a widget."""
    at: QWidget | None = widget
    while at is not None and not at.styleSheet():
        at = at.parentWidget()
    return at.styleSheet() if at is not None else ""
