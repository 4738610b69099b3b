"""The drop targets of the window, and the effect of each card and file on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from app.answers.cards import Card, used
from app.answers.subject import to_full_text
from app.explorer.shelf.card_widget import NEW
from app.explorer.state.session import LETTERS
from app.explorer.window.pages.pages import CLUSTER, PLAN
from app.theme import Theme
from app.widgets.drops import Beside, Offer, Target
from simulator.errors import RidgepointError
from simulator.records import Trace
from simulator.scenario.scenario import Scenario

if TYPE_CHECKING:
    from app.explorer.window.window import Window


class Dropping:
    """Cards dropped on the workspace change the current scenario, or the plan on the plan's page;
    cards of GPUs change the cluster on its page. On the verdict bar and the inspector they change
    the current scenario, on a scenario card its scenario, and on "+" they create one. Files open
    wherever they are dropped."""

    def __init__(self, window: Window, theme: Theme) -> None:
        self.window = window
        files = window.opening.open
        self.targets = [
            Target(
                window.workspaces,
                theme,
                partial(self.offered, place=-1),
                files,
                refused=self.refuse,
            ),
            *(Target(widget, theme, _nowhere, files) for widget in (window, window.shelf)),
        ]
        for widget in (window.verdict, window.beside[1]):
            self.targets.append(
                Target(widget, theme, self.offered_current, files, refused=self.refuse)
            )
        for place, card in enumerate(window.strip.cards):
            offered = partial(self.offered, place=place)
            self.targets.append(Target(card, theme, offered, files, refused=self.refuse))
        more = window.strip.more
        beside = Beside(more, theme)
        self.targets.append(
            Target(more, theme, self.offered_new, outline=beside, refused=self.refuse)
        )

    def offered(self, key: str, place: int) -> Offer:
        """The effect of a card on the scenario at an index (−1: the current one)."""
        card = self.window.shelf.card(key)
        if card is None:
            return Offer("This card is from another window", None)
        session = self.window.session
        state = session.state
        if place < 0 and state.workspace == "Lessons":
            return Offer("Lessons have their own scenarios: apply cards in Explore", None)
        if place < 0 and state.workspace == PLAN:
            return self.window.pages.plan.offered(card)
        if place < 0 and card.kind == "gpu" and state.workspace == CLUSTER:
            return self.window.pages.cluster.offered(card)
        at = state.current if place < 0 else place
        before = state.sides[at].scenario
        try:
            if card.kind != "whatif" and card.key in used(before):
                return Offer(f"Scenario {LETTERS[at]} already uses {card.title}", None)
            if needed := card.open_parameters(before):
                words = f"{card.title} needs {' and '.join(needed)}"
                return Offer(words, lambda: self._ask(card, before, self._changing(at, before)))
            after = card.apply(before, self._trace(before))
            words = card.words(before)
        except RidgepointError as error:
            return Offer(str(error), None)
        if after.key == before.key:
            return Offer(f"{card.title} changes nothing in scenario {LETTERS[at]}", None)
        return Offer(
            f"{words} in scenario {LETTERS[at]}",
            lambda: session.set_scenario(after, words, place=at),
        )

    def offered_current(self, key: str) -> Offer:
        """The effect of a card on the current scenario, even on pages with their own question."""
        return self.offered(key, self.window.session.state.current)

    def offered_new(self, key: str) -> Offer:
        """The effect of a card on a new copy of the current scenario."""
        card, state = self.window.shelf.card(key), self.window.session.state
        if card is None:
            return Offer("This card is from another window", None)
        if len(state.sides) == len(LETTERS):
            return Offer(f"There are already {len(LETTERS)} scenarios: remove one first", None)
        now, new, before = LETTERS[state.current], LETTERS[len(state.sides)], state.scenario

        def add(after: Scenario) -> None:
            self.window.session.add(card.title, after)

        try:
            if card.kind != "whatif" and card.key in used(before):
                return Offer(
                    f"Scenario {now} already uses {card.title}, and so does its copy", None
                )
            words = f"New scenario {new} with {card.title}"
            if needed := card.open_parameters(before):
                words = f"{words}: needs {' and '.join(needed)}"
                return Offer(words, lambda: self._ask(card, before, add))
            after = card.apply(before, self._trace(before))
        except RidgepointError as error:
            return Offer(str(error), None)
        if after.key == before.key:
            return Offer(f"{card.title} changes nothing in a copy of scenario {now}", None)
        return Offer(words, lambda: add(after))

    def _changing(self, at: int, before: Scenario) -> Callable[[Scenario], None]:
        """A function that changes the scenario at an index if it still exists. The dialog that
        calls it stays open when scenarios are removed."""
        own = [before]

        def change(after: Scenario) -> None:
            session = self.window.session
            sides = session.state.sides
            if at < len(sides) and sides[at].scenario in own:
                own.append(after)
                session.set_scenario(after, to_full_text(after.whatifs[-1]), place=at)

        return change

    def _trace(self, scenario: Scenario) -> Trace | None:
        """The ops of a scenario, if it is predicted."""
        answer = self.window.answering.answers.get(scenario.key)
        return answer and answer.prediction.trace

    def apply(self, card: Card, place: int) -> None:
        """Apply a card chosen by a key or in a menu; `NEW` stands for a new scenario. The banner
        shows the reason if the card is refused."""
        offer = self.offered_new(card.key) if place == NEW else self.offered(card.key, place)
        if offer.done is None:
            self.refuse(offer.words)
        else:
            offer.done()

    def refuse(self, reason: str) -> None:
        """Show why an action was refused, until the next change."""
        self.window.banner.say(reason, about="card")

    def _ask(self, card: Card, before: Scenario, done: Callable[[Scenario], None]) -> None:
        """Ask for the parameters of a card, then call `done` with the changed scenario."""

        def apply(after: Scenario) -> None:
            if after.key != before.key:
                done(after)

        answer = self.window.answering.answers.get(before.key)
        prediction = answer and answer.prediction
        from app.explorer.shelf.parameter_dialog import ParameterDialog  # late for a fast start

        dialog = ParameterDialog(
            self.window.theme, card.name, before, apply, self.window, prediction
        )
        dialog.show()

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        for target in self.targets:
            target.outline.theme = theme


def _nowhere(_key: str) -> Offer:
    return Offer("Drop it on a scenario", None)
