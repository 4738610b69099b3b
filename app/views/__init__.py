"""One class a view of the explorer; each draws predictions and computes none.

May import widgets, scenes, formulas, lessons, report and answers; no command.
"""

from app.widgets.qt_none import keep_none

keep_none()
