"""The sweep: time and shares over batch or sequence length, with regime shifts."""

from __future__ import annotations

from typing import Any, ClassVar

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from app.answers.side import Question, Side
from app.formulas.formula import Formula
from app.formulas.points import time_at
from app.quantities import between, count_of, data, percent, plain, seconds
from app.scenes.plain_points import PLAIN_HEADS, plain_number, plain_point
from app.scenes.sweep.curves import (
    NAMES,
    Curves,
    curves,
    lacking,
    moved,
    or_none,
    within_words,
)
from app.theme import Theme
from app.views.sweep.canvas import SweepCanvas
from app.widgets.canvas import Canvas
from app.widgets.context_menu import Entry
from app.widgets.strip_view import StripView
from simulator.prediction import REGIMES

_BAND = "band: 80% interval"


class Sweep(StripView):
    """A step's time along an axis. A click, or the arrow keys and Enter, selects the scenario at a
    point; the control above selects the axis."""

    title: ClassVar[str] = "Sweep"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.axis = "batch"
        self.sides: tuple[Side, ...] = ()
        self.current = 0
        self.switch = self.strip.segments("Axis", ("Batch", "Sequence"), self._along)
        self.strip.stretch()
        self.status = self.strip.label(_BAND)
        self.canvas = self.below(SweepCanvas(theme), self._pressed)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        """Fade the current curves until those of `sides` arrive."""
        self.sides, self.current = sides, current
        self.canvas.wait()
        for button, (axis, words) in zip(
            self.switch.buttons(), {"batch": "Batch", "seq": "Sequence"}.items(), strict=True
        ):
            why = lacking(sides[current].scenario, axis)
            button.setEnabled(not why or axis == self.axis)
            button.setToolTip(why or f"Axis: {words}")

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        axis = self.axis

        return or_none(lambda cancelled: curves(sides, current, axis, cancelled))

    def answer(self, result: Any) -> None:
        if isinstance(result, Curves) and result.axis == self.axis:
            self.canvas.show_curves(result)
            sentences = [s.sentence for s in result.shifts] or ["no regime shift in this range"]
            self.canvas.setAccessibleDescription("; ".join([*sentences, *result.notes]))
            self.status.setToolTip("\n".join([*sentences, *result.notes]))
            has_measured = any(curve.measured for curve in result.curves)
            self.status.setText(f"× measured    {_BAND}" if has_measured else _BAND)

    def show_part(self, result: Any) -> None:
        self.answer(result)

    def fail(self, reason: str) -> None:
        self.canvas.fail(f"No sweep over {NAMES[self.axis].lower()}.\n{reason}")

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        first, row = self.canvas.first, self.canvas.over
        if first is None or row is None:
            return super().entries(canvas)
        value = int(first.values[int(row)])
        name = f"{within_words(NAMES[self.axis])} {plain(value)}"
        after = moved(first.side.scenario, self.axis, value)
        use = Entry(f"Use {name}\tEnter", lambda: self._pressed(row))
        here = Entry(f"Use {name}", None, "in use")
        return [
            here if value == first.here else use,
            Entry(f"Add a scenario with {name}", lambda: self.added.emit(name, after)),
            *super().entries(canvas),
        ]

    def formula(self, at: QPoint) -> Formula | None:
        first, over = self.canvas.first, self.canvas.over
        row = None if first is None else first.row(first.here) if over is None else int(over)
        if first is None or row is None:
            return None
        where = f"{within_words(NAMES[self.axis])} {plain(float(first.values[row]))}"
        return time_at(where, {name: float(column[row]) for name, column in first.columns.items()})

    def subtitle(self) -> str:
        return f"time and shares over {NAMES[self.axis].lower()}"

    def rows(self) -> list[list[str]]:
        sweep = self.canvas.sweep
        if sweep is None or not sweep.curves:
            return []
        heads = [
            "Side",
            NAMES[sweep.axis],
            "Time",
            "80% interval",
            "GPU busy",
            "Throughput",
            *(r.capitalize() for r in REGIMES),
            "Bound by",
            "Memory at the peak",
            "Fits",
        ]
        rows = [heads]
        for curve in sweep.curves:
            for row, value in enumerate(curve.values):
                at = {name: float(column[row]) for name, column in curve.columns.items()}
                rows.append(
                    [
                        curve.side.letter,
                        plain(float(value)),
                        seconds(at["period_s"]),
                        between(at["low_s"], at["high_s"], at["period_s"]),
                        seconds(at["gpu_busy_s"]),
                        count_of(at["samples_per_s"], "samples/s"),
                        *(percent(at[r]) for r in REGIMES),
                        curve.regime(row),
                        data(at["memory_bytes"]),
                        "yes" if at["fits"] else "no",
                    ]
                )
        notes = [["shift", s.sentence] for s in sweep.shifts]
        notes += [["note", text] for text in sweep.notes]
        notes += [
            [
                "measured",
                f"{curve.side.letter}, {NAMES[sweep.axis].lower()} {plain(p.value)}: "
                f"{'GPU busy ' if p.busy else ''}{seconds(p.seconds)} ({p.source})",
            ]
            for curve in sweep.curves
            for p in curve.measured
        ]
        return rows + [row + [""] * (len(heads) - len(row)) for row in notes]

    def plain_rows(self) -> list[list[str]]:
        sweep = self.canvas.sweep
        if sweep is None or not sweep.curves:
            return []
        rows = [["Side", NAMES[sweep.axis], *PLAIN_HEADS]]
        for curve in sweep.curves:
            for row, value in enumerate(curve.values.tolist()):
                at = {name: float(column[row]) for name, column in curve.columns.items()}
                rows.append([curve.side.letter, plain_number(value), *plain_point(at)])
        return rows

    def _along(self, index: int) -> None:
        """Change the axis and request its sweep."""
        axis = list(NAMES)[index]
        if axis == self.axis:
            return
        self.axis = axis
        self.canvas.sweep, self.canvas.over = None, None
        self.canvas.update()
        self.question_changed.emit()

    def _pressed(self, row: int | None) -> None:
        first = self.canvas.first
        if row is None or first is None:
            return
        value = int(first.values[row])
        if value == first.here:
            return
        self.scenario_requested.emit(moved(first.side.scenario, self.axis, value))
