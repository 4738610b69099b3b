"""Tab follows the page as it is read: header, verdict, shelf, charts, scenario cards, inspector."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from app.explorer.window.window import Window
from app.views.cluster.split import Split
from app.views.plan.workload import Workload
from app.widgets.tab_order import insert_after, insert_before
from tests.app.explorer.waiting import wait


def stops(top: QWidget) -> Iterator[QWidget]:
    """The visible widgets that Tab reaches, in tab order."""
    widget = top.nextInFocusChain()
    while widget is not None and widget is not top:
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible():
            yield widget
        widget = widget.nextInFocusChain()


def shown(window: Window, page: str) -> list[QWidget]:
    window.session.show(page)
    QCoreApplication.processEvents()
    wait(window.worker)
    QApplication.processEvents()
    return list(stops(window))


def place(window: Window, widget: QWidget) -> str:
    """The region of the window that holds a widget."""
    top = window.menuWidget()
    assert top is not None
    regions = {
        "header": window.head,
        "top": top,
        "shelf": window.beside[0],
        "page": window.workspaces,
        "cards": window.strip,
        "inspector": window.beside[1],
    }
    return next(name for name, region in regions.items() if region.isAncestorOf(widget))


@pytest.mark.parametrize("page", ["Explore", "Map", "Compare", "Factory", "Cluster", "Plan"])
def test_tab_visits_the_regions_as_they_are_read(window: Window, page: str):
    window.beside[1].show()  # hidden in other tests
    visited = list(dict.fromkeys(place(window, widget) for widget in shown(window, page)))
    window.beside[1].hide()
    order = ["header", "top", "shelf", "page", "cards", "inspector"]
    assert visited == [region for region in order if region in visited]
    assert {"header", "page"} <= {*visited} and (page != "Explore" or visited == order)


def test_the_verdict_follows_the_buttons_of_the_header(window: Window):
    names = [widget.accessibleName() for widget in shown(window, "Explore")]
    assert names.index("Verdict") == names.index("Commands") + 1
    assert names[0] == "Workspace Explore" and names[names.index("Verdict") + 1] == "Search cards"


def _between(names: list[str], first: str, *others: str) -> None:
    places = [names.index(name) for name in (first, *others)]
    assert places == sorted(places), names


def test_the_sentence_of_the_cluster_comes_before_its_steppers(window: Window):
    shown(window, "Cluster")
    split = next(v for v in window.panels.views.values() if isinstance(v, Split))
    names = [widget.accessibleName() for widget in stops(split) if split.isAncestorOf(widget)]
    fields = [field.accessibleName() for field in split.sentence.fields]
    _between(names, *fields, "More data parallelism", split.more.fields[0].accessibleName())


def test_the_workload_is_read_from_the_sentence_to_the_power(planned: Window):
    view = next(v for v in planned.panels.views.values() if isinstance(v, Workload))
    names = [widget.accessibleName() for widget in stops(view) if view.isAncestorOf(widget)]
    parts = [*view.sentence.fields, view.add, *view.cards, view.drop, *view.power.fields]
    _between(names, *(part.accessibleName() for part in parts))


def test_stops_are_inserted_where_the_chain_begins():
    top = QWidget()
    one, two, three, four = (QPushButton(name, top) for name in "abcd")
    insert_before(one, [three, four])
    chain, widget = list[str](), top.nextInFocusChain()
    while widget is not top:
        assert isinstance(widget, QPushButton)
        chain.append(widget.text())
        widget = widget.nextInFocusChain()
    assert chain == ["c", "d", "a", "b"]
    insert_after(two, [four])
    assert two.nextInFocusChain() is four
