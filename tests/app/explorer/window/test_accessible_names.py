"""A screen reader can name everything that takes input: on each page, and in each dialog."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QMenu,
    QMenuBar,
    QPlainTextEdit,
    QScrollArea,
    QScrollBar,
    QTabBar,
    QTextEdit,
    QToolButton,
    QWidget,
)

from app.examples import FIRST
from app.explorer.files.factory_choice import FactoryChoice
from app.explorer.files.link_dialog import LinkDialog
from app.explorer.shelf.parameter_dialog import ParameterDialog
from app.explorer.window.dialogs.gallery import Gallery
from app.explorer.window.dialogs.history import HistoryDialog
from app.explorer.window.dialogs.keys import KeysDialog
from app.explorer.window.dialogs.leaving import Leaving
from app.explorer.window.dialogs.palette import CommandPalette, action_commands, view_keys
from app.explorer.window.window import Window
from app.views.lessons.author import TEMPLATE, Author
from app.views.lessons.view import Lessons
from app.widgets.canvas import Canvas
from simulator.networks.loading.factories import Factory
from simulator.scenario import trace_source
from simulator.scenario.resolve import resolve
from simulator.whatif import apply, whatifs
from tests.app.explorer.waiting import wait
from tests.app.explorer.window.front import in_front

_KINDS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    Canvas,
)
_PARTS_OF = (QAbstractItemView, QAbstractSpinBox, QComboBox, QLineEdit, QMenuBar, QTabBar)
"""Widgets that Qt builds from other widgets, and names itself."""
_ICONS = "…⋯+-−×▾▸◂<>✕"


def controls(top: QWidget) -> Iterator[QWidget]:
    """The widgets in `top` that take input, without the internal parts of Qt's own widgets."""
    for widget in top.findChildren(QWidget):
        takes_focus = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        if isinstance(widget, (QScrollBar, QScrollArea, QMenu)):
            continue
        if isinstance(widget, _KINDS) or takes_focus:
            parent = widget.parentWidget()
            while parent is not None and parent is not top and not isinstance(parent, _PARTS_OF):
                parent = parent.parentWidget()
            if not isinstance(parent, _PARTS_OF):
                yield widget


def spoken(widget: QWidget) -> str:
    """The name that a screen reader reads out."""
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.text(QAccessible.Text.Name).strip() if interface else ""


def nameless(top: QWidget, in_sight: bool = False) -> list[str]:
    """Controls without a name, or with only a symbol; `in_sight` leaves out hidden ones."""
    return [
        f"{type(w).__name__} {w.objectName()!r} in {type(w.parentWidget()).__name__}"
        for w in controls(top)
        if not spoken(w).strip(_ICONS) and (w.isVisible() or not in_sight)
    ]


def test_a_nameless_control_fails(window: Window):
    top = QWidget()
    for words, name in (("Apply", ""), ("…", "Menu"), ("…", ""), ("", "")):
        button = QToolButton(top)
        button.setText(words)
        button.setAccessibleName(name)
    assert len(list(controls(top))) == 4 and len(nameless(top)) == 2


def test_each_control_of_each_page_has_a_name(window: Window):
    seen = 0
    for view in in_front(window):
        assert spoken(view), view.title
        seen += len(list(controls(view)))
        assert not nameless(view), view.title
        assert not nameless(window, in_sight=True), view.title
    assert seen > 180


@pytest.mark.parametrize("page", ["Explore", "Compare"])
def test_each_control_of_two_scenarios_with_what_ifs_has_a_name(window: Window, page: str):
    applied = apply(apply(FIRST, "power_limit"), "precision", {"modules": "layers.0.**"})
    second = apply(applied, "bandwidth")
    traced = resolve(second)
    trace_source.trace_elsewhere(False)  # the wait is for the window's work, not for its traces
    try:
        trace_source.make(replace(traced.request, batch=None, seq=None), traced.gpu, ("batch", 128))
    finally:
        trace_source.trace_elsewhere()
    window.session.add("B", second, page)
    wait(window.worker)
    window.beside[1].show()  # hidden in other tests; it asks for advice, which takes long
    boxes = [spoken(w) for w in controls(window.inspector.applied)]
    assert not nameless(window, in_sight=True)
    window.beside[1].hide()
    window.advising.stop()
    assert any("bandwidth" in name for name in boxes), boxes


def test_each_control_of_each_step_of_a_lesson_has_a_name(window: Window):
    window.session.show("Lessons")
    wait(window.worker)
    view = next(v for v in window.panels.views.values() if isinstance(v, Lessons))
    view.turn_to(0)
    wait(window.worker)
    assert view.attempt is not None
    view.attempt.moved.update(view.attempt.keys)
    view.page.options[0].click()
    for _ in range(3):
        view.go(1)
        wait(window.worker)
        assert list(controls(view)) and not nameless(view)


@pytest.mark.parametrize("name", sorted(whatif.name for whatif in whatifs()))
def test_each_control_of_a_parameter_dialog_has_a_name(window: Window, name: str):
    dialog = ParameterDialog(window.theme, name, FIRST, lambda _: None, window)
    assert spoken(dialog) and not nameless(dialog)
    names = [spoken(w) for w in controls(dialog)]
    assert len(names) == len(set(names)), names
    dialog.close()


def _table(window: Window) -> QWidget:
    from app.explorer.docks.table_dialog import TableDialog

    return TableDialog(next(iter(window.panels.views.values())))


def _editor(window: Window) -> QWidget:
    window.gpu_editing.open()
    assert window.gpu_editing.editor is not None
    return window.gpu_editing.editor


def _enlarged(window: Window) -> QWidget:
    window.session.show("Explore")
    QCoreApplication.processEvents()
    window.panels.enlarge()
    return window.panels.enlarged


DIALOGS: dict[str, Callable[[Window], QWidget]] = {
    "author": lambda window: Author(TEMPLATE, window),
    "commands": lambda window: CommandPalette(action_commands(window.actions())),
    "enlarged chart": _enlarged,
    "examples": lambda window: Gallery(lambda _: None, window),
    "factories": lambda window: FactoryChoice(
        window, Path("own.py"), (Factory("make", "()"), Factory("other", "(n)", ("n",))), print
    ),
    "gpu": _editor,
    "history": lambda window: HistoryDialog(window.session.history, window),
    "keys": lambda window: KeysDialog(window.shortcuts, view_keys(), window),
    "leaving": Leaving,
    "link": lambda window: LinkDialog(window, "", lambda _: None),
    "table": _table,
}


@pytest.mark.parametrize("kind", DIALOGS)
def test_each_control_of_a_dialog_has_a_name(window: Window, kind: str):
    dialog = DIALOGS[kind](window)
    assert spoken(dialog), kind
    # an enlarged chart handles the keys itself
    assert list(controls(dialog)) or kind == "enlarged chart"
    assert not nameless(dialog)
    dialog.close()
