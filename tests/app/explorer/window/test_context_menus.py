"""A right click, the Menu key and Shift+F10 open the menu of an item's actions."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication, QPointF, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from app.examples import FIRST
from app.explorer.window.window import Window
from app.views.compare.view import Compare
from app.views.fusion.view import FusionView
from app.views.memory import MemoryView
from app.views.modules.view import WhereTimeGoes
from app.views.ops.view import OpTable
from app.views.plan.front import CostAgainstSpeed
from app.views.plan.verdict import PlanVerdict
from app.views.regime_map.view import RegimeMap
from app.views.roofline.view import Roofline
from app.views.sweep.view import Sweep
from app.views.timeline.view import Timeline
from app.widgets.view import View
from simulator.whatif import apply
from tests.app.explorer.mouse import close_popups, opened, right_click
from tests.app.explorer.waiting import wait

OF_CHART = [
    "Show chart as table",
    "Enlarge chart",
    "Copy chart as picture",
    "Export as PNG …",
    "Export as SVG …",
    "Export as CSV …",
    "Close panel",
]


@pytest.fixture(autouse=True)
def _closed(window: Window) -> Iterator[None]:
    yield
    close_popups()


def view_of(window: Window, kind: type[View]) -> View:
    """A view in front, with its answer."""
    offered = next(o for o in window.panels.panels if o.title == kind.title)
    window.session.show(offered.workspace)
    QCoreApplication.processEvents()
    wait(window.worker)
    panel = window.panels.panels[offered]
    panel.show()
    panel.raise_()
    QCoreApplication.processEvents()
    view = window.panels.view(offered)
    wait(window.worker)
    QCoreApplication.processEvents()
    assert isinstance(view, kind)
    return view


def entries(menu: QMenu) -> dict[str, QAction]:
    """The entries by text, without keys and reasons."""
    texts = {a.text().partition("\t")[0].partition("    ")[0]: a for a in menu.actions()}
    return {text: action for text, action in texts.items() if text}


def chosen(name: str) -> None:
    action = entries(opened())[name]
    assert action.isEnabled()
    opened().close()
    action.trigger()


def test_a_mark_of_the_roofline_offers_its_ops_and_the_chart(window: Window):
    view = view_of(window, Roofline)
    assert isinstance(view, Roofline)
    group = view.groups[0]
    right_click(view.canvas, QPointF(*view.canvas.frame.place(group)))
    texts = list(entries(opened()))
    assert texts[1:] == [
        f"Show {'these ops' if len(group.ops) > 1 else 'this op'} in the table",
        f"What if, for {'these ops' if len(group.ops) > 1 else 'this op'}",
        "Copy figures",
        "Explain this figure",
        *OF_CHART,
    ]
    chosen("Copy figures")
    assert QGuiApplication.clipboard().text().splitlines()[0].startswith(group.label)
    right_click(view.canvas, QPointF(*view.canvas.frame.place(group)))
    chosen(texts[0])
    assert window.session.state.picked == view.canvas.picked == group.ops
    right_click(view.canvas, QPointF(*view.canvas.frame.place(group)))
    chosen("Clear the selection")
    assert not window.session.state.picked


def test_a_what_if_of_a_mark_changes_the_scenario(window: Window):
    view = view_of(window, Roofline)
    assert isinstance(view, Roofline)
    view.canvas.show_over(view.groups[0])
    right_click(view.canvas, QPointF(*view.canvas.frame.place(view.groups[0])))
    what_ifs = next(a.menu() for a in opened().actions() if a.text().startswith("What if"))
    assert isinstance(what_ifs, QMenu) and what_ifs.accessibleName()
    enabled = [a for a in what_ifs.actions() if a.isEnabled()]
    disabled = [a for a in what_ifs.actions() if not a.isEnabled()]
    assert enabled and all("    " in a.text() and a.toolTip() for a in disabled)
    name = enabled[0].text().split()[0]
    opened().close()
    enabled[0].trigger()
    assert window.session.state.scenario.whatifs[-1].name == name


@pytest.mark.parametrize("kind", [Roofline, Sweep, Timeline, WhereTimeGoes, OpTable, MemoryView])
def test_the_keyboard_opens_the_menu_of_the_chosen_item(window: Window, kind: type[View]):
    view = view_of(window, kind)
    window.activateWindow()
    QCoreApplication.processEvents()
    view.setFocus()
    focus = view.focusProxy() or view
    QTest.keyClick(focus, Qt.Key.Key_Down if kind is OpTable else Qt.Key.Key_Right)
    QTest.keyClick(focus, Qt.Key.Key_F10, Qt.KeyboardModifier.ShiftModifier)
    texts = list(entries(opened()))
    assert texts[-len(OF_CHART) :] == OF_CHART
    assert len(texts) > len(OF_CHART) + 1  # the actions of the item are added at the top


def test_a_point_of_the_sweep_becomes_a_scenario(window: Window):
    view = view_of(window, Sweep)
    assert isinstance(view, Sweep)
    frame, first = view.canvas.frame, view.canvas.first
    assert frame is not None and first is not None
    at = QPointF(frame.x.at(float(first.values[0])), frame.top.centre[1])
    right_click(view.canvas, at)
    chosen("Add a scenario with batch 1")
    sides = window.session.state.sides
    assert [s.scenario for s in sides] == [FIRST, replace(FIRST, batch=1)]
    assert sides[1].name == "batch 1"


def test_a_point_of_the_map_is_used_or_added(window: Window):
    view = view_of(window, RegimeMap)
    assert isinstance(view, RegimeMap) and view.map.chart is not None
    right_click(view.map, view.map.pixel((0, 0)))
    assert next(iter(entries(opened()))) == "Use batch 1, sequence 16"
    chosen("Use batch 1, sequence 16")
    scenario = window.session.state.scenario
    assert (scenario.batch, scenario.seq) == (1, 16)
    window.session.history.undo()
    wait(window.worker)
    right_click(view.map, view.map.pixel((0, 0)))
    chosen("Add a scenario with batch 1, sequence 16")
    assert len(window.session.state.sides) == 2


def test_a_part_and_a_row_have_what_ifs_and_the_chart(window: Window):
    parts = view_of(window, WhereTimeGoes)
    assert isinstance(parts, WhereTimeGoes)
    part, box = next((p, b) for p, b in parts.canvas.boxes() if p.depth == 1 and not p.wait)
    right_click(parts.canvas, box.center())
    texts = list(entries(opened()))
    assert texts[0] == part.path.replace(".*", ".#") and f"Zoom to {texts[0]}" in texts
    opened().close()
    table = view_of(window, OpTable)
    assert isinstance(table, OpTable)
    at = table.model.shown()[2]
    first = table.table.visualRect(table.model.index(0, at)).center()
    right_click(table.table.viewport(), QPointF(first))
    texts = list(entries(opened()))
    column = table.model.headerData(at, Qt.Orientation.Horizontal)
    assert f"Sort by {column}" in texts and any(t.startswith("Copy ") for t in texts)
    chosen(f"Sort by {column}")
    assert table.model.column == at


def test_kernels_that_changed_have_the_menu_of_their_ops(window: Window):
    window.session.add("Graph", replace(FIRST, mode="cuda_graph"))
    view = view_of(window, Compare)
    assert isinstance(view, Compare)
    moved, box = view.kernels.shown()[0]
    right_click(view.kernels, box.center())
    texts = list(entries(opened()))
    assert texts[0].startswith("Select th") and "Copy figures" in texts
    chosen(texts[0])
    assert window.session.state.picked and moved is not None


def test_a_block_is_selected_and_changed(window: Window):
    view = view_of(window, FusionView)
    assert isinstance(view, FusionView)
    op, block = next(iter(view.canvas.scene.blocks.items()))
    right_click(view.canvas, view.canvas.box(op).center())
    chosen(f"Select {block.name}")
    assert view.canvas.chosen == {op}
    right_click(view.canvas, view.canvas.box(op).center())
    texts = entries(opened())
    assert {f"Deselect {block.name}", "What if, for this op", "Clear the selection"} <= set(texts)


def test_candidates_of_a_plan_are_chosen_and_opened(planned: Window):
    table = view_of(planned, PlanVerdict)
    assert isinstance(table, PlanVerdict) and len(table.table.rows) > 1
    last = table.table.rows[-1]
    right_click(table.table, QPointF(40, table.table.row_top(last) + 4))
    chosen("Choose this candidate")
    assert planned.pages.plan.planning.planned.row == last
    right_click(table.table, QPointF(40, table.table.row_top(last) + 4))
    assert not entries(opened())["Choose this candidate"].isEnabled()
    chosen("Copy figures")
    assert last.name in QGuiApplication.clipboard().text()
    front = view_of(planned, CostAgainstSpeed)
    assert isinstance(front, CostAgainstSpeed) and front.canvas.drawn is not None
    spot = front.canvas.drawn.spots[0]
    right_click(front.canvas, QPointF(*spot.box.centre))
    assert "Open it in Explore" in entries(opened())


def test_the_title_bar_and_the_shelf_have_the_panels_menu(window: Window):
    view_of(window, Roofline)
    for panel in (window.beside[0], window.view_menus.panel("Roofline")):
        head = panel.titleBarWidget()
        right_click(head, QPointF(4, 4))
        menu = QApplication.activePopupWidget()
        assert menu is panel.menu and "Close panel" in entries(panel.menu)
        menu.close()


def test_figures_of_the_verdict_are_copied(window: Window):
    right_click(window.verdict, QPointF(window.verdict.width() / 6 + 20, 30))
    chosen("Copy figure")
    name, _, words = QGuiApplication.clipboard().text().partition("\t")
    assert name and words
    right_click(window.verdict, QPointF(20, 30))
    chosen("Copy verdict")
    assert QGuiApplication.clipboard().text() == window.verdict.sentence


def test_a_scenario_card_goes_to_compare_and_copies_its_own_command(
    window: Window, monkeypatch: pytest.MonkeyPatch
):
    window.session.add("Large", replace(FIRST, batch=256))
    wait(window.worker)
    card = window.strip.cards[0]
    texts = dict(card._actions())  # pyright: ignore[reportPrivateUsage]
    texts["Copy as command"]()
    assert "--batch 256" not in QGuiApplication.clipboard().text()
    assert window.session.state.current == 0
    texts["Go to Compare"]()
    assert window.session.state.workspace == "Compare"
    window.session.show("Explore")


def test_applied_what_ifs_are_reset(window: Window):
    window.session.set_scenario(apply(FIRST, "bandwidth", {"times": 3.0}), "bandwidth")
    wait(window.worker)
    box = next(
        row.parentWidget() for row in window.inspector.applied.rows if row.whatif == "bandwidth"
    )
    texts = [action.text() for action in box.actions()]
    assert texts == ["Remove", "Reset to its defaults"]
    assert box.contextMenuPolicy() == Qt.ContextMenuPolicy.CustomContextMenu
    box.actions()[1].trigger()
    assert window.session.state.scenario.whatifs[-1].arguments == {"times": 2.0}
    window.inspector.applied.rows[0].parentWidget().actions()[0].trigger()
    assert window.session.state.scenario == FIRST
