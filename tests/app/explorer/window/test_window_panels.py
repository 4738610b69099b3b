"""The panels of the window: focus order, drawing, export and layout."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app.examples import FIRST
from app.explorer.background.answering import Answering
from app.explorer.docks.panel import export
from app.explorer.state.session_file import load
from app.explorer.window.window import Window
from app.scenes.timeline.pins import Pin
from app.views.catalogue import VIEWS, Offered
from app.views.timeline.view import Timeline
from tests.app.explorer.waiting import wait
from tests.app.explorer.window.front import in_front


def test_the_tab_key_comes_to_a_view_before_the_head_of_its_panel(window: Window):
    # created one after the other, in the order in which they were shown
    titles = [view.title for view in in_front(window)]
    assert titles == [offered.title for offered in VIEWS] and len(titles) >= 23
    places, each = list[QWidget](), window.nextInFocusChain()
    while each is not None and each is not window:
        places.append(each)
        each = each.nextInFocusChain()
    last = places.index(window.shelf.search)
    for panel in (panel for docks in window.workspaces.docks.values() for panel in docks.panels):
        first = next(at for at, one in enumerate(places) if _takes_tab(one, panel.inside))
        head = places.index(panel.float_button), places.index(panel.more)
        assert last < first < head[0] < head[1]
        last = head[1]


def _takes_tab(one: QWidget, view: QWidget | None) -> bool:
    tab = Qt.FocusPolicy.TabFocus
    assert view is not None
    return view.isAncestorOf(one) and bool(one.focusPolicy() & tab) and one.focusProxy() is None


def test_a_hidden_view_gets_the_selection_with_its_answer(window: Window):
    window.resize(1180, 800)  # in the layout with the timeline behind the roofline
    QCoreApplication.processEvents()
    QCoreApplication.processEvents()
    roofline, _, timeline = list(window.panels.panels.values())[:3]
    timeline.raise_()
    wait(window.worker)
    view = timeline.inside
    assert isinstance(view, Timeline)
    roofline.raise_()
    QCoreApplication.processEvents()
    window.session.set_scenario(replace(FIRST, batch=8), "batch 8")
    wait(window.worker)
    window.session.pick(frozenset({2}))
    assert not view.canvas.picked  # the slices are those of batch 64
    timeline.raise_()
    QCoreApplication.processEvents()
    assert view.canvas.picked == {2} and view.canvas.lanes is not None
    assert view.canvas.lanes.prediction.trace.samples == 8
    window.resize(1280, 800)
    QCoreApplication.processEvents()


def test_a_view_is_written_as_a_picture(window: Window, tmp_path: Path):
    for view in in_front(window):
        for suffix in ("png", "svg"):
            path = tmp_path / f"{view.title}.{suffix}"
            export(view, path)
            assert path.stat().st_size > 2000
    assert not list(tmp_path.glob(".*"))


def docks(window: Window) -> dict[str, str]:
    """The layout without the window's position, which a screen of 800 pixels cannot restore."""
    return {name: state for name, state in window.layout_.current().items() if name != "window"}


def test_the_session_restores_the_docks(window: Window, tmp_path: Path):
    roofline, sweep, timeline = list(window.panels.panels.values())[:3]
    sweep.close()
    timeline.raise_()
    window.beside[0].hide()
    QCoreApplication.processEvents()
    window.layout_.settle()  # on a busy machine Qt sets the sizes later
    window.files.save(tmp_path / "laid")
    before = docks(window)
    window.layout_.reset()
    roofline.close()
    assert docks(window) != before
    _, laid = load(tmp_path / "laid.ridge")
    assert set(laid) == {"window", *before}
    window.layout_.restore({name: laid[name] for name in before})
    assert docks(window) == before
    assert sweep.isHidden() and not roofline.isHidden() and window.beside[0].isHidden()
    window.layout_.reset()
    assert not sweep.isHidden() and not window.beside[0].isHidden()
    window.beside[1].hide()


def test_a_chart_is_enlarged_in_a_window_that_zooms_and_fits(window: Window):
    wait(window.worker)
    window.panels.enlarge()
    enlarged = window.panels.enlarged
    assert enlarged.windowTitle().endswith(" – Ridgepoint")
    assert enlarged.accessibleName() == "Roofline, enlarged"
    assert enlarged.width() <= enlarged.screen().availableSize().width()
    grabbed = enlarged.grab().toImage()
    ground = grabbed.pixelColor(1, 1).name()
    colours = {grabbed.pixelColor(x, y).name() for x in range(0, 1200, 7) for y in range(0, 800, 7)}
    assert len(colours) > 5 and ground == window.panels.theme.bg1.lower()  # the chart is drawn
    whole = enlarged.box.viewRect()
    enlarged.box.scaleBy((0.5, 0.5))
    assert enlarged.box.viewRect().width() < 0.6 * whole.width()
    enlarged.fit()
    assert enlarged.box.viewRect().width() == pytest.approx(whole.width(), rel=0.01)
    QTest.keyClick(enlarged, Qt.Key.Key_Escape)
    assert not enlarged.isVisible()


