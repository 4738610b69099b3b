"""The dialog for the parameters that a what-if needs before it can be applied."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLabel, QPushButton, QVBoxLayout, QWidget

from app.answers.cards import display_name, refuse_impossible
from app.answers.parameter_names import names_of
from app.theme import Theme
from app.widgets.fields.parameter_controls import Controls
from app.widgets.refusal import Refusal
from simulator.errors import RidgepointError
from simulator.prediction import Prediction
from simulator.scenario.parameters import Parameter
from simulator.scenario.registry import named
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply


class ParameterDialog(QDialog):
    """The controls of a what-if whose parameters have no useful defaults. Enter or Apply applies
    it; after an error, the values are kept. `prediction` is that of the scenario before the change,
    if it is known; the dialog offers its names."""

    def __init__(
        self,
        theme: Theme,
        name: str,
        before: Scenario,
        applied: Callable[[Scenario], None],
        parent: QWidget | None = None,
        prediction: Prediction | None = None,
    ) -> None:
        super().__init__(parent)
        self.prediction = prediction
        self.name, self.before, self.applied = name, before, applied
        whatif = named(name)
        title = display_name(name).capitalize()
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.setMinimumWidth(360)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(10)
        help_ = QLabel(whatif.help)
        help_.setWordWrap(True)
        help_.setProperty("tone", "support")
        column.addWidget(help_)
        values = {p.name: _initial(p) for p in whatif.parameters}
        self.controls = Controls(
            theme,
            name,
            whatif.parameters,
            values,
            lambda parameter: names_of(name, parameter, before, prediction),
        )
        column.addWidget(self.controls)
        self.refusal = Refusal()
        column.addWidget(self.refusal)
        self.button = QPushButton("Apply")
        self.button.setProperty("look", "primary")
        self.button.setAccessibleName(f"Apply {display_name(name)}")
        self.button.setDefault(True)
        self.button.clicked.connect(self.submit)
        column.addWidget(self.button)

    def submit(self) -> None:
        """Apply the what-if, or show the error."""
        arguments = {name: value for name, value in self.controls.values.items() if value != ""}
        try:
            after = apply(self.before, self.name, arguments)
            trace = self.prediction.trace if self.prediction else None
            refuse_impossible(self.before, after, trace)
        except RidgepointError as error:
            self.refusal.say(str(error))
            return
        self.close()
        self.applied(after)


def _initial(parameter: Parameter) -> object:
    """The value that the control of a parameter shows at first; "" for an empty field."""
    if parameter.default is None:
        return parameter.choices[0] if parameter.kind == "choice" else ""
    return parameter.default
