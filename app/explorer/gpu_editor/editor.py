"""The dialog of the GPU editor: use a GPU in this session, or save it to the user's folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.explorer.gpu_editor.form import Form
from app.explorer.gpu_editor.sheet import Sheet
from app.theme import Theme
from simulator.errors import RidgepointError
from simulator.hardware.gpu import GPU, PACKAGED, users
from simulator.hardware.gpu_keys import Table, save, table

_WIDE, _HIGH = 1240, 760
OnUse = Callable[[str | dict[str, Any], str], None]
"""Called with the GPU for the scenario (an id, or its keys) and its name."""


class Editor(QDialog):
    """Calls `on_use` with a GPU for the scenario, and `on_save` with the path of a written file."""

    def __init__(
        self,
        theme: Theme,
        gpu: GPU,
        on_use: OnUse,
        on_save: Callable[[Path], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.on_use, self.on_save = on_use, on_save
        self.own = own_file(gpu)
        self.setWindowTitle(f"GPU: {gpu.name}")
        self.setAccessibleName("GPU editor")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        room = parent.size() if parent else QSize(_WIDE, _HIGH)
        self.resize(min(_WIDE, room.width() - 24), min(_HIGH, room.height() - 24))
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 14, 18, 14)
        column.setSpacing(10)
        self.form = Form(theme, Sheet(initial_table(gpu)))
        self.form.changed.connect(self.show_state)
        column.addWidget(self.form, 1)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.message = QLabel()
        self.message.setWordWrap(True)
        row.addWidget(self.message, 1)
        self.use_button = self._button("Use in this session", self.use)
        self.save_button = self._button("Save and use", self.save)
        self.save_button.setProperty("look", "primary")
        for button in (self._button("Close", self.close), self.use_button, self.save_button):
            button.setAutoDefault(False)
            row.addWidget(button)
        column.addLayout(row)
        self.show_state()

    def show_state(self) -> None:
        """Show the first error, or the number of peaks that agree; enable the buttons
        accordingly."""
        complaints, peaks = self.form.sheet.complaints(), self.form.peaks()
        agree = sum(peak.agrees for peak in peaks)
        if complaints:
            more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
            self._say(complaints[0] + more, "danger")
        elif agree < len(peaks):
            self._say(
                f"{len(peaks) - agree} of {len(peaks)} peaks do not equal units × clock × FLOPs: "
                "the GPU can be used, but a figure is wrong",
                "danger",
            )
        else:
            self._say(
                f"Peaks that equal units × clock × FLOPs within 2%: {agree}"
                if agree
                else "No peak can be checked: units, clock or FLOPs are missing",
                "support",
            )
        for button in (self.use_button, self.save_button):
            button.setEnabled(not complaints)
        path = self.own or (users_folder() / "….toml")
        self.save_button.setToolTip(f"Writes {path}")
        self.use_button.setToolTip("Keep the figures in the session, without a GPU file")

    def use(self) -> None:
        """Use the GPU's keys in the scenario."""
        self._finish(lambda keys: self.on_use(keys, str(keys["name"])))

    def save(self) -> None:
        """Write the file, and use the GPU's id in the scenario."""

        def write(keys: Table) -> None:
            path = save(keys, self.own)
            self.own = path
            self.on_save(path)
            self.on_use(path.stem, str(keys["name"]))

        self._finish(write)

    def _finish(self, action: Callable[[dict[str, Any]], None]) -> None:
        try:
            action(self.form.sheet.table())
        except RidgepointError as error:
            self._say(str(error), "danger")
        else:
            self.close()

    def _button(self, words: str, clicked: Callable[[], Any]) -> QPushButton:
        button = QPushButton(words)
        button.setAccessibleName(words)
        button.clicked.connect(lambda: clicked())
        return button

    def _say(self, words: str, tone: str) -> None:
        self.message.setText(words)
        self.message.setProperty("tone", tone)
        self.message.style().unpolish(self.message)
        self.message.style().polish(self.message)


def own_file(gpu: GPU) -> Path | None:
    """The user's file of a GPU; None for a packaged GPU or a GPU without a file."""
    path = users_folder() / f"{gpu.id}.toml"
    packaged = (PACKAGED / f"{gpu.id}.toml").is_file()
    return path if path.is_file() and not packaged else None


def users_folder() -> Path:
    """The user's folder of GPUs, or a placeholder if the environment variable is invalid (saving
    reports the error)."""
    try:
        return users()
    except RidgepointError:
        return Path("RIDGEPOINT_GPUS")


def initial_table(gpu: GPU) -> Table:
    """The initial contents of the form; a packaged GPU gets a new name."""
    keys = table(gpu)
    if own_file(gpu) is None and gpu.id != "inline":
        keys = {**keys, "name": f"My {gpu.name}"}
        keys.pop("aliases", None)
    return keys
