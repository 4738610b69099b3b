"""Context menus: entries, and the items of a canvas that they act on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QWidget

from app.theme import BODY_PX
from app.widgets.canvas import Canvas
from app.widgets.paint import elided

_NOTE_PX = 560.0
"""The largest width of the text beside a menu entry."""


@dataclass(frozen=True)
class Entry:
    """An entry of a menu, or a submenu of `children`. Without `run` it is disabled, and `note` is
    the reason."""

    text: str
    run: Callable[[], object] | None = None
    note: str = ""
    tip: str = ""
    children: tuple[Entry, ...] = ()


class ContextMenu(QMenu):
    """A menu that is deleted after it closes. A right click outside it opens the menu of the widget
    there; Qt's own menus only close.
    """

    def __init__(self, parent: QWidget, name: str, entries: Sequence[Entry] = ()) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName(f"Menu of {name}")
        fill_menu(self, entries)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Pass on the right click that has just closed the menu."""
        at = event.globalPos()
        under = None if self.isVisible() else QApplication.widgetAt(at)
        if under is not None:
            passed_on = QContextMenuEvent(event.reason(), under.mapFromGlobal(at), at)
            QApplication.sendEvent(under, passed_on)


def fill_menu(menu: QMenu, entries: Sequence[Entry]) -> None:
    """Add the entries to a menu."""
    menu.setToolTipsVisible(True)
    for entry in entries:
        if entry.children:
            inner = menu.addMenu(entry.text)
            inner.setAccessibleName(entry.text)
            fill_menu(inner, entry.children)
            continue
        note = elided(entry.note, _NOTE_PX, BODY_PX)
        text, tab, key = entry.text.partition("\t")
        action = menu.addAction(f"{text}    {note}{tab}{key}" if note else entry.text)
        action.setToolTip(entry.tip or entry.note)
        action.setEnabled(entry.run is not None)
        if entry.run is not None:
            action.triggered.connect(_without_arguments(entry.run))


def add_actions(widget: QWidget, name: str, *actions: tuple[str, Callable[[], object]]) -> None:
    """Give a widget the context menu of `name`, which its children also open unless they have a
    menu themselves.
    """
    widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    for words, run in actions:
        action = QAction(words, widget)
        action.triggered.connect(_without_arguments(run))
        widget.addAction(action)

    def open_menu(at: QPoint) -> None:
        menu = ContextMenu(widget, name)
        menu.addActions(widget.actions())
        menu.popup(widget.mapToGlobal(at))

    widget.customContextMenuRequested.connect(open_menu)


def request_menu() -> None:
    """Request the menu of the widget with the focus, as the Menu key does."""
    focus = QApplication.focusWidget()
    if focus is not None:
        at = focus.rect().center()
        reason = QContextMenuEvent.Reason.Keyboard
        QApplication.sendEvent(focus, QContextMenuEvent(reason, at, focus.mapToGlobal(at)))


def copy_entry(title: str, rows: Sequence[Sequence[str]]) -> Entry:
    """An entry that copies rows of text as TSV."""
    text = "\n".join("\t".join(row) for row in rows)
    return Entry(title, lambda: QGuiApplication.clipboard().setText(text))


def make_selectable(label: QLabel) -> None:
    """Let the user select the text of a label; the menu of its view copies the text."""
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)


def text_entries(widget: QWidget | None) -> list[Entry]:
    """The entry that copies the selection or the text of a label whose text can be selected."""
    if not isinstance(widget, QLabel):
        return []
    if not widget.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse:
        return []
    text = widget.selectedText()
    return [copy_entry("Copy selection" if text else "Copy text", [[text or widget.text()]])]


def copy_entries(canvas: Canvas | None) -> list[Entry]:
    """The entry that copies the figures of the item under the pointer, if it has some."""
    rows = canvas.item_rows() if canvas is not None else []
    return [copy_entry("Copy figures", rows)] if rows else []


def _without_arguments(run: Callable[[], object]) -> Callable[[], object]:
    return lambda: run()
