"""Cards dropped on views with their own drop targets, such as rows and modules."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.answers.cards import MIME
from app.examples import FIRST
from app.explorer.window.window import Window
from app.views.modules.view import WhereTimeGoes
from app.views.ops.view import OpTable
from app.widgets.drops import PlaceTarget
from simulator.whatif import apply
from tests.app.explorer.waiting import wait


def drop(window: Window, target: PlaceTarget, key: str, at: QPoint) -> str:
    """Drag a card of the shelf to a point of a target and drop it. Returns the words of the
    drag."""
    card = window.shelf.widget(key).mime()
    assert card.hasFormat(MIME)
    held = card, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    copy, widget = Qt.DropAction.CopyAction, target.widget
    QApplication.sendEvent(widget, QDragEnterEvent(at, copy, *held))
    QApplication.sendEvent(widget, QDragMoveEvent(at, copy, *held))
    words = target.outline.words
    assert target.outline.isVisible()
    QApplication.sendEvent(widget, QDropEvent(QPointF(at), copy, *held))
    wait(window.worker)
    return words


def shown(window: Window, kind: type[QWidget]) -> QWidget:
    offered = next(o for o in window.panels.panels if o.title == kind.title)  # pyright: ignore
    window.commands.show_view(offered)
    QApplication.processEvents()
    wait(window.worker)
    view = window.panels.view(offered)
    assert isinstance(view, kind)
    return view


@pytest.fixture
def places(window: Window) -> Iterator[list[tuple[PlaceTarget, QPoint]]]:
    """A row of the op table and a module, with their targets."""
    ops, modules = shown(window, OpTable), shown(window, WhereTimeGoes)
    assert isinstance(ops, OpTable) and isinstance(modules, WhereTimeGoes)
    row = ops.table.visualRect(ops.model.index(0, 0)).center()
    box = next(box for part, box in modules.canvas.boxes() if part.modules)
    yield [(ops.what_ifs.target, row), (modules.target, box.center().toPoint())]


def test_cards_of_the_whole_step_dropped_on_a_part_change_the_scenario(
    window: Window, places: list[tuple[PlaceTarget, QPoint]]
) -> None:
    """Regression: they were refused with "drop it on the step", although the page around the part
    accepts them."""
    session = window.session
    for target, at in places:
        for key, words, changed in (
            ("gpu:l40s", "L40S in scenario A", replace(FIRST, gpu="l40s")),
            ("whatif:cuda_graph", "+cuda_graph in scenario A", apply(FIRST, "cuda_graph")),
        ):
            assert drop(window, target, key, at).endswith(words)
            assert session.state.scenario == changed
            session.history.undo()
            wait(window.worker)
            assert session.state.scenario == FIRST


def test_what_a_part_refuses_is_in_the_banner_after_the_drop(
    window: Window, places: list[tuple[PlaceTarget, QPoint]]
) -> None:
    for target, at in places:
        window.banner.hide()
        words = drop(window, target, "whatif:recompute", at)
        assert "the step is inference" in words and window.session.state.scenario == FIRST
        assert window.banner.isVisible() and window.banner.label.text() == words
