"""The page of several scenarios: a verdict for each, and the changes from the first scenario to
it.
"""

from html.parser import HTMLParser

import pytest

from app.answers.side import Side
from app.html.compared import compared_page
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario, predict


class Page(HTMLParser):
    """The words of a page, and its elements that a page without scripts must not have."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.foreign: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        points_elsewhere = any(name in ("src", "href") for name, _ in attrs)
        if points_elsewhere or tag in ("script", "img", "link", "iframe"):
            self.foreign.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def sides(*scenarios: Scenario) -> list[Side]:
    names = ("Today", "<b>Graph</b>", "Big batch")
    return [
        Side("ABC"[at], names[at], scenario, predict(scenario))
        for at, scenario in enumerate(scenarios)
    ]


def test_every_scenario_has_its_verdict_and_its_conclusion():
    shown = sides(
        Scenario("mlp-tiny"),
        Scenario("mlp-tiny", mode="cuda_graph"),
        Scenario("mlp-tiny", batch=4096),
    )
    text = compared_page(shown, predict)
    page = Page(text)
    words = " ".join(" ".join(page.words).split())
    assert "A, B, C compared" in words and page.foreign == []
    assert "<b>Graph</b>" in words and "<b>Graph" not in text  # a name is never markup
    for letter in "BC":
        assert f"{letter} is " in words
    for command in ("predict mlp-tiny", "--mode cuda_graph", "--batch 4096"):
        assert command in words
    assert len(text) < 200_000


def test_one_scenario_is_refused():
    with pytest.raises(InputError, match="1 scenarios: expected 2 to 4 to compare"):
        compared_page(sides(Scenario("mlp-tiny")), predict)


def test_a_change_to_training_names_both_steps():
    shown = sides(Scenario("mlp-tiny"), Scenario("mlp-tiny", training=True))
    words = " ".join(Page(compared_page(shown, predict)).words)
    assert "inference → training" in " ".join(words.split())
    assert "training default" not in words
