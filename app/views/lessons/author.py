"""An editor for a lesson, beside a page that shows the lesson while the user types."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.lessons.lesson_file import of_table, table_of
from app.outputs import write
from app.widgets.save_dialog import ask_where
from simulator.errors import InputError

NAME = "draft"
"""The name of the lesson that is being written."""
_PAUSE_MS = 400
"""Delay after the last key before the text is read."""
TEMPLATE = """\
format = "ridgepoint-lesson"
version = 1
title = "Does a CUDA graph help one sentence?"
question = "Eager, BERT-base takes {period} for one sentence. How long in a CUDA graph?"
explain = "The host took {host} for {kernels} kernels; one launch takes {host_b}: {faster_b}."

[a]
network = "bert-base"
batch = 1
seq = 128
dtype = "bf16"

[b]
mode = "cuda_graph"
"""


class Author(QDialog):
    """An editor of a lesson's TOML. `written` carries the Lesson of each valid text."""

    written = Signal(object)
    saved = Signal(object)
    """Path of a file with the text."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Write a lesson")
        self.setAccessibleName(self.windowTitle())
        self.resize(560, 560)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.setSpacing(8)
        self.editor = QPlainTextEdit(text)
        self.editor.setAccessibleName("Text of the lesson")
        self.editor.setProperty("tone", "code")
        self.editor.setTabChangesFocus(True)
        self.error = QLabel()
        self.error.setProperty("tone", "danger")
        self.error.setTextFormat(Qt.TextFormat.PlainText)
        self.error.setWordWrap(True)
        self.error.setAccessibleName("Errors in the lesson")
        self.error.hide()
        self.save = QPushButton("Save as …")
        self.save.setAccessibleName("Save the lesson as a file")
        self.save.clicked.connect(self._save)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.save)
        for part in (self.editor, self.error):
            column.addWidget(part, part is self.editor)
        column.addLayout(row)
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self.read)
        self.editor.textChanged.connect(self._pause.start)

    def read(self) -> None:
        """Read the text: emit its lesson, or show the error."""
        self._pause.stop()
        try:
            lesson = of_table(table_of(self._raw, "the lesson"), NAME, "the lesson")
        except InputError as error:
            self._say(str(error))
            return
        self._say("")
        self.written.emit(lesson)

    @property
    def _raw(self) -> bytes:
        return self.editor.toPlainText().encode()

    def _say(self, reason: str) -> None:
        self.error.setText(reason)
        self.error.setVisible(bool(reason))
        self.save.setEnabled(not reason)

    def _save(self) -> None:
        path: Path | None = ask_where(self, "Save lesson", "lesson.toml", ".toml", "Lessons")
        if path is not None:
            try:
                write("Save lesson", str(path), self.editor.toPlainText())
            except InputError as error:
                self._say(str(error))
                self.save.setEnabled(True)  # so that another file can be chosen
            else:
                self._say("")
                self.saved.emit(path)
