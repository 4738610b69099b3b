"""The header of the window: name, menus, workspaces, and the subject of the prediction."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QMenuBar,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.answers.answer import Answer
from app.explorer.window.history_button import HistoryButton
from app.widgets.elided_label import Elided

_NARROW_PX = 1180
OWN_QUESTION = ("Cluster", "Plan", "Lessons")
"""The workspaces whose question is not the current scenario."""


class WorkspaceButtons(QWidget):
    """Buttons that switch between the workspaces."""

    chosen = Signal(str)

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self.setProperty("look", "plain")
        self.setAccessibleName("Workspaces")
        self.buttons: dict[str, QToolButton] = {}
        group = QButtonGroup(self)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        for name in names:
            button = QToolButton()
            button.setText(name)
            button.setCheckable(True)
            button.setProperty("look", "tab")
            button.setAccessibleName(f"Workspace {name}")
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.clicked.connect(lambda _=False, name=name: self.chosen.emit(name))
            group.addButton(button)
            row.addWidget(button)
            self.buttons[name] = button

    def set_narrow(self, narrow: bool) -> None:
        """Reduce the padding beside the names."""
        for button in self.buttons.values():
            if button.property("narrow") != narrow:
                button.setProperty("narrow", narrow)
                button.style().unpolish(button)
                button.style().polish(button)

    def put(self, name: str) -> None:
        """Check the button of a workspace."""
        self.buttons[name].setChecked(True)


class Head(QWidget):
    """The first row of the window. `subject` names what is predicted; the arrow buttons trigger the
    actions `back` and `forth`."""

    def __init__(
        self, menus: QMenuBar, workspaces: WorkspaceButtons, back: QAction, forth: QAction
    ) -> None:
        super().__init__()
        self.setProperty("look", "plain")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self.name = QLabel("Ridgepoint")
        self.name.setProperty("tone", "figure")
        self.subject = Elided(Qt.AlignmentFlag.AlignRight)
        self.subject.setProperty("tone", "quiet")
        menus.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        row.addWidget(self.name)
        row.addWidget(menus)
        row.addSpacing(8)
        row.addWidget(workspaces)
        row.addWidget(self.subject, 1)
        arrows = QHBoxLayout()
        arrows.setSpacing(0)
        self.undo, self.redo = HistoryButton(back, False), HistoryButton(forth, True)
        for arrow in (self.undo, self.redo):
            arrows.addWidget(arrow)
        row.addLayout(arrows)
        self.commands = QToolButton()
        self.commands.setText("Commands")
        self.commands.setProperty("look", "button")
        self.commands.setAccessibleName("Commands")
        row.addWidget(self.commands)
        self.menus, self.workspaces = menus, workspaces

    def show_subject(self, title: str, answer: Answer | None, workspace: str) -> None:
        """Show the title of the file, and the subject of an answer on the pages that draw it."""
        lines = subject_lines(answer) if answer and workspace not in OWN_QUESTION else ("",)
        self.subject.say(*("   ".join(part for part in (title, line) if part) for line in lines))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window, leave out the name, which the title bar shows too, and move the
        buttons of the workspaces together."""
        narrow = event.size().width() < _NARROW_PX
        self.name.setVisible(not narrow)
        self.workspaces.set_narrow(narrow)
        super().resizeEvent(event)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())  # never wider than the window


def subject_lines(answer: Answer) -> tuple[str, ...]:
    """The subject of an answer, in full and shorter: "bert-base, inference, batch 64 × 128, bf16 on
    H200"."""
    p, subject = answer.prediction, answer.subject
    size = f"{subject.batch:,} × {subject.seq:,}" if subject.seq else f"{subject.batch:,}"
    return (
        f"{subject.name}, {p.trace.phase}, batch {size}, {subject.dtype} on {p.gpu.name}",
        f"{subject.name}, batch {size} on {p.gpu.name}",
        f"{subject.name}, {size}",
        subject.name,
    )
