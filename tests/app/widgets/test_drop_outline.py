"""The text over a drop target."""

from PySide6.QtCore import QPointF
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from app.theme import DARK
from app.widgets.drawing import application
from app.widgets.drops import Outline


def _text_columns(outline: Outline) -> tuple[int, int]:
    """The first and the last column of the text's box, at the middle of the height."""
    image = QImage(outline.size(), QImage.Format.Format_RGB32)
    outline.render(image)
    row = image.height() // 2
    inside = range(20, image.width() - 20)
    ground = image.pixelColor(10, row)
    drawn = [x for x in inside if image.pixelColor(x, row) != ground]
    return drawn[0], drawn[-1]


def test_the_text_of_a_flat_target_is_next_to_the_dragged_card() -> None:
    """Regression: the card covered the middle of the verdict bar, where the text was."""
    running = application()
    bar = QWidget()
    bar.resize(1200, 92)
    outline = Outline(bar, DARK)
    outline.say("gpu MI355X in scenario A", False)
    outline.follow(QPointF(500, 40))
    assert _text_columns(outline)[0] > 700
    outline.follow(QPointF(700, 40))
    assert _text_columns(outline)[1] < 500
    bar.resize(1200, 600)
    outline.say("gpu MI355X in scenario A", False)
    first, last = _text_columns(outline)
    assert abs((first + last) / 2 - 600) <= 2
    bar.close()
    del running
