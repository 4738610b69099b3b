"""The explorer's views, one class each: they draw predictions and never compute them.

May import widgets, charts, drawing, scenes, formulas, lessons, report and answers; no command.
"""

import PySide6.QtCore  # noqa: F401 (it replaces the import statement)

from app.widgets.qt_repairs import keep_none, plain_import

plain_import()
keep_none()
