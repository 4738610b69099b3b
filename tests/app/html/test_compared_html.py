"""The page of several scenarios: a verdict for each, and the changes from the first scenario to
it.
"""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from app.answers.side import Side
from app.html.compared import compared_page
from app.quantities import seconds
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
    names = ("Today", "<b>Graph</b>", "Big batch", "Another card")
    return [
        Side("ABCD"[at], names[at], scenario, predict(scenario))
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


def test_four_scenarios_fit_into_one_small_page():
    bert = Scenario("bert-base")
    shown = sides(
        bert,
        replace(bert, mode="cuda_graph"),
        replace(bert, batch=64),
        replace(bert, gpu="a100_sxm_80", batch=1),
    )
    text = compared_page(shown, predict)
    page = Page(text)
    words = " ".join(" ".join(page.words).split())
    assert "A, B, C, D compared" in words and page.foreign == []
    assert len(text.encode()) < 3_000_000
    for side in shown:
        assert side.name in words
        low, high = map(seconds, side.prediction.interval_s)
        assert seconds(side.prediction.period_s) in words
        assert f"80% interval: {low} to {high}" in words
    assert "GPU H200 SXM → A100 SXM4" in words and "gpu h200" not in words
