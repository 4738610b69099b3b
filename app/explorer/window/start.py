"""Start the explorer and run it until it is closed."""

from __future__ import annotations

import os

from PySide6.QtCore import QCoreApplication, QSize

from app.explorer.background.garbage import keep_one_heap
from app.explorer.background.worker import Worker
from app.explorer.state.names import first_name
from app.explorer.state.places import Remembered
from app.explorer.state.session import NamedScenario, Session, State, ThemeChoice
from app.explorer.window.ahead import Ahead
from app.explorer.window.window import Window
from app.widgets.drawing import application
from simulator.scenario.scenario import Scenario

_SIZE, _FRAME = QSize(1600, 1000), QSize(2, 32)
"""The size of a new window, and the room for its frame and title bar on a small screen."""


def open_window(
    scenario: Scenario, theme: ThemeChoice = "dark", remembered: Remembered | None = None
) -> Window:
    """Create a window for a scenario, with its own worker. The window is not shown yet."""
    state = State((NamedScenario(first_name(0), scenario),), theme=theme)
    window = Window(Session(state), Worker(), remembered)
    Ahead(window)
    return window


def run(scenario: Scenario, theme: ThemeChoice | None, file: str = "") -> int:
    """Show the window until it is closed; open a file or a link in it unless `file` is empty.
    Returns the exit status."""
    keep_one_heap()
    running = application(on_screen=True)
    QCoreApplication.setApplicationName("Ridgepoint")
    remembered = Remembered.read()
    window = open_window(scenario, theme or remembered.theme, remembered)
    window.resize(_SIZE.boundedTo(running.primaryScreen().availableSize() - _FRAME))
    window.layout_.restore(remembered.docks)
    window.opening.offer_recovery()
    if file:
        window.opening.open_text(file)
    window.show()
    try:
        status = int(running.exec())
    finally:
        ended = window.worker.close()
    if not ended:  # Python would stop the thread inside C++ code, which aborts the process
        os._exit(status)
    return status
