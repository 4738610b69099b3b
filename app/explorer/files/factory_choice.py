"""The dialog for choosing one of the networks that a file defines."""

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

from simulator.networks.loading.factories import Factory


class FactoryChoice(QDialog):
    """Lists the factories of a file with their signatures. Enter or a double click opens one.
    Factories that need arguments are disabled and list these arguments."""

    def __init__(
        self,
        parent: QWidget,
        path: Path,
        factories: tuple[Factory, ...],
        chosen: Callable[[str], None],
    ) -> None:
        super().__init__(parent)
        self.chosen = chosen
        ready = [factory for factory in factories if not factory.required]
        self.setWindowTitle(f"{path.name} has {len(ready)} networks")
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(460)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 16)
        column.setSpacing(8)
        head = QLabel(self.windowTitle())
        head.setProperty("tone", "figure")
        hint = QLabel("Choose the network to open.")
        hint.setProperty("tone", "support")
        self.list = QListWidget()
        self.list.setAccessibleName("Networks of the file")
        for factory in sorted(factories, key=lambda f: (bool(f.required), f.without_inputs)):
            needs = f"   needs {', '.join(factory.required)}" if factory.required else ""
            item = QListWidgetItem(f"{factory.name}{factory.signature}{needs}")
            item.setData(Qt.ItemDataRole.UserRole, factory.name)
            item.setToolTip(item.text())
            if factory.required:
                item.setFlags(Qt.ItemFlag.NoItemFlags)
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self.list.itemDoubleClicked.connect(lambda: self.open_selected())
        self.button = QPushButton("Open")
        self.button.setProperty("look", "primary")
        self.button.setAccessibleName("Open the selected network")
        self.button.setDefault(True)
        self.button.clicked.connect(self.open_selected)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.button)
        for widget in (head, hint, self.list):
            column.addWidget(widget)
        column.addLayout(row)
        self.list.setFocus()

    def open_selected(self) -> None:
        """Open the selected network."""
        item = self.list.currentItem()
        self.close()
        self.chosen(item.data(Qt.ItemDataRole.UserRole))
