"""The pictures of a prediction: each module of `app.charts.of_prediction` adds one.

A picture listed here is a section of the HTML report and a panel of the explorer, from which it is
saved as PNG and SVG.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from app.drawing import Drawing, Metrics
from simulator.prediction import Prediction

Draw = Callable[[Prediction, float, float, Metrics], Drawing | None]
"""Takes a prediction, a width and a height in pixels and text metrics; returns None if the
prediction has nothing to show.
"""


@dataclass(frozen=True)
class PredictionChart:
    """A picture with its title, a short description, and its height in a report, in pixels. `view`
    is the module of `app.views` that shows an interactive version, if there is one."""

    title: str
    about: str
    height: float
    draw: Draw
    view: str = ""


_CHARTS: dict[str, PredictionChart] = {}


def chart(
    title: str, about: str = "", height: float = 300, view: str = ""
) -> Callable[[Draw], Draw]:
    """Add a picture. Raises ValueError if another picture has the title."""

    def add(draw: Draw) -> Draw:
        if title in _CHARTS:
            raise ValueError(
                f"picture {title!r}: expected one picture per title, got two; rename one"
            )
        _CHARTS[title] = PredictionChart(title, about, height, draw, view)
        return draw

    return add


@cache
def prediction_charts() -> tuple[PredictionChart, ...]:
    """All pictures, first those with their own view, then by title."""
    package = import_module("app.charts.of_prediction")
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    return tuple(sorted(_CHARTS.values(), key=lambda each: (not each.view, each.title)))
