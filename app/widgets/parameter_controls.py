"""The controls of a what-if, made from the parameters of its signature."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QLineEdit, QWidget

from app.answers.cards import plainly
from app.quantities import plain
from app.theme import Theme
from app.widgets.choice import Choice
from app.widgets.controls import LogSlider
from simulator.errors import RidgepointError
from simulator.scenario.parameters import Parameter
from simulator.scenario.whatif_text import value_of

_STEPS = 200
_WIDEST = 1e5
"""A number whose bounds are this far apart has no slider: no hand can point at its values."""


class RangeSlider(LogSlider):
    """A number within its bounds, in even steps, or in even factors."""

    def __init__(self, theme: Theme, name: str, parameter: Parameter) -> None:
        assert parameter.low is not None and parameter.high is not None
        self.low, self.high, self.log = parameter.low, parameter.high, parameter.log
        self.whole = parameter.kind == "count"
        super().__init__(theme, name, _STEPS, (0, _STEPS))

    def at(self, value: float) -> float:
        return self.edge + value / _STEPS * (self.width() - 2 * self.edge)

    def value_at(self, x: float) -> int:
        part = (x - self.edge) / max(1.0, self.width() - 2 * self.edge)
        return round(min(1.0, max(0.0, part)) * _STEPS)

    def word(self, value: int) -> str:
        return plain(self.number(value))

    def step(self) -> int:
        return 2

    def number(self, step: int) -> float:
        """The number of a step, to three digits."""
        part = step / _STEPS
        exact = (
            self.low * (self.high / self.low) ** part
            if self.log
            else (self.low + part * (self.high - self.low))
        )
        return round(exact) if self.whole else float(f"{exact:.3g}")

    def step_of(self, number: float) -> int:
        """The step nearest to a number."""
        number = min(self.high, max(self.low, number))
        part = (
            log(number / self.low) / log(self.high / self.low)
            if self.log
            else ((number - self.low) / (self.high - self.low))
        )
        return round(part * _STEPS)


class Controls(QWidget):
    """One row a parameter. `changed` gives all arguments, and whether a drag goes on."""

    changed = Signal(object, bool)
    drag_ended = Signal()

    def __init__(
        self,
        theme: Theme,
        whatif: str,
        parameters: tuple[Parameter, ...],
        values: Mapping[str, Any],
    ) -> None:
        super().__init__()
        self.theme, self.whatif, self.parameters = theme, whatif, parameters
        self.values: dict[str, Any] = dict(values)
        self.boxes: dict[str, QLineEdit] = {}
        self.sliders: dict[str, RangeSlider] = {}
        self.grid = QGridLayout(self)
        self.grid.setContentsMargins(0, 0, 0, 0)
        self.grid.setVerticalSpacing(2)
        self.grid.setColumnStretch(0, 1)
        for each in parameters:
            self._row(each)

    def put(self, values: Mapping[str, Any]) -> None:
        """Other values of the same what-if."""
        self.values = dict(values)
        for name, box in self.boxes.items():
            box.setText(_text(values[name]))
        for name, slider in self.sliders.items():
            with QSignalBlocker(slider):
                slider.setValue(slider.step_of(float(values[name])))
            slider.update()

    def _row(self, each: Parameter) -> None:
        at = self.grid.rowCount()
        name = f"{plainly(self.whatif)}: {each.name.replace('_', ' ')}"
        label = QLabel(each.name.replace("_", " ") + (f", {each.unit}" if each.unit else ""))
        label.setProperty("tone", "support")
        self.grid.addWidget(label, at, 0)
        if each.kind == "flag":
            check = QCheckBox()
            check.setChecked(bool(self.values[each.name]))
            check.setAccessibleName(name)
            check.toggled.connect(lambda on: self._take(each, on))
            self.grid.addWidget(check, at, 1)
        elif each.kind == "choice":
            choice = Choice(self.theme, name)
            choice.addItems(list(each.choices))
            choice.setCurrentText(str(self.values[each.name]))
            choice.textActivated.connect(lambda value: self._take(each, value))
            self.grid.addWidget(choice, at, 1)
        else:
            self._box(each, name, at)

    def _box(self, each: Parameter, name: str, at: int) -> None:
        box = QLineEdit(_text(self.values[each.name]))
        box.setAccessibleName(f"{name}, typed")
        box.setFixedWidth(76 if each.kind in ("number", "count") else 130)
        box.editingFinished.connect(lambda: self._typed(each, box))
        self.grid.addWidget(box, at, 1)
        self.boxes[each.name] = box
        low, high = each.low, each.high
        bounded = low is not None and high is not None and each.kind in ("number", "count")
        if bounded and (low > 0 or not each.log) and high / max(low, 1.0) <= _WIDEST:  # pyright: ignore
            slider = self.sliders[each.name] = RangeSlider(self.theme, name, each)
            given = self.values[each.name]
            slider.setValue(slider.step_of(float(given if given != "" else each.low or 0.0)))
            slider.valueChanged.connect(lambda step: self._take(each, slider.number(step), True))
            slider.sliderReleased.connect(self.drag_ended)
            self.grid.addWidget(slider, self.grid.rowCount(), 0, 1, 2)

    def _typed(self, each: Parameter, box: QLineEdit) -> None:
        text = box.text().strip()
        self._take(each, text if each.kind == "text" else value_of(text))

    def _take(self, each: Parameter, value: object, dragged: bool = False) -> None:
        box = self.boxes.get(each.name)
        try:
            checked = each.check(self.whatif, value)
        except RidgepointError as error:
            if box is not None:
                _mark(box, str(error))
            return
        if box is not None:
            _mark(box, "")
            box.setText(_text(checked))
        if checked != self.values[each.name]:
            self.values[each.name] = checked
            self.changed.emit(dict(self.values), dragged)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ":".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return plain(value).replace(",", "") if isinstance(value, float) else str(value)


def _mark(box: QLineEdit, reason: str) -> None:
    """Wrong, with the reason; or right again."""
    box.setProperty("look", "wrong" if reason else None)
    box.setToolTip(reason)
    box.style().unpolish(box)
    box.style().polish(box)
