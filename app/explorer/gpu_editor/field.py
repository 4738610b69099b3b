"""One entry of the form: its box, and where its figure is from."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from app.explorer.gpu_editor.sheet import KINDS, Entry, key_of, label
from app.theme import Theme
from app.widgets.choice import Choice

_FIGURE_PX, _KIND_PX, _TEXT_PX = 78, 118, 202
_LEFT_OUT = {
    "units": "typical",
    "boost_mhz": "typical",
    "l2_mib": "typical",
    "tensor_mhz": "as boost",
}
_HELP = {
    "units": "SMs, compute units or whatever the FLOPs a clock are of. Left out: as many as a "
    "typical card has",
    "boost_mhz": "The clock of the vector units' peaks, and of fp64 on tensor cores",
    "tensor_mhz": "The clock of all other tensor peaks. Left out: the boost clock",
    "l2_bandwidth_gbytes_per_s": "Left out: by bytes a clock and unit, as on the measured card",
    "interconnect_gbytes_per_s": "Both directions together",
    "aliases": "Names that the GPU is found by too, with commas between",
    "compute_capability": "Such as 9.0. Left out: as of a typical card",
}


class Field(QWidget):
    """A text, and for a figure its provenance. `typed` gives the text, `told` the provenance;
    `entered` says that it has the focus."""

    typed = Signal(str)
    told = Signal(str)
    entered = Signal()

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.name = name
        key, words = key_of(name), label(name)
        figure = key.low is not None
        self.box = QLineEdit()
        self.box.setAccessibleName(f"{words}, {key.unit}" if key.unit else words)
        self.box.setFixedWidth(_FIGURE_PX if figure else _TEXT_PX)
        self.box.setPlaceholderText("needed" if key.required else _LEFT_OUT.get(name, "–"))
        self.help = _HELP.get(name, "")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.box)
        self.kind = Choice(theme, f"Where {words} is from")
        if figure:
            self.box.setAlignment(Qt.AlignmentFlag.AlignRight)
            self.kind.addItems(list(KINDS))
            self.kind.setFixedWidth(_KIND_PX)
            self.kind.textActivated.connect(self.told)
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
        """Show an entry, and what is wrong with it; what is being typed stays as it is."""
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
        none = "No source: taken as of a typical card, or on purpose"
        self.kind.setToolTip(none if entry.kind == "assumed" else entry.source or entry.kind)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            self.entered.emit()
        return False
