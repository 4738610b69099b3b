"""What the explorer holds, and its history: no widget, no picture, no prediction.

A state is a value, and every change of it is a command that can be undone. Changes of one kind that
follow each other, such as those of a slider's drag, are one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from simulator.errors import InputError
from simulator.scenario.scenario import Scenario

LETTERS = "ABCD"
ThemeChoice = Literal["dark", "light", "system"]


@dataclass(frozen=True)
class Named:
    """A scenario and what the user calls it."""

    name: str
    scenario: Scenario
    measured: str = ""
    """The file of a profiler's trace of it; "" where there is none."""


@dataclass(frozen=True)
class State:
    """Up to four scenarios, the first of them the baseline; which one is worked on; which ops of it
    are picked; and how it is looked at."""

    sides: tuple[Named, ...]
    current: int = 0
    picked: frozenset[int] = field(default_factory=frozenset)
    theme: ThemeChoice = "dark"
    workspace: str = "Explore"

    @property
    def scenario(self) -> Scenario:
        """The one that is worked on."""
        return self.sides[self.current].scenario


class Session(QObject):
    """The state, and how it came to be. `changed` gives the state before and after."""

    changed = Signal(object, object)

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state
        self.history = QUndoStack(self)
        self._drags = 0

    def ask(self, scenario: Scenario, text: str, merge: str = "", place: int = -1) -> None:
        """Another scenario in place of the one that is worked on, or of the one at `place`."""
        now = self.state
        place = now.current if place < 0 else place
        sides = list(now.sides)
        same = place != now.current or _traced_alike(now.scenario, scenario)
        sides[place] = replace(sides[place], scenario=scenario)
        picked = now.picked if same else frozenset[int]()
        self._go(replace(now, sides=tuple(sides), picked=picked), text, merge)

    def add(self, name: str = "", scenario: Scenario | None = None, workspace: str = "") -> None:
        """One more side, a copy of the one that is worked on unless told; it is worked on next, in
        another workspace where one is named. InputError where there are four."""
        now = self.state
        if len(now.sides) == len(LETTERS):
            raise InputError(
                f"there are {len(LETTERS)} scenarios: expected fewer to add one; remove one first"
            )
        scenario = scenario or now.scenario
        new = Named(name or f"Variant {LETTERS[len(now.sides)]}", scenario)
        state = replace(
            now,
            sides=(*now.sides, new),
            current=len(now.sides),
            picked=frozenset(),
            workspace=workspace or now.workspace,
        )
        self._go(state, f"add scenario {LETTERS[len(now.sides)]}")

    def remove(self, place: int) -> None:
        """Without a side. InputError for the last one."""
        now = self.state
        if len(now.sides) == 1:
            raise InputError("the only scenario: expected another to be left; add one first")
        sides = now.sides[:place] + now.sides[place + 1 :]
        current = min(now.current - (place < now.current), len(sides) - 1)
        picked = frozenset[int]() if place == now.current else now.picked
        state = replace(now, sides=sides, current=current, picked=picked)
        self._go(state, f"remove scenario {LETTERS[place]}")

    def rename(self, place: int, name: str) -> None:
        """Call a side something else; nothing happens for an empty name."""
        name = " ".join(name.split())[:60]
        if name and name != self.state.sides[place].name:
            sides = list(self.state.sides)
            sides[place] = replace(sides[place], name=name)
            self._go(replace(self.state, sides=tuple(sides)), f"rename scenario {LETTERS[place]}")

    def work_on(self, place: int) -> None:
        """Another side is worked on."""
        if place != self.state.current and 0 <= place < len(self.state.sides):
            state = replace(self.state, current=place, picked=frozenset())
            self._go(state, f"go to scenario {LETTERS[place]}")

    def measure(self, path: str) -> None:
        """Lay a profiler's trace over the side that is worked on; "" takes it away."""
        now = self.state
        sides = list(now.sides)
        sides[now.current] = replace(sides[now.current], measured=path)
        self._go(replace(now, sides=tuple(sides)), "lay a measured step over it")

    def pick(self, ops: frozenset[int]) -> None:
        """Choose ops, in every view."""
        self._go(replace(self.state, picked=ops), "choose ops", "pick")

    def show(self, workspace: str) -> None:
        """Go to another workspace."""
        self._go(replace(self.state, workspace=workspace), f"show {workspace}", "show")

    def paint(self, theme: ThemeChoice) -> None:
        """Another theme."""
        self._go(replace(self.state, theme=theme), f"{theme} theme")

    def opened(self, state: State) -> None:
        """Begin with a state, such as that of a file; what was done before cannot be undone."""
        before, self.state = self.state, state
        self.history.clear()
        self.changed.emit(before, state)

    def drag_ended(self) -> None:
        """The next change is a step of its own, also where it is of the same kind."""
        self._drags += 1

    def _go(self, state: State, text: str, merge: str = "") -> None:
        if state != self.state:
            key = f"{merge} {self._drags} {self.state.current}" if merge else ""
            self.history.push(_Change(self, self.state, state, text, key))

    def _put(self, state: State) -> None:
        before, self.state = self.state, state
        self.changed.emit(before, state)


class _Change(QUndoCommand):
    """From one state to another."""

    def __init__(self, session: Session, before: State, after: State, text: str, key: str) -> None:
        super().__init__(text)
        self.session, self.before, self.after, self.key = session, before, after, key

    def redo(self) -> None:
        self.session._put(self.after)

    def undo(self) -> None:
        self.session._put(self.before)

    def id(self) -> int:
        return 1 if self.key else -1

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, _Change) or other.key != self.key:
            return False
        self.after = other.after
        self.setObsolete(self.after == self.before)
        self.setText(other.text())
        return True


def _traced_alike(one: Scenario, other: Scenario) -> bool:
    """Have two scenarios the same ops in the same places, as far as can be told at once?"""
    return (
        one.network == other.network
        and one.training == other.training
        and (one.whatifs == other.whatifs and one.dtype == other.dtype)
    )
