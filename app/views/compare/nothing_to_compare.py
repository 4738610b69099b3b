"""The empty state of the comparison: a description, and buttons that add a second scenario."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.answers.side import Side
from app.theme import BODY_PX, FIGURE_PX, SUPPORT_PX, Theme
from app.widgets.fonts import font
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario, Value
from simulator.whatif import apply

_ABOUT = (
    "A comparison needs two scenarios. It shows how each change between them affects the time, "
    "alone and on top of the changes before it, which kernels changed, and which parts of the "
    "network changed their regime."
)
_WAYS: tuple[tuple[str, str, str, dict[str, Value]], ...] = (
    ("Compare with a CUDA graph", "Graph", "mode", {"to": "cuda_graph"}),
    ("Compare with torch.compile", "Compiled", "mode", {"to": "compiled"}),
    ("Compare with fused AdamW", "Fused AdamW", "optimizer", {"to": "adamw_fused"}),
    ("Compare with twice the bandwidth", "Twice the bandwidth", "bandwidth", {"times": 2.0}),
    ("Compare with a B200", "B200", "gpu", {"to": "b200_sxm"}),
)
"""A button's text, the name of the scenario that it adds, and its what-if with arguments."""


class NothingToCompare(QWidget):
    """One sentence and a few buttons; `added` emits the name and scenario of a side to add."""

    added = Signal(str, object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.side: Side | None = None
        self.setAccessibleName("Nothing to compare yet")
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 24)
        column.setSpacing(12)
        column.addStretch(1)
        head = QLabel("Nothing to compare yet")
        head.setFont(font(FIGURE_PX, 600))
        head.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.about = QLabel(_ABOUT)
        self.about.setWordWrap(True)
        self.about.setFont(font(SUPPORT_PX))
        self.about.setFixedSize(520, self.about.heightForWidth(520) + 24)
        self.about.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        column.addWidget(head)
        column.addWidget(self.about, 0, Qt.AlignmentFlag.AlignHCenter)
        grid = QGridLayout()
        grid.setSpacing(8)
        self.buttons: list[QPushButton] = []
        for place, (words, _, _, _) in enumerate(_WAYS):
            button = QPushButton(words)
            button.setFont(font(BODY_PX, 600 if place == 0 else 400))
            button.setObjectName("primary" if place == 0 else "other")
            button.setAccessibleName(words)
            button.clicked.connect(lambda _=False, p=place: self._ask(p))
            grid.addWidget(button, place, 0)
            self.buttons.append(button)
        column.addLayout(grid)
        column.setAlignment(grid, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        self.restyle(theme)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setStyleSheet(
            f"NothingToCompare {{ background: {theme.bg1}; }} QLabel {{ color: {theme.ink}; }}"
            f"QPushButton {{ background: {theme.bg3}; color: {theme.ink}; border: 1px solid "
            f"{theme.line2}; border-radius: 6px; padding: 6px 16px; min-width: 240px; }}"
            f"QPushButton#primary {{ background: {theme.b}; color: {theme.on_accent}; }}"
            f"QPushButton:focus {{ border: 2px solid {theme.focus}; }}"
            f"QPushButton:disabled {{ color: {theme.ink3}; }}"
        )

    def show_side(self, side: Side) -> None:
        """Offer scenarios that differ from this one; the other buttons are disabled, with the
        reason."""
        self.side = side
        for place, button in enumerate(self.buttons):
            other, why = self._other(place)
            button.setEnabled(other is not None)
            button.setToolTip(why)
            button.setVisible(
                _WAYS[place][2] != "optimizer" or side.prediction.trace.phase == "training"
            )

    def rows(self) -> list[list[str]]:
        """The buttons with their tooltips."""
        offered = [b for b in self.buttons if not b.isHidden()]
        return [["Button", "Effect"], *([b.text(), b.toolTip()] for b in offered)]

    def _other(self, place: int) -> tuple[Scenario | None, str]:
        """Return the scenario that a button adds, or None, and its tooltip."""
        assert self.side is not None
        _, name, whatif, arguments = _WAYS[place]
        try:
            other = apply(self.side.scenario, whatif, arguments)
        except InputError as error:
            return None, str(error)
        p = self.side.prediction
        current = {"mode": p.mode, "gpu": p.gpu.id}.get(whatif)
        if current is not None and current == arguments["to"]:
            return None, f"{self.side.name} already has this"
        return other, f"Adds a scenario called {name}"

    def _ask(self, place: int) -> None:
        other, _ = self._other(place) if self.side else (None, "")
        if other is not None:
            self.added.emit(_WAYS[place][1], other)
