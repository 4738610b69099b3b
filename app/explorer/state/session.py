"""The state of the explorer and its undo history, without widgets or predictions.

A state is an immutable value, and each change is a command that can be undone. Consecutive
changes of one kind, such as those of a slider's drag, merge into one command.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from typing import Literal, cast

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from app.answers.cluster.choice import ClusterChoice
from app.explorer.state.named_scenario import NamedScenario as NamedScenario
from app.explorer.state.names import LETTERS, first_name
from app.scenes.timeline.pins import MOST_PINS, Pin, Pins, without_side
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario

ThemeChoice = Literal["dark", "light", "system"]
_CHANGES = 10_000
"""Number of changes that can be undone; each takes about 1 kB."""


@dataclass(frozen=True)
class State:
    """One to four scenarios, the first of which is the baseline, with the index of the current one
    and the ops selected in it. `plan` is the plan's TOML and `task` the name of the lesson whose
    task is open; both may be "". `cluster` is the cluster with its split, or None;
    `pinned` are the lanes at the top of the timelines."""

    sides: tuple[NamedScenario, ...]
    current: int = 0
    picked: frozenset[int] = frozenset()
    theme: ThemeChoice = "dark"
    workspace: str = "Explore"
    plan: str = ""
    cluster: ClusterChoice | None = None
    pinned: Pins = ()
    task: str = ""

    @property
    def work(self) -> tuple[object, ...]:
        """The parts that an unsaved session loses: the scenarios, the plan and the cluster."""
        return self.sides, self.plan, self.cluster

    @property
    def scenario(self) -> Scenario:
        """The current scenario."""
        return self.sides[self.current].scenario


class Session(QObject):
    """The state and its history. `changed` carries the states before and after a change."""

    changed = Signal(object, object)

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state
        self.history = QUndoStack(self)
        self.history.setUndoLimit(_CHANGES)
        self._drags = 0

    def set_scenario(
        self, scenario: Scenario, text: str, merge: str = "", place: int = -1, workspace: str = ""
    ) -> None:
        """Replace the current scenario, or the one at `place`. Also show `workspace` if one is
        named, here and in the methods below."""
        self._push(self._shown(self._with_scenario(scenario, place), workspace), text, merge)

    def add(
        self,
        name: str = "",
        scenario: Scenario | None = None,
        workspace: str = "",
        cluster: ClusterChoice | None = None,
        plan: str = "",
        task: str = "",
    ) -> None:
        """Add a scenario, by default a copy of the current one, and make it current.

        Also set `cluster`, `plan` and `task` if they are given. Raises InputError if there are four
        scenarios.
        """
        now = self.state
        if len(now.sides) == len(LETTERS):
            raise InputError(
                f"There are already {len(LETTERS)} scenarios, the maximum; remove one first"
            )
        scenario = scenario or now.scenario
        new = NamedScenario(name or first_name(len(now.sides)), scenario)
        state = replace(
            now,
            sides=(*now.sides, new),
            current=len(now.sides),
            picked=frozenset(),
            cluster=cluster or now.cluster,
            plan=plan or now.plan,
            task=task or now.task,
        )
        self._push(self._shown(state, workspace), f"add scenario {LETTERS[len(now.sides)]}")

    def remove(self, place: int) -> None:
        """Remove a scenario. Raises InputError if it is the only one."""
        now = self.state
        if len(now.sides) == 1:
            raise InputError("the only scenario cannot be removed; add another one first")
        after = tuple(
            replace(side, name=first_name(at)) if side.name == first_name(at + 1) else side
            for at, side in enumerate(now.sides[place + 1 :], place)
        )
        sides = now.sides[:place] + after
        current = min(now.current - (place < now.current), len(sides) - 1)
        picked = frozenset[int]() if place == now.current else now.picked
        pinned = without_side(now.pinned, LETTERS, place)
        state = replace(now, sides=sides, current=current, picked=picked, pinned=pinned)
        self._push(state, f"remove scenario {LETTERS[place]}")

    def rename(self, place: int, name: str) -> None:
        """Rename a scenario; an empty name is ignored."""
        name = " ".join(name.split())[:60]
        if name and name != self.state.sides[place].name:
            sides = list(self.state.sides)
            sides[place] = replace(sides[place], name=name)
            self._push(replace(self.state, sides=tuple(sides)), f"rename scenario {LETTERS[place]}")

    def switch_to(self, place: int) -> None:
        """Make another scenario the current one."""
        if place != self.state.current and 0 <= place < len(self.state.sides):
            state = replace(self.state, current=place, picked=frozenset())
            self._push(state, f"switch to scenario {LETTERS[place]}")

    def set_measured(self, path: str) -> None:
        """Overlay a profiler trace on the current scenario, and show Explore, which draws it; an
        empty path removes it."""
        now = self._shown(self.state, "Explore" if path else "")
        sides = list(now.sides)
        measured_as = now.scenario if path else None
        sides[now.current] = replace(sides[now.current], measured=path, measured_as=measured_as)
        self._push(
            replace(now, sides=tuple(sides)),
            "overlay measured step" if path else "remove measured step",
        )

    def pick(self, ops: frozenset[int]) -> None:
        """Select ops in every view."""
        self._push(replace(self.state, picked=ops), "select ops", "pick")

    def pin(self, pin: Pin, workspace: str = "") -> None:
        """Pin a lane below the pinned ones, or unpin it; show a workspace, if one is named. Raises
        InputError if too many are pinned."""
        now, pinned = self._shown(self.state, workspace), self.state.pinned
        if pin in pinned:
            others = tuple(p for p in pinned if p != pin)
            self._push(replace(now, pinned=others), f"unpin {pin.name}")
        elif len(pinned) < MOST_PINS:
            self._push(replace(now, pinned=(*pinned, pin)), f"pin {pin.name}")
        else:
            raise InputError(f"{MOST_PINS} lanes are pinned, the maximum; unpin one first")

    def leave_task(self) -> None:
        """Close the task of a lesson."""
        self._push(replace(self.state, task=""), "leave task")

    def unpin_all(self) -> None:
        """Unpin every lane."""
        self._push(replace(self.state, pinned=()), "unpin all lanes")

    def show(self, workspace: str) -> None:
        """Show a workspace."""
        self._push(replace(self.state, workspace=workspace), f"show {workspace}", "show")

    def set_plan(self, plan: str, text: str, merge: str = "", workspace: str = "") -> None:
        """Set the TOML of the plan."""
        self._push(self._shown(replace(self.state, plan=plan), workspace), text, merge)

    def set_cluster(
        self,
        cluster: ClusterChoice,
        text: str,
        merge: str = "",
        scenario: Scenario | None = None,
        workspace: str = "",
    ) -> None:
        """Set the cluster and the split over it, together with the current scenario in one
        change."""
        state = self.state if scenario is None else self._with_scenario(scenario)
        self._push(self._shown(replace(state, cluster=cluster), workspace), text, merge)

    def set_theme(self, theme: ThemeChoice) -> None:
        """Apply a theme."""
        self._push(replace(self.state, theme=theme), f"{theme} theme")

    def reset(self, state: State) -> None:
        """Start from a state, such as that of a file, and clear the undo history."""
        before, self.state = self.state, state
        self.history.clear()
        self.changed.emit(before, state)

    def undo_restores(self, keys: Container[str]) -> bool:
        """Whether undoing the newest change brings back another scenario with one of these keys."""
        last = self._last_change
        key = last.before.scenario.key if last else self.state.scenario.key
        return key != self.state.scenario.key and key in keys

    def drag_ended(self) -> None:
        """Keep the next change from merging with earlier ones."""
        self._drags += 1

    def _with_scenario(self, scenario: Scenario, place: int = -1) -> State:
        """The state with another current scenario, or another scenario at `place`."""
        now = self.state
        place = now.current if place < 0 else place
        sides = list(now.sides)
        same = place != now.current or _same_ops(now.scenario, scenario)
        sides[place] = replace(sides[place], scenario=scenario)
        picked = now.picked if same else frozenset[int]()
        return replace(now, sides=tuple(sides), picked=picked)

    @staticmethod
    def _shown(state: State, workspace: str) -> State:
        """The state with a workspace shown, if one is named."""
        return replace(state, workspace=workspace or state.workspace)

    def _push(self, state: State, text: str, merge: str = "") -> None:
        if state == self.state:
            return
        key = f"{merge} {self._drags} {self.state.current}" if merge else ""
        last = self._last_change
        if key and last is not None and last.key == key:
            self._extend(last, state, text)
        else:
            self.history.push(_Change(self._set_state, self.state, state, text, key))

    @property
    def _last_change(self) -> _Change | None:
        """The newest change, or None; None also while a change is undone."""
        if self.history.canRedo() or not self.history.count():
            return None
        return cast("_Change", self.history.command(self.history.count() - 1))

    def _extend(self, change: _Change, state: State, text: str) -> None:
        """Extend the newest change to another state; remove the change if it ends where it began.

        `QUndoStack.push` merges commands too, but PySide 6.12 never frees a merged command: Qt
        deletes it before its Python object is handed over.
        """
        change.after = state
        change.setText(text)
        if state == change.before:
            change.setObsolete(True)
            self.history.undo()  # the stack only removes an obsolete command
        self._set_state(state)
        self.history.undoTextChanged.emit(self.history.undoText())

    def _set_state(self, state: State) -> None:
        before, self.state = self.state, state
        self.changed.emit(before, state)


class _Change(QUndoCommand):
    """A change from one state to another."""

    def __init__(
        self,
        set_state: Callable[[State], None],
        before: State,
        after: State,
        text: str,
        key: str,
    ) -> None:
        super().__init__(text)
        self.set_state, self.before, self.after, self.key = set_state, before, after, key

    def redo(self) -> None:
        self.set_state(self.after)

    def undo(self) -> None:
        self.set_state(self.before)


def _same_ops(one: Scenario, other: Scenario) -> bool:
    """Whether both scenarios run the same ops in the same order, judged without tracing."""
    return (
        one.network == other.network
        and one.training == other.training
        and (one.whatifs == other.whatifs and one.dtype == other.dtype)
    )
