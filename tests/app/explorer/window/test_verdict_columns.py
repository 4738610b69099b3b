"""The verdict bar has room for its texts at every width."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage

from app.answers.answer import Answer, compute_answer
from app.examples import FIRST
from app.explorer.window.verdict.bar import VerdictBar
from app.explorer.window.verdict.columns import COLUMNS, column_edges
from app.theme import THEMES
from app.widgets.drawing import application
from app.widgets.paint import Paint, width
from simulator.scenario.scenario import Scenario

SCENARIOS = {
    "plain": FIRST,
    "limited by power": replace(FIRST, batch=1024),
    "above the power limit": replace(FIRST, gpu="l4", dtype="fp32"),
    "too large": replace(FIRST, training=True, batch=4096),
    "overhead-bound": replace(FIRST, batch=1),
}


@pytest.fixture(scope="module", autouse=True)
def _application():
    running = application()
    yield
    del running


def predicted(scenario: Scenario) -> Answer:
    return compute_answer(scenario)


@pytest.mark.parametrize("wide", [900.0, 1084.0, 1264.0, 1424.0, 1904.0])
def test_columns_share_the_width(wide: float):
    edges = column_edges(wide)
    assert edges[0] == 0.0 and edges[-1] == pytest.approx(wide)
    assert len(edges) == len(COLUMNS) + 1 and all(a < b for a, b in pairwise(edges))


def test_a_column_is_found_by_its_pixels():
    bar = VerdictBar(THEMES["dark"])
    bar.resize(1424, 92)
    for at, (left, right) in enumerate(pairwise(column_edges(1424.0))):
        assert bar.column(left + 1) == at == bar.column(right - 1)
    assert bar.column(-5.0) == 0 and bar.column(2000.0) == len(COLUMNS) - 1


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_no_text_is_cut(scenario: Scenario, theme: str, monkeypatch: pytest.MonkeyPatch):
    answer, cut = predicted(scenario), list[tuple[int, str]]()
    write, bar = Paint.text, VerdictBar(THEMES[theme])

    def text(
        paint: Paint,
        x: float,
        y: float,
        words: str,
        colour: str,
        px: int = 11,
        weight: int = 400,
        align: float = 0.0,
        **more: float,
    ) -> QRectF:
        if width(words, px, weight) > more.get("room", 1e9) + 0.5:
            cut.append((bar.width(), words))
        return write(paint, x, y, words, colour, px, weight, align, **more)  # pyright: ignore

    monkeypatch.setattr(Paint, "text", text)
    bar.show_answer(answer)
    bar.show_along(None)
    for wide in (964, 1084, 1264, 1424, 1904):
        bar.resize(wide, 92)
        bar.grab()
    assert cut == []


def test_a_step_at_the_power_limit_shows_its_energy_too(monkeypatch: pytest.MonkeyPatch):
    """15 J a step of 691 W at 1,833 MHz, in bars from narrow to wide."""
    answer, words = predicted(SCENARIOS["limited by power"]), list[str]()
    assert answer.prediction.power is not None
    limited = replace(
        answer.prediction.power,
        watts=690.9, joules=15.4, clock_hz=1.833e9, highest_hz=1.98e9, limit_w=700.0,
    )  # fmt: skip
    write, bar = Paint.text, VerdictBar(THEMES["dark"])

    def text(paint: Paint, x: float, y: float, shown: str, *rest: Any, **more: Any) -> QRectF:
        words.append(shown)
        return write(paint, x, y, shown, *rest, **more)

    monkeypatch.setattr(Paint, "text", text)
    bar.show_answer(replace(answer, prediction=replace(answer.prediction, power=limited)))
    bar.show_along(None)

    def power_column(wide: int) -> list[str]:
        words.clear()
        bar.resize(wide, 92)
        bar.grab()
        at = words.index("691")
        return words[at - 1 : at + 3]

    full = ["Power, at its limit", "691", "of 700 W", "15 J a step, 1,833 of 1,980 MHz"]
    assert power_column(1904) == full
    assert power_column(1424) == [*full[:3], "15 J a step, 1,833 MHz"]
    assert power_column(964) == ["At limit", "691", "W", "15 J"]


def test_a_new_answer_is_painted_over_the_picture_of_the_last_one():
    bar = VerdictBar(THEMES["dark"])
    bar.resize(1424, 92)
    pictures = list[QImage]()
    small, large = predicted(replace(FIRST, batch=2)), predicted(FIRST)
    for answer in (small, large, small):
        bar.show_answer(answer)
        pictures.append(bar.grab().toImage())
        assert bar._pictured is not None
    first = bar._pictured
    assert pictures[0] == pictures[2] != pictures[1]
    bar.show_answer(large)
    bar.grab()
    assert bar._pictured is first  # a new one costs time
    bar.resize(1300, 92)
    bar.grab()
    assert bar._pictured is not first
