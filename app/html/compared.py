"""The HTML page of two to four scenarios: the verdict of each, and the changes from A to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from app.answers.answer import subject_of
from app.answers.changed_labels import relabelled
from app.answers.side import Side
from app.charts.waterfall.waterfall import comparison_page
from app.drawing import TABULATED
from app.drawing.svg import element, variable
from app.html.page import colour_tokens, verdict_contents
from app.html.templates import rendered
from app.report.comparisons.conclusion import conclusion
from app.theme import THEMES
from simulator.analysis.compare import compare
from simulator.prediction import REGIMES, Prediction
from simulator.scenario.scenario import Scenario
from simulator.scenario.text.command import as_command


def compared_page(sides: Sequence[Side], predictor: Callable[[Scenario], Prediction]) -> str:
    """Compare scenarios with the first, and render one document without scripts; all names are
    escaped. Raises InputError for fewer than two sides."""
    scenarios = [side.scenario for side in sides]
    compared = compare(scenarios, predictor)
    falls = tuple(relabelled(fall, *scenarios) for fall in compared.waterfalls)
    names = tuple(side.name for side in sides)
    drawing = comparison_page(replace(compared, waterfalls=falls), names, TABULATED)
    contents = {
        "title": f"{', '.join(side.letter for side in sides)} compared",
        "conclusions": [
            (other.letter, other.name, conclusion(sides[0], other, fall))
            for other, fall in zip(sides[1:], falls, strict=True)
        ],
        "picture": Markup(element(drawing, variable)),
        "sides": [_side(side) for side in sides],
        "regimes": REGIMES,
        "themes": [(name, colour_tokens(theme, [drawing])) for name, theme in THEMES.items()],
    }
    return rendered("compared.jinja", contents)


def _side(side: Side) -> dict[str, Any]:
    subject = subject_of(side.scenario, side.prediction)
    return {
        "letter": side.letter,
        "name": side.name,
        "command": as_command(side.scenario),
        **verdict_contents(side.prediction, subject),
    }
