"""Move the focus by Tab only to widgets that the user sees."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QApplication, QWidget

from app.explorer.docks.panel import Panel


def step_to_visible(step: Callable[[], bool]) -> bool:
    """Move the focus by `step` until it is in sight: Qt also stops in panels that another tab of
    their group covers, and in hidden pages. Returns whether the focus moved.
    """
    first: QWidget | None = None
    while step():
        widget = QApplication.focusWidget()
        if widget is None or widget is first or _is_in_sight(widget):
            return True
        first = first or widget
    return False


def _is_in_sight(widget: QWidget) -> bool:
    """Whether a widget is shown, and in the front panel of its group. It may be scrolled away: its
    scroll area then scrolls to it."""
    panel: QWidget | None = widget
    while panel is not None and not isinstance(panel, Panel):
        panel = panel.parentWidget()
    return widget.isVisible() and (panel is None or not panel.visibleRegion().isEmpty())
