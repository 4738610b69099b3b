"""The command palette: all actions and cards, found by a few letters of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QAction, QCloseEvent, QKeyEvent, QKeySequence, QPainter, QPalette
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

_MOST = 60
DONE = "Do"
"""The place of actions, which the palette does not show."""
KEYS = (
    ("Views", "W A S D", "zoom and pan the timeline"),
    ("Views", "F", "centre the selection in the timeline, or fit all"),
    ("Views", ". and ,", "next and previous kernel, or combination"),
    ("Views", "P", "pin the lane of a timeline to its top, or unpin it"),
    ("Views", "V and G", "explain the next figure, group by the next axis in the combinations"),
    ("Views", "arrows", "move the cursor"),
    ("Views", "Menu", "what-ifs of the module or row under the cursor"),
    ("Views", "Shift+arrows", "reorder the axes of the combinations"),
    ("Shelf", "Enter", "apply a card to the current scenario"),
    ("Shelf", "Menu", "apply a card to another scenario"),
    ("Scenarios", "F2", "rename"),
    ("Scenarios", "Del", "remove"),
    ("Everywhere", "Esc", "cancel background work"),
    ("Everywhere", "Tab", "next control"),
)
"""Keys of the views that belong to no action."""


@dataclass(frozen=True)
class Command:
    """An entry of the palette: its place, name and shortcut, and the function that runs it."""

    place: str
    name: str
    key: str
    done: Callable[[], object]

    @property
    def words(self) -> str:
        return f"{self.place}: {self.name}"


def action_commands(actions: Iterable[QAction]) -> list[Command]:
    """The commands of the enabled actions, without duplicates."""
    commands: dict[str, Command] = {}
    for action in actions:
        name = action.text().replace("&", "")
        if name and action.isEnabled() and not action.menu():
            key = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            commands.setdefault(name, Command(DONE, name, key, action.trigger))
    return list(commands.values())


def score(words: str, typed: str) -> float | None:
    """Score the match of typed letters, in order, with these words; lower is better, None if they
    do not match. Consecutive letters, and letters that begin a word, count more."""
    words, at, penalty = words.lower(), -1, 0.0
    for letter in typed.lower().replace(" ", ""):
        near = words.find(letter, at + 1)
        if near < 0:
            return None
        begins = near == 0 or not words[near - 1].isalnum()
        penalty += 0.0 if near == at + 1 and at >= 0 else 0.5 if begins else 2.0 + 0.02 * near
        at = near
    return penalty + 0.01 * len(words)


class CommandRows(QStyledItemDelegate):
    """Paints the place and name of a command, and its shortcut at the right."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        command: Command = index.data(Qt.ItemDataRole.UserRole)
        self.initStyleOption(option, index)
        option.text = ""  # pyright: ignore
        widget: QWidget = option.widget  # pyright: ignore
        widget.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, widget)
        box: QRect = option.rect.adjusted(12, 0, -12, 0)  # pyright: ignore
        inks = widget.palette()
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.save()
        painter.setPen(inks.color(QPalette.ColorRole.PlaceholderText))
        painter.drawText(box, int(middle | Qt.AlignmentFlag.AlignRight), command.key)
        left = box.left()
        if command.place != DONE:
            painter.drawText(box, int(middle), command.place)
            left += painter.fontMetrics().horizontalAdvance(command.place) + 8
        painter.setPen(inks.color(QPalette.ColorRole.Text))
        keys = painter.fontMetrics().horizontalAdvance(command.key)
        room = box.right() - left - keys - 12
        words = painter.fontMetrics().elidedText(command.name, Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(box.adjusted(left - box.left(), 0, 0, 0), int(middle), words)
        painter.restore()

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        """The size of a row: as wide as the list, because long names are elided."""
        return QSize(0, super().sizeHint(option, index).height())


class CommandPalette(QDialog):
    """A search field above the matching commands. Enter runs the selected one."""

    def __init__(self, commands: list[Command], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.commands = commands
        self.setWindowTitle("Commands")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlags(Qt.WindowType.Popup)
        self.setAccessibleName("Commands")
        self.resize(560, 420)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        self.line = QLineEdit()
        self.line.setPlaceholderText("Type a command or a card")
        self.line.setAccessibleName("Command")
        self.line.textChanged.connect(self._find)
        self.line.installEventFilter(self)
        self.list = QListWidget()
        self.list.setAccessibleName("Commands found")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setItemDelegate(CommandRows(self.list))
        self.list.itemClicked.connect(lambda: self.run())
        column.addWidget(self.line)
        column.addWidget(self.list)
        self._shown: list[Command] = []
        self._find("")
        self.line.setFocus()

    def run(self) -> None:
        """Close, and run the selected command."""
        at, shown = self.list.currentRow(), self._shown
        self.close()
        if 0 <= at < len(shown):
            shown[at].done()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Release the commands, which hold references to the window. If theirs were the last
        reference, the window would be deleted while it deletes this dialog."""
        self.commands, self._shown = [], []
        self.list.clear()
        super().closeEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            row, last = self.list.currentRow(), self.list.count() - 1
            to = {
                Qt.Key.Key_Down: min(last, row + 1),
                Qt.Key.Key_Up: max(0, row - 1),
                Qt.Key.Key_PageDown: min(last, row + 10),
                Qt.Key.Key_PageUp: max(0, row - 10),
            }.get(Qt.Key(event.key()))
            if to is not None:
                self.list.setCurrentRow(to)
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.run()
                return True
        return super().eventFilter(watched, event)

    def _find(self, typed: str) -> None:
        scored = [(score(c.words, typed), at) for at, c in enumerate(self.commands)]
        best = sorted((s, at) for s, at in scored if s is not None)
        order = [at for _, at in best] if typed.strip() else range(len(self.commands))
        self._shown = [self.commands[at] for at in order][:_MOST]
        self.list.clear()
        for command in self._shown:
            text = f"{command.words}    {command.key}" if command.key else command.words
            item = QListWidgetItem(text)  # for screen readers; CommandRows paints the row
            item.setData(Qt.ItemDataRole.UserRole, command)
            self.list.addItem(item)
        self.list.setCurrentRow(0)


def view_keys() -> list[tuple[str, str]]:
    """The keys that belong to no action, with their effects."""
    return [(key, f"{name} ({place.lower()})") for place, key, name in KEYS]
