"""The explorer's views, one class each: they draw predictions and never compute them.

May import widgets, charts, drawing, scenes, formulas, lessons, report and answers; no command.
"""

from importlib import import_module

from app.widgets.qt_repairs import keep_none, plain_import

import_module("PySide6.QtCore")  # it replaces the import statement
plain_import()
keep_none()
