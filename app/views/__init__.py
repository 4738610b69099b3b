"""One class a view of the explorer; each draws predictions and computes none."""

from app.widgets.qt_none import keep_none

keep_none()
