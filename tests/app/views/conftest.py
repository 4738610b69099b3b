"""One small prediction as sides, and an application without a screen."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QPoint, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QImage, QMouseEvent, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QApplication, QWidget

from app.answers.side import Side
from app.theme import DARK, LIGHT, Theme
from app.widgets import drawing
from app.widgets.view import View
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict


@pytest.fixture(scope="session")
def application() -> Any:
    return drawing.application()  # with the app's fonts


@pytest.fixture(scope="session")
def side(tiny_prediction: Prediction) -> Side:
    return Side("A", "Today", Scenario("mlp-tiny"), tiny_prediction)


@pytest.fixture(scope="session")
def variant() -> Side:
    scenario = Scenario("mlp-tiny", batch=4096)
    return Side("B", "Big batch", scenario, predict(scenario))


Shown = Callable[..., Any]


@pytest.fixture(params=[DARK, LIGHT], ids=["dark", "light"])
def theme(request: pytest.FixtureRequest) -> Theme:
    return request.param


@pytest.fixture
def shown(application: Any) -> Any:
    """Create a view, draw sides in it, and answer its question."""
    views: list[View] = []

    def show(
        kind: type[View],
        sides: tuple[Side, ...],
        current: int = 0,
        theme: Theme = DARK,
        size: tuple[int, int] = (720, 440),
    ) -> View:
        view = kind(theme)
        views.append(view)
        view.resize(*size)
        view.show()
        view.draw(sides, current)
        question = view.question(sides, current)
        if question is not None:
            view.answer(question(lambda: False))
        application.processEvents()
        return view

    yield show
    for view in views:
        view.close()
        view.deleteLater()


def picture(view: QWidget) -> QImage:
    """The image of a view."""
    return view.grab().toImage()


def svg(view: QWidget, path: Path) -> str:
    """A view as SVG."""
    drawing = QSvgGenerator()
    drawing.setFileName(str(path))
    drawing.setSize(QSize(view.width(), view.height()))
    drawing.setViewBox(QRect(0, 0, view.width(), view.height()))
    painter = QPainter(drawing)
    view.render(painter, QPoint())
    painter.end()
    return path.read_text("utf-8")


def pointer(
    widget: QWidget,
    kind: QMouseEvent.Type,
    at: QPointF,
    button: Qt.MouseButton = Qt.MouseButton.LeftButton,
) -> None:
    """A pointer event, sent directly to a widget."""
    none = Qt.MouseButton.NoButton
    moving = kind == QMouseEvent.Type.MouseMove
    event = QMouseEvent(
        kind,
        at,
        widget.mapToGlobal(at),
        none if moving else button,
        none if moving else button,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(widget, event)
