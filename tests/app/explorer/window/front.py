"""The views and panels that are in front."""

import time
from collections.abc import Iterator

from PySide6.QtCore import QCoreApplication

from app.explorer.docks.panel import Panel
from app.explorer.window.window import Window
from app.widgets.view import View
from tests.app.explorer.waiting import wait


def in_front(window: Window) -> Iterator[View]:
    """Bring each view to the front in turn, because views behind a tab are not drawn."""
    for offered, panel in window.panels.panels.items():
        window.session.show(offered.workspace)
        panel.raise_()
        for _ in range(5):
            QCoreApplication.processEvents()
            time.sleep(0.01)
        wait(window.worker)
        view = panel.inside
        assert isinstance(view, View) and view.title == offered.title
        assert view.workspace == offered.workspace and isinstance(view, offered.kind())
        yield view


def in_view(window: Window) -> list[Panel]:
    """The panels in front; Qt also counts those behind a tab as visible."""
    panels = [
        panel
        for panel in window.panels.panels.values()
        if panel.isVisible() and not panel.visibleRegion().isEmpty()
    ]
    assert panels
    return panels
