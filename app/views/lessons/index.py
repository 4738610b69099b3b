"""The first page of the lessons: each with its question, its duration and its requirements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QStyle,
    QStyleOptionButton,
    QVBoxLayout,
    QWidget,
)

from app.lessons.lesson import Lesson
from app.lessons.placeholders import PLACE
from app.theme import SUPPORT_PX, Theme
from app.views.lessons.explanation import sentence
from app.views.lessons.tick import Tick
from app.widgets.columns import empty
from app.widgets.context_menu import add_actions
from app.widgets.vertical_scroll_area import VerticalScrollArea


def last_question(lesson: Lesson) -> str:
    """The last question of a lesson's text; figures that are not predicted yet become "…"."""
    sentences = re.split(r"(?<=[.?!]) ", lesson.question)
    questions = [each for each in sentences if each.endswith("?")] or sentences
    return PLACE.sub("…", questions[-1])


class Box(QCheckBox):
    """A check box whose edge stands out on a card."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        option = QStyleOptionButton()
        self.initStyleOption(option)
        part = QStyle.SubElement.SE_CheckBoxIndicator
        box = self.style().subElementRect(part, option, self)
        painter = QPainter(self)
        painter.setPen(QColor(self.theme.ink3))
        painter.drawRect(box.adjusted(0, 0, -1, -1))
        painter.end()


class LessonRow(QFrame):
    """One lesson: a click or the button opens it, the check box selects it for handing out."""

    opened = Signal(int)
    ticked = Signal()

    def __init__(self, place: int, lesson: Lesson, done: bool, theme: Theme) -> None:
        super().__init__()
        self.place, self.lesson = place, lesson
        self.setProperty("look", "card")
        self.setAccessibleName(lesson.title)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        grid = QGridLayout(self)
        grid.setContentsMargins(12, 8, 12, 8)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(2)
        self.box = Box(theme)
        self.box.setAccessibleName(f"Hand out {lesson.title}")
        self.box.setToolTip("Add to the file that you hand out")
        self.box.toggled.connect(lambda: self.ticked.emit())
        title = QLabel(f"{place + 1}  {lesson.title}")
        title.setProperty("tone", "title")
        question = sentence(SUPPORT_PX)
        question.setText(last_question(lesson))
        self.needs = QLabel(_needs(lesson))
        self.needs.setProperty("tone", "quiet")
        self.tick = Tick(theme)
        self.tick.check(done)
        self.tick.setVisible(done)
        self.tick.setAccessibleName("answered" if done else "")
        self.button = QPushButton("Open")
        self.button.setAccessibleName(f"Open lesson {place + 1}: {lesson.title}")
        self.button.clicked.connect(lambda: self.opened.emit(place))
        for part in (title, question, self.needs):
            part.setTextFormat(Qt.TextFormat.PlainText)
        grid.addWidget(self.box, 0, 0, 3, 1)
        grid.addWidget(title, 0, 1)
        grid.addWidget(question, 1, 1)
        grid.addWidget(self.needs, 2, 1)
        grid.addWidget(self.tick, 0, 2, 3, 1)
        grid.addWidget(self.button, 0, 3, 3, 1)
        grid.setColumnStretch(1, 1)
        self.setTabOrder(self.button, self.box)
        add_actions(
            self,
            f"lesson {place + 1}",
            ("Open the lesson", self.button.click),
            ("Select for handing out", self.box.toggle),
        )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(
            event.position().toPoint()
        ):
            self.opened.emit(self.place)


class LessonIndex(QWidget):
    """Lists the lessons, to open them, to hand some out, or to write one."""

    opened = Signal(int)
    """The place of the lesson that the user opened."""
    handed_out = Signal(object)
    """list[str]: the names of the lessons that the user hands out."""
    wrote = Signal()
    """The user asked for the editor."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.rows: list[LessonRow] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 12, 20, 0)
        column.setSpacing(10)
        head = QHBoxLayout()
        self.heading = QLabel("Lessons")
        self.heading.setProperty("tone", "head")
        self.about = QLabel()
        self.about.setProperty("tone", "support")
        self.about.setWordWrap(True)
        self.write = QPushButton("Write a lesson …")
        self.hand_out = QPushButton("Hand out …")
        self.write.clicked.connect(lambda: self.wrote.emit())
        self.hand_out.clicked.connect(lambda: self.handed_out.emit(self.ticked()))
        head.addWidget(self.heading)
        head.addWidget(self.about, 1)
        for button in (self.write, self.hand_out):
            button.setAccessibleName(button.text())
            head.addWidget(button)
        column.addLayout(head)
        self.inside = QWidget()
        self.list = QVBoxLayout(self.inside)
        self.list.setContentsMargins(0, 0, 4, 12)
        self.list.setSpacing(6)
        self.area = VerticalScrollArea(self.inside)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        column.addWidget(self.area, 1)

    def show_lessons(self, lessons: Sequence[Lesson], done: Sequence[str]) -> None:
        """List lessons; those named in `done` are ticked off. Chosen lessons stay chosen."""
        chosen = self.ticked()
        empty(self.list)
        self.rows = []
        for place, lesson in enumerate(lessons):
            row = LessonRow(place, lesson, lesson.name in done, self.theme)
            row.box.setChecked(lesson.name in chosen)
            row.opened.connect(self.opened)
            row.ticked.connect(self._count)
            self.list.addWidget(row)
            self.rows.append(row)
        stops = [stop for row in self.rows for stop in (row.button, row.box)]
        for before, after in pairwise([self.hand_out, *stops]):
            self.setTabOrder(before, after)  # else rows that are listed again come last
        self.list.addStretch(1)
        minutes = sum(lesson.minutes for lesson in lessons)
        self.about.setText(
            f"{len(lessons)} lessons of a few minutes each, {minutes} minutes in all: predict, "
            "compare with the simulation, explain, try it"
        )
        self._count()

    def ticked(self) -> list[str]:
        """The names of the lessons that are chosen for handing out."""
        return [row.lesson.name for row in self.rows if row.box.isChecked()]

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        for row in self.rows:
            row.tick.restyle(theme)
            row.box.theme = theme

    def sizeHint(self) -> QSize:
        return QSize(640, 480)

    def _count(self) -> None:
        count = len(self.ticked())
        self.hand_out.setText(f"Hand out {count} …" if count else "Hand out …")
        self.hand_out.setEnabled(count > 0)
        self.hand_out.setToolTip(
            "Save the ticked lessons as one file" if count else "Tick the lessons first"
        )


def _needs(lesson: Lesson) -> str:
    """The line below the question: "10 min, one GPU, with a task; needs lesson 5"."""
    parts = [f"{lesson.minutes} min"] if lesson.minutes else []
    parts += [lesson.topic] if lesson.topic else []
    clustered = any(side.cluster is not None for side in lesson.sides)
    parts.append("several GPUs" if clustered else "one GPU")
    parts += ["with a task"] if lesson.task else []
    words = ", ".join(parts)
    return f"{words}; needs {lesson.needs}" if lesson.needs else words
