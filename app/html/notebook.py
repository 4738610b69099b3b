"""A prediction in a notebook: its verdict as HTML, and its pictures as SVG.

`Prediction` finds these functions through the entry points "ridgepoint.notebook", since the
simulator imports nothing from the app.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.answers.groups import kernel_groups
from app.answers.subject import subject_of_trace
from app.charts.registry import prediction_charts
from app.drawing import TABULATED
from app.drawing.svg import document
from app.html.page import verdict_contents
from app.html.templates import rendered
from app.theme import theme as theme_of
from simulator.errors import InputError
from simulator.prediction import Prediction

_MOST_KERNELS = 8
_NAME = "step"
"""The name shown for the network, because a trace does not contain its name."""


@dataclass(frozen=True)
class Figure:
    """A picture as SVG text, which a notebook shows."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def html(p: Prediction) -> str:
    """The verdict and the heaviest kernels as an HTML element, in the style of the report."""
    contents = verdict_contents(p, subject_of_trace(p.trace, _NAME))
    return rendered("notebook.jinja", contents | {"kernels": kernel_groups(p)[:_MOST_KERNELS]})


def plot(
    p: Prediction,
    picture: str = "roofline",
    theme: str = "light",
    width: float = 960,
    height: float | None = None,
) -> Figure:
    """A picture of the report, such as "roofline" or "timeline", with a width and a height in
    pixels.

    Raises InputError if there is no such picture, or if the prediction has nothing to show in it.
    """
    charts = {chart.title.lower(): chart for chart in prediction_charts()}
    colours, chart = theme_of(theme), charts.get(picture.lower())
    if chart is None:
        raise InputError(f"unknown picture {picture!r}: expected one of {', '.join(charts)}")
    drawing = chart.draw(p, width, height or chart.height, TABULATED)
    if drawing is None:
        raise InputError(
            f"the {picture} of this step is empty: expected kernels that compute; choose another "
            "picture"
        )
    return Figure(document(drawing, colours))
