"""A question as a sentence with fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from app.answers.sentence import Field, Part
from app.widgets.fields.flow_layout import FlowLayout
from app.widgets.fields.sentence_fields import MenuField, TextField


class Sentence(QWidget):
    """Words and fields, in as many lines as needed. Fields keep their widgets while the sentence
    keeps its form, and the focus stays in the field of the same name."""

    entered = Signal(object, str)
    """Field and text."""
    restored = Signal()
    """The user reverted a field's text."""

    def __init__(self, name: str = "Workload") -> None:
        super().__init__()
        self.setProperty("look", "plain")
        self.setAccessibleName(name)
        self.flow = FlowLayout(self)
        self.flow.setContentsMargins(0, 0, 0, 0)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.fields: list[TextField | MenuField] = []
        self._form: list[str] = []

    def put(self, parts: Sequence[Part[Any]]) -> bool:
        """Show a sentence. Returns whether the widgets of its fields have changed."""
        fields = [part for part in parts if isinstance(part, Field)]
        form = [part.name if isinstance(part, Field) else part for part in parts]
        built = form != self._form
        if built:
            self._build(parts)
            self._form = form
        for widget, field in zip(self.fields, fields, strict=True):
            widget.put(field)
        self._fit()
        return built

    def field(self, name: str) -> TextField | MenuField:
        """The widget of the field of this name."""
        return next(widget for widget in self.fields if widget.field.name == name)

    def resizeEvent(self, event: object) -> None:
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(200, self.flow.heightForWidth(max(self.width(), 200)))

    def _fit(self) -> None:
        self.flow.invalidate()
        self.setFixedHeight(self.flow.heightForWidth(self.width()))

    def _build(self, parts: Sequence[Part[Any]]) -> None:
        focused = next((widget.field.name for widget in self.fields if widget.hasFocus()), "")
        while item := self.flow.takeAt(0):
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.fields = []
        for part in parts:
            if isinstance(part, str):
                for word in part.split():
                    self._add(_word(word))
                continue
            field = MenuField(part) if part.options else TextField(part)
            field.entered.connect(self.entered)
            if isinstance(field, TextField):
                field.textChanged.connect(self._fit)
                field.restored.connect(self.restored)
            self.fields.append(field)
            self._add(field)
            if part.name == focused:
                field.setFocus()

    def _add(self, widget: QWidget) -> None:
        self.flow.addWidget(widget)
        widget.show()  # a hidden widget has no size, and so no line


def _word(text: str) -> QLabel:
    label = QLabel(text)
    label.setProperty("tone", "support")
    return label
