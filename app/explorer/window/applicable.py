"""Disables the actions that do not apply, with the reason as their tooltip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.explorer.background.worker import later
from app.explorer.files.exporting import FORMS
from app.explorer.state.incoming import WITHOUT_SCENARIO
from app.explorer.state.session import LETTERS, State
from app.explorer.window.head import OWN_QUESTION
from app.explorer.window.verdict.bar import GRACE_MS

if TYPE_CHECKING:
    from app.explorer.window.window import Window

WITH_SIDES = ("Explore", "Compare")
"""Workspaces that show the scenario cards."""
_ON_SCENARIO = ("Duplicate scenario", "Remove", "Edit the GPU …")
"""Actions that change the scenario or the number of scenarios."""


class Applicable:
    """Follows the session, its answer and its plan."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._soon = later(GRACE_MS, self.update, window)
        window.session.changed.connect(self._changed)
        window.answering.answers_changed.connect(self.update)
        self.update()

    def _changed(self, before: State, after: State) -> None:
        """Follow a change of the session. If only a scenario has changed, its answer usually comes
        within `GRACE_MS`, as during a slider's drag: no action would have changed by then."""
        if _apart_from_scenarios(before) == _apart_from_scenarios(after):
            self._soon.start()
        else:
            self.update()

    def update(self) -> None:
        """Enable or disable the actions."""
        self._soon.stop()
        for name, reason in self.reasons().items():
            action = self.window.shortcuts.actions[name]
            action.setEnabled(not reason)
            if action.toolTip() != reason:  # else the menus look at the action again
                action.setToolTip(reason)
        for offered, panel in self.window.panels.panels.items():
            shown = offered.workspace == self.window.session.state.workspace
            panel.toggleViewAction().setVisible(shown)

    def reasons(self) -> dict[str, str]:
        """The reasons why actions do not apply, by the action's name; empty if it applies."""
        window, state = self.window, self.window.session.state
        unpredicted = "" if window.answering.answer else "There is no prediction yet"
        if state.workspace in OWN_QUESTION:
            unpredicted = "Exports show the scenario on one GPU: go to a page that shows it"
        unplanned = "" if window.pages.has_plan else "There is no plan yet"
        cards = "" if state.workspace in WITH_SIDES else f"Go to {' or '.join(WITH_SIDES)}"
        unseen = f"{state.workspace} does not show the scenarios: go to Explore"
        unseen = unseen if state.workspace in WITHOUT_SCENARIO else ""
        reasons = {f"Export {form.lower_name} …": unpredicted for form in FORMS}
        reasons["Export comparison …"] = unpredicted or self._not_compared()
        reasons["Write plan report …"] = unplanned
        reasons["Unpin all lanes"] = "" if state.pinned else "No lane is pinned"
        no_task = "" if window.pages.task_lesson else "No task of a lesson is open"
        reasons["Go to the lesson of the task"] = reasons["Leave task"] = no_task
        reasons |= dict.fromkeys(_ON_SCENARIO, unseen)
        copied = "" if state.workspace == "Plan" else unseen
        reasons["Copy as command"] = reasons["Copy link"] = copied
        reasons["Rename"] = f"{cards}, whose scenario cards show the name" if cards else ""
        for place, letter in enumerate(LETTERS):
            if place == state.current:
                reason = f"{letter} is the current scenario"
            elif place >= len(state.sides):
                reason = f"There is no scenario {letter}; duplicate one"
            else:
                reason = unseen
            reasons[f"Switch to {letter}"] = reason
        return reasons

    def _not_compared(self) -> str:
        """Why the scenarios cannot be compared, or an empty string."""
        sides, answers = self.window.session.state.sides, self.window.answering.answers
        if len(sides) == 1:
            return "There is one scenario; duplicate it"
        letters = zip(LETTERS, sides, strict=False)
        missing = [letter for letter, side in letters if side.scenario.key not in answers]
        return f"There is no prediction of {' and '.join(missing)} yet" if missing else ""


def _apart_from_scenarios(state: State) -> tuple[object, ...]:
    """What the reasons depend on besides the scenarios and their answers."""
    names = tuple(side.name for side in state.sides)
    return state.workspace, state.current, state.pinned, state.task, names
