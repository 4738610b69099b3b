"""The explorer's views, one class each: they draw predictions and never compute them.

May import widgets, charts, drawing, scenes, formulas, lessons, report and answers; no command.
"""

from app.widgets.qt_import import plain_import
from app.widgets.qt_none import keep_none

plain_import()
keep_none()
