"""Which network of a file is opened, where it has several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from simulator.networks.factories import Factory


class FactoryChoice(QDialog):
    """The factories of a file by name, with their signatures. Enter or a double click opens one,
    Escape none; those that need arguments say which."""

    def __init__(
        self,
        parent: QWidget,
        path: Path,
        factories: tuple[Factory, ...],
        taken: Callable[[str], None],
    ) -> None:
        super().__init__(parent)
        self.taken = taken
        ready = [each for each in factories if not each.required]
        self.setWindowTitle(f"{path.name} has {len(ready)} networks")
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(460)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 16)
        column.setSpacing(8)
        head = QLabel(self.windowTitle())
        head.setProperty("tone", "figure")
        said = QLabel("Which one is opened?")
        said.setProperty("tone", "support")
        self.list = QListWidget()
        self.list.setAccessibleName("Networks of the file")
        for each in sorted(factories, key=lambda each: bool(each.required)):
            needs = f"   needs {', '.join(each.required)}" if each.required else ""
            item = QListWidgetItem(f"{each.name}{each.signature}{needs}")
            item.setData(Qt.ItemDataRole.UserRole, each.name)
            item.setToolTip(item.text())
            if each.required:
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self.list.itemDoubleClicked.connect(lambda _: self.take())
        self.button = QPushButton("Open")
        self.button.setProperty("look", "primary")
        self.button.setAccessibleName("Open the chosen network")
        self.button.setDefault(True)
        self.button.clicked.connect(self.take)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.button)
        for widget in (head, said, self.list):
            column.addWidget(widget)
        column.addLayout(row)
        self.list.setFocus()

    def take(self) -> None:
        """Open the one that is chosen."""
        item = self.list.currentItem()
        self.close()
        self.taken(item.data(Qt.ItemDataRole.UserRole))
