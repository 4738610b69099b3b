"""The two sweeps through a map's cursor, or bars for axes of choices."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.answers.side import Side
from app.scenes.regime_map.scene import Chart, Choice, Spot
from app.scenes.sweep.curves import axis_name, value_words, within_words
from app.theme import Theme
from app.views.regime_map.choice_bars import ChoiceBars
from app.views.sweep.canvas import SweepCanvas
from simulator.analysis.regimes import Shift


class ThroughCursor(QWidget):
    """The sweep along x above the sweep along y."""

    pressed_on = Signal(int, int)
    """An axis (0: x, 1: y) and the index of the value that was clicked."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.chart: Chart | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 6, 0, 0)
        column.setSpacing(2)
        self.slices = (SweepCanvas(theme), SweepCanvas(theme))
        self.bars = (ChoiceBars(theme), ChoiceBars(theme))
        for upright, (canvas, bars) in enumerate(zip(self.slices, self.bars, strict=True)):
            canvas.setMinimumSize(250, 150)
            canvas.pressed_on.connect(partial(self._along, upright))
            bars.pressed_on.connect(partial(self._chosen, upright))
            bars.hide()
            column.addWidget(canvas, 1)
            column.addWidget(bars, 1)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        for canvas in (*self.slices, *self.bars):
            canvas.restyle(theme)

    def clear(self) -> None:
        """Show nothing, as there is no cursor."""
        self.chart = None
        for canvas in self.slices:
            canvas.sweep = None
            canvas.update()

    def fade(self) -> None:
        """Fade the sweeps, which belong to a previous scenario."""
        for canvas in self.slices:
            canvas.wait()

    def fail(self) -> None:
        """Show that there is no map, and so no sweep."""
        self.chart = None
        for canvas in self.slices:
            canvas.fail("No map.")

    def show_spot(
        self, chart: Chart, side: Side, spot: Spot, shifts: tuple[tuple[Shift, ...] | None, ...]
    ) -> None:
        """Show the row and the column through a point, with the exact shifts along each. None
        stands for shifts that are known only approximately, from the map's points.
        """
        self.chart = chart
        lines = chart.x, chart.y
        for upright, (canvas, bars) in enumerate(zip(self.slices, self.bars, strict=True)):
            line, other, at = lines[upright], lines[1 - upright], spot[1 - upright]
            names = [within_words(axis_name(axis.name)) for axis in (line, other)]
            head = f"Along {names[0]}", f"at {names[1]} {value_words(other.values[at])}"
            canvas.setVisible(line.numeric)
            bars.setVisible(not line.numeric)
            if not line.numeric:
                bars.show_choices(chart.choices(spot, bool(upright)), spot[upright], *head)
                continue
            sweep = chart.slice(side, spot, bool(upright))
            exact = shifts[upright]
            sweep = replace(sweep, about=True) if exact is None else replace(sweep, shifts=exact)
            canvas.head = head
            canvas.show_curves(sweep)
            canvas.setAccessibleName(f"Sweep {' '.join(head).lower()}")

    def _along(self, upright: int, row: int | None) -> None:
        """Emit the clicked point of a sweep; its curve omits the values that cannot run."""
        first, chart = self.slices[upright].first, self.chart
        if row is not None and first is not None and chart is not None:
            values = [float(v) for v in (chart.y if upright else chart.x).values]  # pyright: ignore
            self.pressed_on.emit(upright, values.index(float(first.values[row])))

    def _chosen(self, upright: int, choice: Choice | None) -> None:
        if choice is not None:
            self.pressed_on.emit(upright, choice.place)
