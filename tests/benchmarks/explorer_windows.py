"""Windows of the explorer in its benchmarks: opened, idle, painted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any


def say(figure: str, seconds: list[float], note: str = "", required_s: float | None = None) -> None:
    """Print one figure, with the seconds of all runs."""
    print(json.dumps([figure, seconds, note, required_s]), flush=True)


def painted(widget: Any, when: Callable[[], bool], then: Callable[[], None]) -> Any:
    """Call `then` once, when a widget is painted while `when` holds."""
    from PySide6.QtCore import QEvent, QObject

    class Filter(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint and when():
                watched.removeEventFilter(self)  # else it would slow every later event
                then()
            return False

    key_filter = Filter(widget)
    widget.installEventFilter(key_filter)
    return key_filter


def opened(scenario: Any) -> Any:
    """A window of the size of a usual screen, with its first answers."""
    from app.explorer.window.start import open_window
    from app.widgets.drawing import application

    global _running
    _running = application()
    window = open_window(scenario)
    window.resize(1600, 1000)
    window.show()
    idle(window)
    return window


def loop_for(ms: int, until: Callable[[Any], None] = lambda loop: None) -> None:
    """Process events for at most `ms` milliseconds, or until `until` returns True."""
    from PySide6.QtCore import QEventLoop, QTimer

    loop = QEventLoop()
    QTimer.singleShot(ms, lambda: loop.quit())  # PySide 6.12 keeps 64 bytes for each bound slot
    until(loop)
    loop.exec()


def idle(window: Any, most_s: float = 120.0) -> None:
    """Wait until the worker has been idle for a while."""
    end, quiet = time.monotonic() + most_s, 0
    while quiet < 15 and time.monotonic() < end:
        loop_for(50)
        quiet = 0 if window.worker.busy() else quiet + 1
