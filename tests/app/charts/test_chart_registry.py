"""The pictures of a prediction: all are drawn, by each renderer, without Qt."""

from xml.etree import ElementTree

import pytest

from app.charts.registry import PredictionChart, chart, prediction_charts
from app.drawing import TABULATED
from app.drawing.svg import document
from app.theme import DARK
from simulator.prediction import Prediction


@pytest.mark.parametrize("each", prediction_charts(), ids=lambda each: each.title)
def test_a_picture_is_drawn(each: PredictionChart, tiny_prediction: Prediction) -> None:
    drawing = each.draw(tiny_prediction, 1000, each.height, TABULATED)
    assert drawing is not None and (drawing.width, drawing.height) == (1000, each.height)
    assert drawing.title and drawing.items
    ElementTree.fromstring(document(drawing, DARK))


def test_pictures_with_a_view_of_their_own_come_first() -> None:
    assert [each.title for each in prediction_charts()][:2] == ["Roofline", "Timeline"]


def test_two_of_one_title_are_refused() -> None:
    message = "picture 'Roofline': expected one picture per title, got two; rename one"
    with pytest.raises(ValueError, match=message):
        chart("Roofline")(lambda p, width, height, metrics: None)