def test_lanes_are_pinned_by_commands_and_stay_with_another_scenario(window: Window):
    actions = {action.text(): action for action in window.actions()}
    assert not actions["Unpin all lanes"].isEnabled()
    actions["Pin GPU lane"].trigger()
    window.session.add()
    actions["Pin host lane"].trigger()
    assert window.session.state.pinned == (Pin("gpu", "A"), Pin("host", "B"))
    offered = next(o for o in window.panels.panels if o.title == "Timeline")
    wait(window.worker)
    timeline = window.panels.view(offered)
    assert isinstance(timeline, Timeline)
    assert [lane.pin for lane in timeline.canvas.pinned] == [Pin("gpu", "A"), Pin("host", "B")]
    actions["Unpin all lanes"].trigger()
    assert timeline.canvas.pinned == ()
    window.session.history.undo()
    assert len(timeline.canvas.pinned) == 2
    assert {"Pin GPU lane", "Unpin all lanes"} <= {c.name for c in window.commands.available()}


def test_a_lane_pinned_by_a_command_is_seen(window: Window):
    """From another page, with the timeline behind the tab of another panel, or closed."""
    actions = {action.text(): action for action in window.actions()}
    panels = {offered.title: panel for offered, panel in window.panels.panels.items()}
    panels["Ops"].raise_()
    QCoreApplication.processEvents()
    window.session.show("Map")
    wait(window.worker)
    actions["Pin GPU lane"].trigger()
    QCoreApplication.processEvents()
    assert window.session.state.workspace == "Explore"
    assert not panels["Timeline"].visibleRegion().isEmpty()
    window.session.history.undo()
    assert window.session.state.workspace == "Map" and window.session.state.pinned == ()
    window.session.show("Explore")
    panels["Timeline"].close()
    actions["Pin host lane"].trigger()
    QCoreApplication.processEvents()
    assert not panels["Timeline"].visibleRegion().isEmpty()
    window.session.unpin_all()
    panels["Roofline"].raise_()


def test_the_view_of_a_clicked_tab_has_the_keys_and_is_enlarged(
    window: Window, monkeypatch: pytest.MonkeyPatch
):
    window.activateWindow()
    window.session.show("Explore")
    wait(window.worker)
    panels = {panel.windowTitle(): panel for panel in window.panels.panels.values()}
    panels["Sweep"].raise_()
    QCoreApplication.processEvents()
    assert not panels["Memory"].isAncestorOf(window.focusWidget())
    # Qt shows the panel of a tab while the button is pressed on it
    monkeypatch.setattr(QApplication, "mouseButtons", lambda: Qt.MouseButton.LeftButton)
    panels["Memory"].raise_()
    for _ in range(5):
        QCoreApplication.processEvents()
    assert panels["Memory"].isAncestorOf(window.focusWidget())
    monkeypatch.setattr(QApplication, "focusWidget", window.focusWidget)
    window.panels.enlarge()
    assert window.panels.enlarged.windowTitle().startswith("Memory")
    window.panels.enlarged.close()
    panels["Sweep"].raise_()


def test_a_shortcut_to_another_page_leaves_no_ring_on_the_button_of_this_one(window: Window):
    window.activateWindow()
    next(iter(in_front(window))).setFocus()
    assert QApplication.focusWidget() is not None
    window.session.show("Compare")
    focus = QApplication.focusWidget()
    assert focus is None or not window.buttons.isAncestorOf(focus)
    window.session.show("Explore")


def test_the_head_names_the_scenario_on_the_pages_that_draw_it(window: Window):
    wait(window.worker)
    shown: dict[str, str] = {}
    for page in ("Plan", "Map", "Lessons", "Compare", "Explore"):
        window.session.show(page)
        shown[page] = window.head.subject.toolTip() or window.head.subject.text()
    assert "H200" in shown["Map"] and shown["Map"] == shown["Explore"] == shown["Compare"]
    assert shown["Plan"] == shown["Lessons"] == window.files.title  # only the title of the file


def test_a_late_view_waits_for_the_answer_of_a_moved_slider(
    window: Window, monkeypatch: pytest.MonkeyPatch
):
    panels = window.panels
    late = next(offered for offered in panels.panels if offered.late)
    panels.panels[late].raise_()
    window.session.set_scenario(replace(FIRST, batch=9), "batch")
    wait(window.worker)
    panels.draw()
    drawn = list[Offered]()
    monkeypatch.setattr(panels, "_draw", lambda offered, view: drawn.append(offered))
    monkeypatch.setattr(Answering, "waiting", True)
    panels._draw_late()  # pyright: ignore[reportPrivateUsage]
    assert late not in drawn and panels._late.isActive()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(Answering, "waiting", False)
    panels._draw_late()  # pyright: ignore[reportPrivateUsage]
    assert late in drawn


def test_the_view_menu_brings_a_covered_panel_to_the_front(window: Window):
    window.session.show("Explore")
    window.workspaces.docks["Explore"].reset()
    QCoreApplication.processEvents()
    panels = {panel.windowTitle(): panel for panel in window.panels.panels.values()}
    memory, sweep = panels["Memory"], panels["Sweep"]
    assert memory.visibleRegion().isEmpty() and not sweep.visibleRegion().isEmpty()
    view = window.head.menus.actions()[2].menu()
    assert isinstance(view, QMenu)

    def choose(name: str) -> None:
        view.aboutToShow.emit()
        panels[name].toggleViewAction().trigger()
        QCoreApplication.processEvents()

    choose("Memory")
    assert not memory.visibleRegion().isEmpty() and sweep.visibleRegion().isEmpty()
    choose("Memory")
    assert memory.isHidden() and not sweep.isHidden()
    choose("Memory")
    assert not memory.visibleRegion().isEmpty()
    window.workspaces.docks["Explore"].reset()
    QCoreApplication.processEvents()
