"""Controls for the parameters of a what-if, built from its signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log
from typing import Any

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QLineEdit, QWidget

from app.answers.cards import display_name
from app.quantities import plain
from app.theme import Theme
from app.widgets.fields.choice import Choice
from app.widgets.fields.controls import LogSlider
from app.widgets.fields.name_box import NameBox
from simulator.errors import RidgepointError
from simulator.scenario.parameters import Parameter
from simulator.scenario.text.whatif import value_of

_STEPS = 200
_WIDEST = 1e5
"""Numbers whose bounds have a larger ratio have no slider, because it would be too imprecise."""


class RangeSlider(LogSlider):
    """A slider for a bounded number, on a linear or logarithmic scale."""

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
        """The number at a step, to three digits."""
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
    """One row per parameter; `names` gives the existing names that a text can take. `changed`
    carries all arguments, and whether a drag is in progress."""

    changed = Signal(object, bool)
    drag_ended = Signal()

    def __init__(
        self,
        theme: Theme,
        whatif: str,
        parameters: tuple[Parameter, ...],
        values: Mapping[str, Any],
        names: Callable[[Parameter], Sequence[str]] = lambda parameter: (),
    ) -> None:
        super().__init__()
        self.names = names
        self.theme, self.whatif, self.parameters = theme, whatif, parameters
        self.values: dict[str, Any] = dict(values)
        self.boxes: dict[str, QLineEdit] = {}
        self.sliders: dict[str, RangeSlider] = {}
        self.grid = QGridLayout(self)
        self.grid.setContentsMargins(0, 0, 0, 0)
        self.grid.setVerticalSpacing(2)
        self.grid.setColumnStretch(0, 1)
        for parameter in parameters:
            self._row(parameter)

    def put(self, values: Mapping[str, Any]) -> None:
        """Show the values of the same what-if."""
        self.values = dict(values)
        for name, box in self.boxes.items():
            box.setText(_text(values[name]))
        for name, slider in self.sliders.items():
            with QSignalBlocker(slider):
                slider.setValue(slider.step_of(float(values[name])))
            slider.update()

    def _row(self, parameter: Parameter) -> None:
        at = self.grid.rowCount()
        name = f"{display_name(self.whatif)}: {parameter.name.replace('_', ' ')}"
        words = parameter.name.replace("_", " ")
        label = QLabel(words if parameter.unit in ("", words) else f"{words}, {parameter.unit}")
        label.setProperty("tone", "support")
        self.grid.addWidget(label, at, 0)
        if parameter.kind == "flag":
            check = QCheckBox()
            check.setChecked(bool(self.values[parameter.name]))
            check.setAccessibleName(name)
            check.toggled.connect(partial(self._set, parameter))
            self.grid.addWidget(check, at, 1)
        elif parameter.kind == "choice":
            choice = Choice(self.theme, name)
            choice.addItems(list(parameter.choices))
            choice.setCurrentText(str(self.values[parameter.name]))
            choice.textActivated.connect(partial(self._set, parameter))
            self.grid.addWidget(choice, at, 1)
        else:
            self._box(parameter, name, at)

    def _box(self, parameter: Parameter, name: str, at: int) -> None:
        text = _text(self.values[parameter.name])
        named = parameter.kind == "text"
        box = NameBox(text, lambda: self.names(parameter)) if named else QLineEdit(text)
        if named:
            box.setPlaceholderText("type or choose")
        box.setAccessibleName(f"{name}, typed")
        box.setFixedWidth(76 if parameter.kind in ("number", "count") else 130)
        box.editingFinished.connect(lambda: self._typed(parameter, box))
        self.grid.addWidget(box, at, 1)
        self.boxes[parameter.name] = box
        low, high = parameter.low, parameter.high
        bounded = low is not None and high is not None and parameter.kind in ("number", "count")
        if bounded and (low > 0 or not parameter.log) and high / max(low, 1.0) <= _WIDEST:  # pyright: ignore
            slider = self.sliders[parameter.name] = RangeSlider(self.theme, name, parameter)
            value = self.values[parameter.name]
            slider.setValue(slider.step_of(float(value if value != "" else parameter.low or 0.0)))
            slider.valueChanged.connect(partial(self._dragged, parameter, slider))
            slider.sliderReleased.connect(self.drag_ended)
            self.grid.addWidget(slider, self.grid.rowCount(), 0, 1, 2)

    def _typed(self, parameter: Parameter, box: QLineEdit) -> None:
        text = box.text().strip()
        self._set(parameter, text if parameter.kind == "text" else value_of(text))

    def _dragged(self, parameter: Parameter, slider: RangeSlider, step: int) -> None:
        self._set(parameter, slider.number(step), True)

    def _set(self, parameter: Parameter, value: object, dragged: bool = False) -> None:
        box = self.boxes.get(parameter.name)
        try:
            checked = parameter.check(self.whatif, value)
        except RidgepointError as error:
            if box is not None:
                _mark(box, str(error))
            return
        if box is not None:
            _mark(box, "")
            box.setText(_text(checked))
        if checked != self.values[parameter.name]:
            self.values[parameter.name] = checked
            self.changed.emit(dict(self.values), dragged)


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ":".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return plain(value).replace(",", "") if isinstance(value, float) else str(value)


def _mark(box: QLineEdit, reason: str) -> None:
    """Mark a field as invalid for a reason, or as valid if the reason is empty."""
    box.setProperty("look", "wrong" if reason else None)
    box.setToolTip(reason)
    box.style().unpolish(box)
    box.style().polish(box)
