"""The what-ifs of the current scenario, each with its controls and a button to remove it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from app.answers.answer import Answer
from app.answers.cards import display_name
from app.answers.changes import with_arguments, without
from app.answers.parameter_names import names_of
from app.answers.subject import to_full_text
from app.explorer.state.session import Session
from app.theme import Theme
from app.widgets.columns import empty, titled_column
from app.widgets.context_menu import add_actions
from simulator.errors import InputError
from simulator.scenario.parameters import Parameter
from simulator.scenario.registry import named
from simulator.scenario.scenario import Scenario

if TYPE_CHECKING:
    from app.widgets.fields.parameter_controls import Controls


class AppliedList(QWidget):
    """The list of applied what-ifs, hidden while it is empty. `refused` carries the reason why a
    change is invalid."""

    refused = Signal(str)

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session, self.theme = session, theme
        self.setAccessibleName("What-ifs applied")
        self.rows: list[Controls] = []
        self.answer: Answer | None = None
        """The last answer, whose names the fields offer."""
        self._names: tuple[str, ...] = ()
        column = titled_column(self, "What-ifs applied")
        self.column = QVBoxLayout()
        self.column.setSpacing(8)
        column.addLayout(self.column)
        self.hide()

    def show_scenario(self, scenario: Scenario) -> None:
        """Show the what-ifs of a scenario; the controls are kept if the names are the same, so that
        a drag continues.
        """
        names = tuple(whatif.name for whatif in scenario.whatifs)
        if names != self._names:
            self._build(scenario)
            self._names = names
        for row, whatif in zip(self.rows, scenario.whatifs, strict=True):
            row.put(_all_arguments(whatif.name, whatif.arguments))
        self.setVisible(bool(names))

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme, self._names = theme, ()
        self.show_scenario(self.session.state.scenario)

    def _build(self, scenario: Scenario) -> None:
        empty(self.column)
        self.rows = []
        if not scenario.whatifs:
            return
        from app.widgets.fields.parameter_controls import Controls  # late for a fast start

        for place, applied in enumerate(scenario.whatifs):
            whatif = named(applied.name)
            box = QFrame()
            box.setProperty("look", "card")
            inside = QVBoxLayout(box)
            inside.setContentsMargins(10, 6, 8, 8)
            inside.setSpacing(4)
            head = QHBoxLayout()
            title = QLabel(display_name(applied.name))
            title.setProperty("tone", "title")
            title.setToolTip(f"{whatif.usage}\n{whatif.help}")
            remove = QToolButton()
            remove.setText("Remove")
            remove.setProperty("look", "button")
            remove.setAccessibleName(f"Remove {display_name(applied.name)}")
            remove.clicked.connect(lambda _=False, at=place: self._remove(at))
            head.addWidget(title, 1)
            head.addWidget(remove)
            inside.addLayout(head)
            entries = [("Remove", remove.click)]
            if whatif.parameters and all(p.default is not None for p in whatif.parameters):
                entries.append(("Reset to its defaults", self._resetting(place)))
            add_actions(box, display_name(applied.name), *entries)
            row = Controls(
                self.theme,
                applied.name,
                whatif.parameters,
                _all_arguments(applied.name, applied.arguments),
                partial(self._names_of, applied.name),
            )
            row.changed.connect(self._changing(place))
            row.drag_ended.connect(self.session.drag_ended)
            row.setVisible(bool(whatif.parameters))
            inside.addWidget(row)
            self.column.addWidget(box)
            self.rows.append(row)

    def _names_of(self, whatif: str, parameter: Parameter) -> tuple[str, ...]:
        prediction = self.answer and self.answer.prediction
        return names_of(whatif, parameter, self.session.state.scenario, prediction)

    def _resetting(self, place: int) -> Callable[[], None]:
        parameters = named(self.session.state.scenario.whatifs[place].name).parameters
        return lambda: self._change(place, {p.name: p.default for p in parameters}, False)

    def _changing(self, place: int) -> Callable[[Mapping[str, Any], bool], None]:
        return lambda values, dragged: self._change(place, values, dragged)

    def _change(self, place: int, values: Mapping[str, Any], dragged: bool) -> None:
        try:
            changed = with_arguments(self.session.state.scenario, place, values)
        except InputError as error:
            self.refused.emit(str(error))
            self.show_scenario(self.session.state.scenario)
            return
        if len(changed.whatifs) <= place:
            return  # a value without effect removes the what-if, and its control during a drag
        if not dragged:
            self.session.drag_ended()
        words = to_full_text(changed.whatifs[place])
        self.session.set_scenario(changed, words, f"what-if {place}")
        if not dragged:
            self.session.drag_ended()

    def _remove(self, place: int) -> None:
        scenario = self.session.state.scenario
        name = to_full_text(scenario.whatifs[place])
        self.session.set_scenario(without(scenario, place), f"remove {name}")


def _all_arguments(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return named(name).checked(arguments)
