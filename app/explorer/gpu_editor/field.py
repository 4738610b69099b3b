"""One entry of the form: its text field, and the provenance of its figure."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from app.explorer.gpu_editor.sheet import KINDS, Entry, key_of, label
from app.theme import Theme
from app.widgets.fields.choice import Choice

_FIGURE_PX, _KIND_PX, _TEXT_PX = 78, 118, 202
_PLACEHOLDERS = {
    "units": "typical",
    "boost_mhz": "typical",
    "l2_mib": "typical",
    "tensor_mhz": "as boost",
}
_HELP = {
    "units": 'SMs or compute units: the units of "FLOPs per clock and unit". Default: the '
    "number of a typical GPU",
    "boost_mhz": "Clock of the peaks of vector units, and of fp64 on tensor cores",
    "tensor_mhz": "Clock of all other peaks of tensor cores. Default: the boost clock",
    "l2_bandwidth_gbytes_per_s": "Default: the bytes per clock and unit of the measured GPU",
    "interconnect_gbytes_per_s": "Sum of both directions",
    "aliases": "Other names of the GPU, separated by commas",
    "compute_capability": "Such as 9.0. Default: the capability of a typical GPU",
}


class Field(QWidget):
    """A text field, with the provenance of a figure beside it. `typed` carries a new text,
    `kind_chosen` a new provenance; `entered` signals the focus."""

    typed = Signal(str)
    kind_chosen = Signal(str)
    entered = Signal()

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.name = name
        key, words = key_of(name), label(name)
        figure = key.low is not None
        self.box = QLineEdit()
        self.box.setAccessibleName(f"{words}, {key.unit}" if key.unit else words)
        self.box.setFixedWidth(_FIGURE_PX if figure else _TEXT_PX)
        self.box.setPlaceholderText("required" if key.required else _PLACEHOLDERS.get(name, "–"))
        self.help = _HELP.get(name, "")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.box)
        self.kind = Choice(theme, f"Source of {words}")
        if figure:
            self.box.setAlignment(Qt.AlignmentFlag.AlignRight)
            self.kind.addItems(list(KINDS))
            self.kind.setFixedWidth(_KIND_PX)
            self.kind.textActivated.connect(self.kind_chosen)
            self.kind.installEventFilter(self)
            policy = self.kind.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            self.kind.setSizePolicy(policy)
            row.addWidget(self.kind)
        else:
            row.addStretch(1)
        self.box.textEdited.connect(self.typed)
        self.box.installEventFilter(self)

    def put(self, entry: Entry, wrong: str) -> None:
        """Show an entry and its error; keep text that is being typed."""
        if self.box.text().strip() != entry.text:
            self.box.setText(entry.text)
            self.box.setCursorPosition(0)
        look = "wrong" if wrong else None
        if self.box.property("look") != look:
            self.box.setProperty("look", look)
            self.box.style().unpolish(self.box)
            self.box.style().polish(self.box)
        self.box.setToolTip(wrong or self.help)
        self.box.setAccessibleDescription(wrong)
        with QSignalBlocker(self.kind):
            self.kind.setCurrentText(entry.kind)
        if key_of(self.name).low is not None:
            self.kind.setVisible(bool(entry.text))
        none = "No source: the figure of a typical GPU, or an assumption"
        self.kind.setToolTip(none if entry.kind == "assumed" else entry.source or entry.kind)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self.entered.emit()
        return False
