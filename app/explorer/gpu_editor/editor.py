"""The window of a GPU's form: use it in this session, or keep it in a file of the user's own."""

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
Used = Callable[[str | dict[str, Any], str], None]
"""Takes what a scenario has as its GPU, and the GPU's name."""


class Editor(QDialog):
    """`used` takes a GPU for the scenario, `kept` is told of a file that was written."""

    def __init__(
        self,
        theme: Theme,
        gpu: GPU,
        used: Used,
        kept: Callable[[Path], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.used, self.kept = used, kept
        self.own = own_file(gpu)
        self.setWindowTitle(f"GPU: {gpu.name}")
        self.setAccessibleName("GPU editor")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        room = parent.size() if parent else QSize(_WIDE, _HIGH)
        self.resize(min(_WIDE, room.width() - 24), min(_HIGH, room.height() - 24))
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 14, 18, 14)
        column.setSpacing(10)
        self.form = Form(theme, Sheet(begun(gpu)))
        self.form.changed.connect(self.show_state)
        column.addWidget(self.form, 1)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.said = QLabel()
        self.said.setWordWrap(True)
        row.addWidget(self.said, 1)
        self.use_button = self._button("Use in this session", self.use)
        self.save_button = self._button("Save and use", self.save)
        self.save_button.setProperty("look", "primary")
        for button in (self._button("Close", self.close), self.use_button, self.save_button):
            button.setAutoDefault(False)
            row.addWidget(button)
        column.addLayout(row)
        self.show_state()

    def show_state(self) -> None:
        """What is wrong, or how many peaks agree; the buttons follow."""
        complaints, peaks = self.form.sheet.complaints(), self.form.peaks()
        agree = sum(peak.agrees for peak in peaks)
        if complaints:
            more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
            self._say(complaints[0] + more, "danger")
        elif agree < len(peaks):
            self._say(
                f"{len(peaks) - agree} of {len(peaks)} peaks are not what their parts give: "
                "it can be used, but a figure is wrong",
                "danger",
            )
        else:
            self._say(
                f"{agree} peaks are what their parts give, within 2%"
                if agree
                else "No peak could be held against its parts",
                "support",
            )
        for button in (self.use_button, self.save_button):
            button.setEnabled(not complaints)
        place = self.own or (users_said() / "….toml")
        self.save_button.setToolTip(f"Writes {place}")
        self.use_button.setToolTip("Its figures are kept in the session, in no file of their own")

    def use(self) -> None:
        """The scenario takes the keys themselves."""
        self._tried(lambda keys: self.used(keys, str(keys["name"])))

    def save(self) -> None:
        """Write the file; the scenario takes the GPU by its id."""

        def keep(keys: Table) -> None:
            path = save(keys, self.own)
            self.own = path
            self.kept(path)
            self.used(path.stem, str(keys["name"]))

        self._tried(keep)

    def _tried(self, done: Callable[[dict[str, Any]], None]) -> None:
        try:
            done(self.form.sheet.table())
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
        self.said.setText(words)
        self.said.setProperty("tone", tone)
        self.said.style().unpolish(self.said)
        self.said.style().polish(self.said)


def own_file(gpu: GPU) -> Path | None:
    """The user's own file of a GPU; None for a packaged one and for one of no file."""
    path = users_said() / f"{gpu.id}.toml"
    packaged = (PACKAGED / f"{gpu.id}.toml").is_file()
    return path if path.is_file() and not packaged else None


def users_said() -> Path:
    """The user's folder, also where its variable names none that is there: saving says so."""
    try:
        return users()
    except RidgepointError:
        return Path("RIDGEPOINT_GPUS")


def begun(gpu: GPU) -> Table:
    """What the form begins with: a packaged GPU under a name of the user's own."""
    found = table(gpu)
    if own_file(gpu) is None and gpu.id != "inline":
        found = {**found, "name": f"My {gpu.name}"}
        found.pop("aliases", None)
    return found
