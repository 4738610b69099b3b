"""The menu that selects the figure whose spread is explained, and the axis that groups lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from app.scenes.combinations.table import FIGURES, in_sentence
from app.widgets.strip import Strip

BY_REGIME = ""
"""The name of the grouping by regime."""


class ExplainMenu:
    """Calls `changed` after a choice of the `figure`, or of `by`, the name of the axis that groups
    the lines (`BY_REGIME` for the regime)."""

    def __init__(self, strip: Strip, figure: str, changed: Callable[[], None]) -> None:
        self.figure, self.by = figure, BY_REGIME
        self.axes: tuple[str, ...] = ()
        self._changed = changed
        self.button = strip.button("Why ▾", "What explains the spread of a figure", lambda: None)
        self.button.setToolTip("What explains the spread of a figure (V), lines by group (G)")
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self.button)
        self.menu.setAccessibleName("What explains the spread of a figure")
        self.button.setMenu(self.menu)
        self.button.setStyleSheet("QToolButton::menu-indicator { image: none; }")
        self.menu.aboutToShow.connect(self._fill)

    def offer(self, axes: Sequence[str]) -> None:
        """Offer these axes; group by regime if the current axis is not among them."""
        self.axes = tuple(axes)
        if self.by not in self.axes:
            self.by = BY_REGIME

    def explain(self, figure: str) -> None:
        """Explain the spread of a figure."""
        self.figure = figure
        self._changed()

    def group(self, by: str) -> None:
        """Group the lines by an axis."""
        self.by = by
        self._changed()

    def next_figure(self) -> None:
        """Explain the next figure."""
        names = [*FIGURES]
        self.explain(names[(names.index(self.figure) + 1) % len(names)])

    def next_group(self) -> None:
        """Group by the next axis; after the last one, group by regime."""
        names = [BY_REGIME, *self.axes]
        self.group(names[(names.index(self.by) + 1) % len(names)])

    def commands(self) -> list[tuple[str, Callable[[], None]]]:
        """The choices as commands."""
        figures = [
            (f"Explain the spread of {in_sentence(name)}", lambda name=name: self.explain(name))
            for name in FIGURES
        ]
        groups = [
            (f"Group lines by {in_sentence(name) or 'regime'}", lambda name=name: self.group(name))
            for name in (BY_REGIME, *self.axes)
        ]
        return [*figures, *groups]

    def _fill(self) -> None:
        self.menu.clear()
        self._section("What explains the spread of", [(n, n) for n in FIGURES], self.explain)
        axes = [(name, name) for name in self.axes]
        self._section("Group lines by", [(BY_REGIME, "regime"), *axes], self.group)

    def _section(
        self, head: str, entries: Sequence[tuple[str, str]], choose: Callable[[str], None]
    ) -> None:
        """Add a heading and its entries, pairs of name and text; tick the current one."""
        self.menu.addAction(head).setEnabled(False)
        group = QActionGroup(self.menu)
        for name, words in entries:
            action: QAction = self.menu.addAction(words)
            action.setCheckable(True)
            action.setChecked(name in (self.figure, self.by))
            action.setActionGroup(group)
            action.triggered.connect(lambda _=False, name=name: choose(name))
