"""The window fits a screen of 1280 × 720 (3840 × 2160 at a scale of three), with any contents."""

from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QTabBar

from app.examples import FIRST
from app.explorer.background.worker import Worker
from app.explorer.docks.layout import Layout
from app.explorer.docks.workspaces import ORDER
from app.explorer.state.session import NamedScenario, Session, State
from app.explorer.window.window import Window
from app.widgets.drawing import application
from simulator.scenario import trace_source


def test_every_workspace_fits_a_small_screen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("RIDGEPOINT_TRACES", "off")
    monkeypatch.setenv("RIDGEPOINT_STATE", str(tmp_path))
    running = application()
    window = Window(Session(State((NamedScenario("Today", FIRST),))), Worker())
    window.resize(1280, 800)
    window.show()
    titles = [panel.windowTitle() for panel in window.workspaces.docks["Explore"].panels]
    for panel in window.workspaces.docks["Explore"].panels:
        panel.raise_()
        QCoreApplication.processEvents()
    window.resize(980, 700)
    QCoreApplication.processEvents()
    assert (window.width(), window.height()) == (980, 700), titles
    inspector = window.inspector
    assert inspector.widget().minimumSizeHint().width() <= inspector.viewport().width()
    head = window.head
    assert (
        all(a.text() for a in head.menus.actions())
        and head.menus.width() >= head.menus.sizeHint().width()
    )
    for name, button in window.buttons.buttons.items():
        assert button.text() == name and button.width() >= button.sizeHint().width()
    needed: dict[str, tuple[int, int]] = {}
    for name in ORDER:
        window.session.show(name)
        QCoreApplication.processEvents()
        window.resize(1280, 700)
        QCoreApplication.processEvents()
        needed[name] = (window.width(), window.height())  # Qt enlarges a window to its minimum size
    window.close()
    window.worker.close()
    window.deleteLater()
    trace_source.trace_elsewhere(False)
    trace_source.forget()
    assert {name: size for name, size in needed.items() if size[0] > 1280 or size[1] > 704} == {}
    del running


def test_a_wide_window_keeps_the_panels_that_were_closed(window: Window):
    window.resize(1950, 900)
    window.session.show("Plan")
    QCoreApplication.processEvents()
    shelf = window.beside[0]
    assert not shelf.isHidden()
    shelf.hide()
    frames = {k: v for k, v in window.layout_.current().items() if k.startswith("frame of ")}
    restored = Layout(window, window.workspaces, window.beside)
    restored.restore(frames)
    restored.follow_width()  # the window is shown
    restored.show("Plan")
    assert shelf.isHidden()
    window.resize(1280, 800)
    QCoreApplication.processEvents()


def test_another_page_leaves_the_window_as_wide_as_it_was(
    window: Window, monkeypatch: pytest.MonkeyPatch
):
    window.resize(1300, 800)
    QCoreApplication.processEvents()
    show = window.workspaces.show_workspace

    def beside_the_panels_of_the_page_before(name: str) -> str:
        shown = show(name)
        window.resize(1500, 800)  # as Qt does if both do not fit on the screen
        return shown

    monkeypatch.setattr(window.workspaces, "show_workspace", beside_the_panels_of_the_page_before)
    window.session.show("Map")
    QCoreApplication.processEvents()
    assert window.width() == 1300


def test_a_wide_window_becomes_narrow_in_one_step(window: Window):
    for workspace in ORDER:
        window.session.show(workspace)
        window.resize(1600, 1000)
        for _ in range(3):
            QCoreApplication.processEvents()
        assert (window.width(), window.height()) == (1600, 1000)
        window.resize(980, 700)
        for _ in range(3):
            QCoreApplication.processEvents()
        assert (window.width(), window.height()) == (980, 700), workspace


def test_explore_fits_a_screen_of_1920_by_1080_at_a_scale_of_two(window: Window):
    window.session.show("Explore")
    for wide, high in ((960, 508), (1600, 1000), (960, 508)):
        window.resize(wide, high)
        for _ in range(3):
            QCoreApplication.processEvents()
        assert (window.width(), window.height()) == (wide, high)
    window.resize(1280, 800)
    QCoreApplication.processEvents()


def test_a_second_tab_bar_of_a_group_is_hidden(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Qt may leave another bar with the same tabs in place, away from their panels."""
    monkeypatch.setenv("RIDGEPOINT_TRACES", "off")
    monkeypatch.setenv("RIDGEPOINT_STATE", str(tmp_path))
    running = application()
    window = Window(Session(State((NamedScenario("Today", FIRST),))), Worker())
    window.show()
    window.resize(1600, 1000)
    window.session.show("Cluster")
    QCoreApplication.processEvents()
    docks = window.workspaces.docks["Cluster"]
    bars = [bar for bar in docks.findChildren(QTabBar) if bar.isVisible()]
    own = next(bar for bar in bars if bar.tabText(0) == "Collectives")
    for stray in (QTabBar(docks), QTabBar(docks)):
        for at in range(own.count()):
            stray.addTab(own.tabText(at))
        stray.setGeometry(360, 248, 280, 24)
        stray.show()
        docks._tidy()  # pyright: ignore[reportPrivateUsage]
        assert stray.isHidden() and own.isVisible()
    window.close()
    window.worker.close()
    del running
