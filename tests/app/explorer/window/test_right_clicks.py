"""A right click opens a menu on every page, also while another menu is open."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, QPointF
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from app.explorer.window.window import Window
from app.views.cluster.headline import ClusterBar
from app.views.lessons.view import Lessons
from app.views.plan.front import CostAgainstSpeed
from app.views.plan.queue import TheQueue
from app.views.plan.verdict import PlanVerdict
from app.widgets.view import View
from tests.app.cluster_answers import CLUSTERED
from tests.app.explorer.mouse import close_popups, opened, right_click
from tests.app.explorer.window.test_context_menus import entries


@pytest.fixture(autouse=True)
def _closed(window: Window) -> Iterator[None]:
    yield
    close_popups()


def view_in(window: Window, kind: type[View]) -> View:
    """A view of the current page."""
    return next(view for view in window.panels.views.values() if type(view) is kind)


def middle(widget: QWidget) -> QPoint:
    return widget.rect().center()


def test_each_panel_of_the_plan_opens_its_menu(planned: Window):
    for kind in (CostAgainstSpeed, TheQueue, PlanVerdict):
        view = view_in(planned, kind)
        right_click(view, middle(view))
        assert opened().accessibleName() == f"Menu of {kind.title}"
        assert "Export as PNG …" in entries(opened())
        close_popups()


def test_the_figures_of_the_plan_are_copied(planned: Window):
    bar = planned.pages.plan.bar
    right_click(bar, QPoint(300, 40))
    assert opened().accessibleName() == "Menu of Verdict of the plan"
    entries(opened())["Copy figures"].trigger()
    rows = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert rows == [list(row) for row in bar.figures] and len(rows) > 3
    assert "; ".join(f"{name}: {value}" for name, value in rows) == bar.accessibleDescription()


def test_the_figures_of_the_cluster_are_copied(window: Window):
    bar = ClusterBar(window.theme)
    bar.resize(1200, bar.height())
    bar.show()
    bar.put(CLUSTERED)
    right_click(bar, middle(bar))
    entries(opened())["Copy figures"].trigger()
    first, shares, period = QGuiApplication.clipboard().text().splitlines()[:3]
    assert CLUSTERED.answer is not None and first == f"{CLUSTERED.answer.regime}-bound"
    assert shares == (
        "shares of the critical path\t65% compute, 13% memory, 5% overhead, 17% communication"
    )
    assert period.startswith("Time per step, 80% interval\t")


def test_words_of_the_plan_have_the_menu_of_their_panel(planned: Window):
    view = view_in(planned, PlanVerdict)
    assert isinstance(view, PlanVerdict)
    right_click(view.words, QPoint(40, 10))
    assert opened().accessibleName() == "Menu of Verdict" and "Enlarge chart" in entries(opened())
    entries(opened())["Copy text"].trigger()
    assert QGuiApplication.clipboard().text() == view.words.text() != ""
    close_popups()
    view.words.setSelection(0, 5)
    right_click(view.words, QPoint(40, 10))
    entries(opened())["Copy selection"].trigger()
    assert QGuiApplication.clipboard().text() == view.words.text()[:5]


def test_a_right_click_outside_an_open_menu_opens_the_menu_there(window: Window):
    right_click(window.verdict, QPointF(20, 30))
    assert opened().accessibleName() == f"Menu of {window.verdict.formulas()[0].name}"
    card = window.strip.cards[0]
    right_click(card, middle(card))
    assert opened().accessibleName() == f"Menu of {card.accessibleName()}"
    shelf = next(card for card in window.shelf.widgets if card.isVisible())
    right_click(shelf, middle(shelf))
    assert opened().accessibleName() == f"Menu of {shelf.card.title}"
    right_click(window.verdict, QPointF(20, 30))
    opened().close()
    assert QApplication.activePopupWidget() is None


def test_a_right_click_outside_the_menu_of_a_lesson_opens_that_of_another(window: Window):
    window.session.show("Lessons")
    QCoreApplication.processEvents()
    view = view_in(window, Lessons)
    assert isinstance(view, Lessons)
    for place in (0, 3, 1):
        row = view.index.rows[place]
        right_click(row, QPoint(row.width() // 2, row.height() - 8))
        assert opened().accessibleName() == f"Menu of lesson {place + 1}"
    window.session.show("Explore")
