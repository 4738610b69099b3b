"""A canvas paints the items of its drawing once, and copies the pixels afterwards."""

import os

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("PySide6.QtWidgets")

from PySide6.QtCore import QCoreApplication, QPoint
from PySide6.QtGui import QImage

from app.drawing import Box, Drawing, Item, Marker, Rectangle, Text
from app.theme import THEMES
from app.widgets import drawing_canvas
from app.widgets.drawing import application
from app.widgets.drawing_canvas import DrawingCanvas

ITEMS: tuple[Item, ...] = (
    Rectangle(Box(10, 10, 80, 40), "bg2", "line"),
    Text(20, 30, "12.5 ms", "ink"),
)
MARK: tuple[Item, ...] = (Marker(60, 40, "memory", 6.0),)


class Plain(DrawingCanvas):
    marked = False

    def drawing(self, width: float, height: float) -> Drawing:
        return Drawing(width, height, ITEMS)

    def overlay(self) -> tuple[Item, ...]:
        return MARK if self.marked else ()


@pytest.fixture
def canvas(monkeypatch: pytest.MonkeyPatch):
    running = application()
    canvas = Plain(THEMES["dark"], "a canvas")
    painted: list[tuple[Item, ...]] = []
    plain = drawing_canvas.render

    def counted(items: tuple[Item, ...], paint: drawing_canvas.Paint) -> None:
        painted.append(items)
        plain(items, paint)

    monkeypatch.setattr(drawing_canvas, "render", counted)
    canvas.painted = painted  # pyright: ignore
    canvas.resize(300, 150)
    canvas.show()
    QCoreApplication.processEvents()
    yield canvas
    canvas.close()
    del running


def test_a_mark_over_the_drawing_does_not_paint_the_drawing_again(canvas: Plain) -> None:
    canvas.grab()
    times = canvas.painted.count(ITEMS)  # pyright: ignore
    assert times == 1
    canvas.marked = True
    marked = canvas.grab().toImage()
    assert canvas.painted.count(ITEMS) == 1 and MARK in canvas.painted  # pyright: ignore
    direct = QImage(300, 150, QImage.Format.Format_RGB32)
    canvas._picture = None
    canvas.render(direct, QPoint())
    assert marked.convertToFormat(direct.format()) == direct  # the same pixels


def test_new_data_another_theme_or_size_paint_the_drawing_again(canvas: Plain) -> None:
    canvas.grab()
    for change in (
        canvas.redraw,
        lambda: canvas.restyle(THEMES["light"]),
        lambda: canvas.resize(320, 150),
    ):
        canvas.painted.clear()  # pyright: ignore
        change()
        image = canvas.grab().toImage()
        assert canvas.painted.count(ITEMS) == 1  # pyright: ignore
    assert image.pixelColor(2, 2).name().upper() == THEMES["light"].bg1


def test_a_hidden_canvas_keeps_its_picture_for_a_while(canvas: Plain) -> None:
    canvas.grab()
    canvas.painted.clear()  # pyright: ignore
    canvas.hide()
    assert canvas._dropping.isActive() and canvas._dropping.interval() == 60_000
    canvas.show()
    canvas.grab()
    assert not canvas._dropping.isActive() and ITEMS not in canvas.painted  # pyright: ignore
    canvas.hide()
    canvas._dropping.timeout.emit()
    canvas.show()
    canvas.grab()
    assert canvas.painted.count(ITEMS) == 1  # pyright: ignore


def test_a_prepared_canvas_only_copies_its_picture(canvas: Plain) -> None:
    canvas.restyle(THEMES["light"])
    canvas.painted.clear()  # pyright: ignore
    canvas.prepare()
    assert canvas.painted.count(ITEMS) == 1  # pyright: ignore
    canvas.grab()
    assert canvas.painted.count(ITEMS) == 1  # pyright: ignore
