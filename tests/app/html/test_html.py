"""The report as a page, read back by an independent parser."""

import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from app.answers.groups import kernel_groups, module_groups
from app.answers.subject import Scenario, Subject, predict, subject
from app.charts.registry import prediction_charts
from app.html.page import as_html
from app.quantities import percent, seconds
from simulator.prediction import REGIMES, Prediction


class _Read(HTMLParser):
    """Tags, addresses and words of a page; every tag that opens must close."""

    VOID = ("meta", "br", "line", "rect", "circle", "polygon")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.addresses += [v for k, v in attrs if k in ("src", "href", "xlink:href") and v]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


@pytest.fixture(scope="module")
def page(tiny_prediction: Prediction, tiny: Subject) -> str:
    return as_html(tiny_prediction, tiny, "ridgepoint predict mlp-tiny")


def test_it_opens_from_the_disk_alone(page: str) -> None:
    read = _Read(page)
    assert not read.open
    assert not read.addresses and not re.search(r"https?:|@import|url\((?!#)", page)
    assert not read.tags["script"]
    assert "default-src 'none'" in page
    assert len(page) < 100_000


def test_the_page_shows_the_figures_of_the_prediction(
    page: str, tiny_prediction: Prediction
) -> None:
    p, words = tiny_prediction, _Read(page).words
    for phrase in (
        seconds(p.period_s),
        seconds(p.latency_s),
        seconds(p.gpu_busy_s),
        f"{p.kernel_count:,}",
        f"80% interval: {seconds(p.interval_s[0])} to {seconds(p.interval_s[1])}",
        "ridgepoint predict mlp-tiny",
    ):
        assert phrase in words, phrase
    for name in REGIMES:
        assert percent(p.shares[name]) in words
    for group in kernel_groups(p):
        assert group.op in words and group.shape in words
    for group in module_groups(p):
        assert group.path in words


def test_its_drawings_parse(page: str) -> None:
    drawings = re.findall(r"<svg viewBox.*?</svg>", page, re.S)
    assert len(drawings) == len(prediction_charts())
    for each in drawings:
        ElementTree.fromstring(each)


def test_its_drawings_define_their_colours_in_both_themes(page: str) -> None:
    used = set(re.findall(r"var\(--([\w-]+)\)", page))
    dark, light = (set(re.findall(r"--([\w-]+):", part)) for part in page.split("@media")[:2])
    assert used <= dark and used <= light


def test_names_are_data(tiny_prediction: Prediction, tiny: Subject) -> None:
    evil = "<script>alert(1)</script>"
    page = as_html(tiny_prediction, replace(tiny, name=evil), f"ridgepoint predict {evil}")
    assert evil not in page and page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 2


def test_a_step_that_does_not_fit_says_so() -> None:
    scenario = Scenario("mlp-tiny", batch=2**29)
    # memory at the peak: the input, a layer's input, the product and the ReLU: 4 · 2²⁹ · 128 · 4 B
    traced = subject(scenario)
    page = as_html(predict(scenario, traced), traced, "")
    assert "It does not fit: 1.00 TiB of 141 GiB" in page


def test_a_long_training_step_stays_small() -> None:
    traced = subject(Scenario("gpt2", training=True, dtype="autocast", sizes={"layers": 4}))
    assert len(as_html(predict(Scenario("gpt2"), traced), traced, "")) < 300_000
