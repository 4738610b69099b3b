"""Drawings painted by Qt."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("PySide6.QtWidgets")

from PySide6.QtCore import QEvent, QPointF
from PySide6.QtGui import QColor, QImage
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from app.drawing import (
    TABULATED,
    Box,
    Drawing,
    Group,
    Item,
    Line,
    Marker,
    Mix,
    Pattern,
    Raster,
    Rectangle,
    Rectangles,
    Spot,
    Text,
    hex_colour,
    pill,
    polygon,
)
from app.drawing import (
    Path as Outline,
)
from app.drawing.svg import document
from app.theme import DARK, LIGHT
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS, write_png


@pytest.fixture(scope="module")
def application() -> Any:
    return QApplication.instance() or QApplication([])


def painted(tmp_path: Path, *items: Item) -> QImage:
    write_png(Drawing(60, 40, items), DARK, tmp_path / "d.png")
    image = QImage(str(tmp_path / "d.png"))
    assert (image.width(), image.height()) == (120, 80)
    return image


def at(image: QImage, x: float, y: float) -> str:
    return image.pixelColor(round(2 * x), round(2 * y)).name().upper()


def test_items_are_painted_at_their_places(application: Any, tmp_path: Path) -> None:
    image = painted(
        tmp_path,
        Rectangle(Box(0, 0, 20, 20), "a"),
        Rectangles((Box(20, 0, 5, 5), Box(25, 0, 5, 5)), Mix("b", 0.5), crisp=True),
        Outline(polygon([(40, 0), (60, 0), (60, 20)]), "c"),
        Line(((0, 30), (60, 30)), "danger", 4),
        Marker(10, 10, "memory", 4),
        Group((Rectangle(Box(30, 20, 30, 20), "focus"),), Box(30, 20, 5, 5)),
    )
    assert at(image, 1, 1) == DARK.a and at(image, 10, 10) == DARK.memory.fill
    assert at(image, 22, 2) == at(image, 27, 2) == hex_colour(Mix("b", 0.5), DARK)
    assert at(image, 55, 5) == DARK.c and at(image, 42, 15) == DARK.bg1
    assert at(image, 5, 30) == DARK.danger
    assert at(image, 32, 22) == DARK.focus and at(image, 40, 22) == DARK.bg1


def test_a_raster_fills_its_box(application: Any, tmp_path: Path) -> None:
    cells = np.array([[0, 1], [1, 0]], np.uint8)
    image = painted(tmp_path, Raster(Box(10, 0, 40, 40), ("memory", "compute"), cells))
    memory, compute = DARK.memory.fill, DARK.compute.fill
    assert [at(image, x, y) for x, y in ((20, 10), (40, 10), (20, 30), (40, 30), (5, 5))] == [
        memory,
        compute,
        compute,
        memory,
        DARK.bg1,
    ]


def test_svg_and_png_agree(application: Any, tmp_path: Path) -> None:
    """Qt renders the SVG: except for text, few pixels differ from those that Qt paints."""
    drawing = Drawing(
        60,
        40,
        (
            Rectangle(Box(2, 2, 16, 16), Pattern("memory")),
            Rectangle(Box(20, 2, 16, 16), Pattern("overhead")),
            Rectangle(Box(38, 2, 16, 16), Pattern("idle"), edge="ink"),
            Marker(10, 28, "compute", 6, edge="b"),
            Marker(28, 28, "overhead", 6),
            Line(((40, 22), (56, 38)), "ink", 2, casing="bg0"),
        ),
    )
    png = QImage(120, 80, QImage.Format.Format_RGB32)
    write_png(drawing, DARK, tmp_path / "d.png")
    png = QImage(str(tmp_path / "d.png")).convertToFormat(QImage.Format.Format_RGB32)
    from PySide6.QtGui import QPainter

    read = QImage(120, 80, QImage.Format.Format_RGB32)
    painter = QPainter(read)
    QSvgRenderer(document(drawing, DARK).encode()).render(painter)
    painter.end()
    apart = np.abs(pixels(png).astype(int) - pixels(read)).max(axis=-1)
    assert np.mean(apart > 40) < 0.03


def pixels(image: QImage) -> Any:
    shape = (image.height(), image.width(), 4)
    return np.frombuffer(bytes(image.constBits()), np.uint8).reshape(shape)[:, :, :3]


def test_a_file_that_cannot_be_written_is_an_error(application: Any, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the image could not be written"):
        write_png(Drawing(5, 5, ()), DARK, tmp_path / "no" / "d.png")


def test_both_metrics_agree(application: Any) -> None:
    for words, px, weight in (("Step time, ms", 11, 400), ("aten.mm ×12", 13, 600)):
        assert TABULATED.width(words, px, weight) >= 0.98 * QT_METRICS.width(words, px, weight)
    assert pill(QT_METRICS, 0, 0, "x").box.width == QT_METRICS.width("x", 11, 500) + 10


class _Bars(DrawingCanvas):
    built = 0

    def drawing(self, width: float, height: float) -> Drawing:
        self.built += 1
        items = (Rectangle(Box(0, 0, width / 2, height), "a"), Text(2, 9, "a"))
        return Drawing(width, height, items, (Spot("a", Box(0, 0, width / 2, height)),))

    def overlay(self) -> tuple[Item, ...]:
        return (Rectangle(Box(0, 0, 9, 9), "danger"),) if self.over else ()


def test_a_canvas_draws_once_for_a_size_and_picks(application: Any) -> None:
    canvas = _Bars(DARK, "Bars")
    canvas.resize(300, 200)
    image = canvas.grab().toImage()
    assert image.pixelColor(100, 150) == QColor(DARK.a)
    assert image.pixelColor(200, 150) == QColor(DARK.bg1)
    canvas.restyle(LIGHT)  # colours are roles: another theme needs no new drawing
    assert canvas.grab().toImage().pixelColor(100, 150) == QColor(LIGHT.a)
    assert canvas.built == 1
    assert canvas.hit(QPointF(100, 150)) == "a" and canvas.hit(QPointF(200, 150)) is None
    canvas.show_over("a")
    assert canvas.grab().toImage().pixelColor(4, 4) == QColor(LIGHT.danger)
    assert canvas.built == 1
    canvas.redraw()
    canvas.grab()
    canvas.resize(310, 200)
    canvas.grab()
    assert canvas.built == 3
    canvas.leaveEvent(QEvent(QEvent.Type.Leave))
    assert canvas.over is None
