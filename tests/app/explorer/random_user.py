"""A random user: available actions in any order, chosen by a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import (
    QContextMenuEvent,
    QDesktopServices,
    QDrag,
    QKeyEvent,
    QMouseEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QApplication,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QMenu,
    QMessageBox,
    QTabBar,
    QToolButton,
    QWidget,
)

from app.explorer.docks import panel
from app.explorer.shelf import card_widget
from app.explorer.shelf.card_widget import NEW
from app.explorer.state.session import LETTERS
from app.explorer.window import side_cards
from app.explorer.window.window import Window
from app.widgets.context_menu import ContextMenu

TYPED = ("", "7", "64", "0", "3000", "99999999", "bert", "zz", "1.5", "−3", "two words")
KEYS = (
    Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home,
    Qt.Key.Key_End, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Space, Qt.Key.Key_Return,
    Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Escape, Qt.Key.Key_Delete, Qt.Key.Key_F2,
    Qt.Key.Key_Menu, Qt.Key.Key_Plus, Qt.Key.Key_Minus, Qt.Key.Key_A, Qt.Key.Key_C, Qt.Key.Key_0,
)  # fmt: skip
HELD = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)
NEVER = ("Quit", "Open …")
"""Actions that close the window or replace the session, and cannot be undone."""


def _close_menu() -> None:
    menu = QApplication.activePopupWidget()
    if menu is not None:
        menu.close()


class User:
    """Acts on a window; `done` lists the actions in order. File dialogs are answered with a file in
    `folder` or cancelled, menus with one of their entries.
    """

    def __init__(self, window: Window, seed: int, folder: Path, patch: Any) -> None:
        self.window, self.chance, self.folder = window, random.Random(seed), folder
        self.done: list[str] = []
        self.kinds: dict[str, Callable[[], str]] = {
            "action": self._action,
            "control": self._control,
            "drop": self._drop,
            "pointer": self._pointer,
            "key": self._key,
            "workspace": self._workspace,
            "state": self._state,
            "palette": self._palette,
        }
        patch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("", ""))
        patch.setattr(QFileDialog, "getSaveFileName", lambda *_: (self._file(), ""))
        patch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Yes)
        patch.setattr(QDesktopServices, "openUrl", lambda _: False)
        user = self

        class Menu(ContextMenu):
            def popup(self, *_: Any) -> None:
                user._entry(self)

        class Drag(QDrag):
            def exec(self, *_: Any) -> Qt.DropAction:
                return Qt.DropAction.IgnoreAction

        for module in (card_widget, side_cards, panel):
            patch.setattr(module, "ContextMenu", Menu)
        patch.setattr(card_widget, "QDrag", Drag)
        for menu_of in window.panels.panels.values():
            menu_of.build()
            menu_of.more.clicked.disconnect()
            menu_of.more.clicked.connect(lambda _=False, p=menu_of: self._entry(p.menu))

    def act(self, kind: str = "") -> None:
        """Perform one action, of any kind by default."""
        kind = kind or self.chance.choice([*self.kinds, "control", "pointer", "drop"])
        self.done.append(kind)
        self.done[-1] = f"{kind}: {self.kinds[kind]()}"
        for other in QApplication.topLevelWidgets():
            if other is not self.window and other.isVisible() and self.chance.random() < 0.3:
                other.close()

    def _file(self) -> str:
        name = self.chance.choice(("", "saved", "picture.png", "missing/table.csv"))
        return str(self.folder / name) if name else ""

    def _entry(self, menu: QMenu) -> None:
        entries = [a for a in menu.actions() if a.isEnabled() and not a.isSeparator()]
        if entries and self.chance.random() < 0.8:
            self.chance.choice(entries).trigger()

    def _action(self) -> str:
        menus = [panel.menu for panel in self.window.panels.panels.values()]
        every = [*self.window.actions(), *(a for menu in menus for a in menu.actions())]
        action = self.chance.choice([a for a in every if a.text() not in NEVER])
        action.trigger()
        return action.text()

    def _seen(self, *kinds: type[QWidget]) -> list[QWidget]:
        """The enabled and visible widgets of the window and its dialogs."""
        widgets: list[QWidget] = []
        for top in QApplication.topLevelWidgets():
            if top.isVisible() and (top is self.window or top.parent() is not None):
                inside = top.findChildren(QWidget)
                widgets += [w for w in inside if isinstance(w, kinds) and w.isEnabled()]
        return [w for w in widgets if w.isVisible()]

    def _control(self) -> str:
        kinds = (QAbstractButton, QAbstractSlider, QComboBox, QLineEdit, QTabBar, QAbstractItemView)
        kind = self.chance.choice(kinds)
        seen = self._seen(kind)
        if not seen:
            return "none"
        widget = self.chance.choice(seen)
        name = f"{type(widget).__name__} {widget.accessibleName()!r}"
        if isinstance(widget, QToolButton) and widget.menu() is not None:
            self._entry(widget.menu())
        elif isinstance(widget, QAbstractButton):
            widget.click()
        elif isinstance(widget, QAbstractSlider):
            for _ in range(self.chance.randint(1, 3)):
                widget.setValue(self.chance.randint(widget.minimum(), widget.maximum()))
        elif isinstance(widget, QComboBox):
            at = self.chance.randrange(max(1, widget.count()))
            widget.setCurrentIndex(at)
            widget.activated.emit(at)
        elif isinstance(widget, QLineEdit):
            widget.setText(self.chance.choice(TYPED))
            widget.textEdited.emit(widget.text())
            if self.chance.random() < 0.7:
                self._press(widget, Qt.Key.Key_Return)
        elif isinstance(widget, QTabBar):
            widget.setCurrentIndex(self.chance.randrange(max(1, widget.count())))
        elif isinstance(widget, QAbstractItemView) and widget.model() is not None:
            model = widget.model()
            row = self.chance.randrange(max(1, model.rowCount()))
            widget.setCurrentIndex(model.index(row, 0))
        return name

    def _drop(self) -> str:
        card = self.chance.choice(self.window.shelf.cards)
        place = self.chance.randrange(NEW, len(self.window.session.state.sides))
        dropping = self.window.dropping
        offer = (
            dropping.offered_new(card.key) if place == NEW else (dropping.offered(card.key, place))
        )
        if offer.done is not None:
            offer.done()
        return f"{card.key} on {place}: {offer.words}"

    def _pointer(self) -> str:
        seen = self._seen(QWidget)
        widget = self.chance.choice(seen)
        chance, kinds = self.chance, QEvent.Type
        name = f"{type(widget).__name__} {widget.accessibleName()!r}"

        def at() -> QPointF:
            return QPointF(chance.uniform(0, widget.width()), chance.uniform(0, widget.height()))

        # their menus block until they are closed
        if isinstance(widget, (QMenu, QTabBar, QToolButton, QComboBox)):
            return f"{name} left alone"
        what = chance.randrange(4)
        where = at()
        if what == 0:
            wheel = QPoint(0, chance.choice((-120, 120)))
            QApplication.sendEvent(
                widget,
                QWheelEvent(
                    where,
                    widget.mapToGlobal(where),
                    QPoint(),
                    wheel,
                    Qt.MouseButton.NoButton,
                    chance.choice(HELD),
                    Qt.ScrollPhase.NoScrollPhase,
                    False,
                ),
            )
        elif what == 1:
            spot = where.toPoint()
            QTimer.singleShot(0, _close_menu)  # Qt runs the menu of a scroll bar until it closes
            QApplication.sendEvent(
                widget,
                QContextMenuEvent(QContextMenuEvent.Reason.Mouse, spot, widget.mapToGlobal(spot)),
            )
        else:
            held = chance.choice(HELD)
            self._mouse(widget, kinds.MouseMove, where, held, False)
            twice = kinds.MouseButtonDblClick
            self._mouse(widget, kinds.MouseButtonPress if what == 2 else twice, where, held)
            for _ in range(chance.randrange(3)):
                where = at()
                self._mouse(widget, kinds.MouseMove, where, held)
            self._mouse(widget, kinds.MouseButtonRelease, where, held)
        return f"{name} {('wheel', 'menu', 'drag', 'double')[what]}"

    @staticmethod
    def _mouse(
        widget: QWidget,
        kind: QEvent.Type,
        at: QPointF,
        held: Qt.KeyboardModifier,
        down: bool = True,
    ) -> None:
        left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
        button = none if kind == QEvent.Type.MouseMove else left
        buttons = left if down and kind != QEvent.Type.MouseButtonRelease else none
        QApplication.sendEvent(
            widget, QMouseEvent(kind, at, widget.mapToGlobal(at), button, buttons, held)
        )

    def _key(self) -> str:
        focusable = [w for w in self._seen(QWidget) if w.focusPolicy() & Qt.FocusPolicy.TabFocus]
        if not focusable:
            return "none"
        widget = self.chance.choice(focusable)
        if isinstance(widget, (QMenu, QToolButton)) or not widget.isVisible():
            return "left alone"
        widget.setFocus()
        key, held = self.chance.choice(KEYS), self.chance.choice(HELD)
        name = f"{type(widget).__name__} {widget.accessibleName()!r}"
        if not (isinstance(widget, QComboBox) and key in (Qt.Key.Key_Space, Qt.Key.Key_Return)):
            self._press(widget, key, held)
        return f"{name} {key.name} {held.name}"

    @staticmethod
    def _press(widget: QWidget, key: Qt.Key, held: Any = Qt.KeyboardModifier.NoModifier) -> None:
        text = chr(key.value).lower() if 32 <= key.value < 127 else ""
        for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            QApplication.sendEvent(widget, QKeyEvent(kind, key.value, held, text))

    def _workspace(self) -> str:
        name = self.chance.choice(list(self.window.workspaces.docks))
        self.window.session.show(name)
        return name

    def _state(self) -> str:
        session, chance = self.window.session, self.chance
        place = chance.randrange(len(session.state.sides))
        steps: dict[str, Callable[[], object]] = {
            "work on": lambda: session.switch_to(place),
            "rename": lambda: session.rename(place, chance.choice(TYPED)),
            "copy": lambda: self.window.strip.copy(place),
            "remove": lambda: self.window.strip.remove(place),
            "undo": session.history.undo,
            "redo": session.history.redo,
            "theme": lambda: session.set_theme(chance.choice(("dark", "light", "system"))),
            "size": lambda: self.window.resize(
                chance.randint(900, 1920), chance.randint(600, 1080)
            ),
        }
        name = chance.choice(list(steps))
        steps[name]()
        return f"{name} {LETTERS[place]}"

    def _palette(self) -> str:
        command = self.chance.choice(self.window.commands.available())
        if command.name in NEVER:
            return "left alone"
        command.done()
        return f"{command.place} {command.name}"
