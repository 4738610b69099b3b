"""The menus, with every action of the window and its shortcut."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar

from app.explorer.docks.workspaces import ORDER
from app.explorer.files.exporting import FORMS
from app.explorer.state.session import LETTERS
from app.widgets.context_menu import request_menu

if TYPE_CHECKING:
    from app.examples.gallery import Example
    from app.explorer.window.window import Window

Keys = QKeySequence.StandardKey | str


class Menus(QMenuBar):
    """The menu bar. Each action is also added to the window, so that its shortcut works."""

    def __init__(self, window: Window) -> None:
        super().__init__()
        self.window_ = window
        self.setNativeMenuBar(False)
        self._file(self.addMenu("File"))
        self._edit(self.addMenu("Edit"))
        self._view(self.addMenu("View"))
        self._scenario(self.addMenu("Scenario"))
        self._help(self.addMenu("Help"))
        for menu in self.findChildren(QMenu):
            menu.setToolTipsVisible(True)  # paths, and the reasons why actions are disabled

    def _file(self, menu: QMenu) -> None:
        window, keys = self.window_, QKeySequence.StandardKey
        opening = window.opening
        self._add(menu, "Open …", opening.choose, keys.Open)
        self._add(menu, "Open link …", opening.choose_link, "Ctrl+L")
        self._add(menu, "Examples …", self._gallery)
        recent = menu.addMenu("Open recent")
        recent.aboutToShow.connect(lambda: opening.fill_recent(recent))
        self._add(menu, "Save", opening.save, keys.Save)
        self._add(menu, "Save as …", opening.save_as, "Ctrl+Shift+S")
        self._add(menu, "Save plan …", lambda: opening.save_plan(window.pages.plan.text))
        self._add(menu, "Write plan report …", lambda: window.pages.plan.report())
        menu.addSeparator()
        for form in FORMS:
            self._add(menu, f"Export {form.lower_name} …", lambda form=form: window.export(form))
        self._add(menu, "Export comparison …", self._export_comparison)
        menu.addSeparator()
        self._add(menu, "Quit", window.leave, keys.Quit)

    # dialogs and exports are imported when first needed, to start faster

    def _export_comparison(self) -> None:
        from app.explorer.window.comparison_export import export_comparison  # as above

        export_comparison(self.window_)

    def _copy_command(self) -> None:
        from app.explorer.window.copying import copy_command  # as above

        copy_command(self.window_)

    def _copy_link(self) -> None:
        from app.explorer.window.copying import copy_link  # as above

        copy_link(self.window_)

    def _history(self) -> None:
        from app.explorer.window.dialogs.history import HistoryDialog  # as above

        HistoryDialog(self.window_.session.history, self.window_).show()

    def _gallery(self) -> None:
        from app.explorer.window.dialogs.gallery import Gallery  # as above

        def show(example: Example) -> None:
            self.window_.session.set_scenario(
                example.scenario, f"example: {example.title}", workspace="Explore"
            )

        Gallery(show, self.window_).show()

    def _edit(self, menu: QMenu) -> None:
        window, keys = self.window_, QKeySequence.StandardKey
        history = window.session.history
        for name, action, key in (
            ("Undo", history.createUndoAction(window, "Undo"), keys.Undo),
            ("Redo", history.createRedoAction(window, "Redo"), keys.Redo),
        ):
            action.setShortcut(key)
            action.setObjectName(name)
            menu.addAction(action)
            window.addAction(action)
        self._add(menu, "History …", self._history, "Ctrl+H")
        menu.addSeparator()
        self._add(menu, "Menu of the item with the focus", request_menu, "Shift+F10")

    def _view(self, menu: QMenu) -> None:
        window = self.window_
        for number, name in enumerate(ORDER, 1):
            if name in window.workspaces.docks:
                self._add(
                    menu,
                    f"Go to {name}",
                    lambda name=name: window.session.show(name),
                    f"Ctrl+{number}",
                )
        menu.addSeparator()
        panels = (*window.panels.panels.values(), *window.beside)
        for panel in panels:
            menu.addAction(panel.toggleViewAction())
            panel.toggleViewAction().triggered.connect(panel.bring_forward)
        menu.aboutToShow.connect(lambda: [panel.note_covered() for panel in panels])
        menu.addSeparator()
        self._add(menu, "Reset layout", window.layout_.reset)
        self._add(menu, "Show chart as table", window.panels.show_table, "Ctrl+T")
        self._add(menu, "Enlarge chart", window.panels.enlarge, "Ctrl+Shift+E")
        menu.addSeparator()
        self._add(menu, "Pin GPU lane", lambda: window.panels.pin_lane("gpu"))
        self._add(menu, "Pin host lane", lambda: window.panels.pin_lane("host"))
        self._add(menu, "Unpin all lanes", window.session.unpin_all)
        menu.addSeparator()
        self._add(menu, "Switch between light and dark", window.toggle_theme, "Ctrl+Shift+L")
        system = self._add(menu, "Use system theme", lambda: window.session.set_theme("system"))
        system.setCheckable(True)
        menu.aboutToShow.connect(lambda: system.setChecked(window.session.state.theme == "system"))

    def _scenario(self, menu: QMenu) -> None:
        window, strip = self.window_, self.window_.strip
        session = window.session
        self._add(menu, "Duplicate scenario", lambda: strip.copy(session.state.current), "Ctrl+D")
        self._add(menu, "Rename", strip.rename, "F2")
        self._add(menu, "Remove", lambda: strip.remove(session.state.current))
        menu.addSeparator()
        for place in range(len(LETTERS)):
            self._add(
                menu,
                f"Switch to {LETTERS[place]}",
                lambda at=place: session.switch_to(at),
                f"Alt+{place + 1}",
            )
        menu.addSeparator()
        self._add(
            menu, "Go to the lesson of the task", lambda: window.pages.lessons.show_task_lesson()
        )
        self._add(menu, "Leave task", session.leave_task)
        menu.addSeparator()
        self._add(menu, "Edit the GPU …", window.gpu_editing.open, "Ctrl+G")
        self._add(menu, "Copy as command", self._copy_command, "Ctrl+Shift+C")
        self._add(menu, "Copy link", self._copy_link, "Ctrl+Shift+K")

    def _help(self, menu: QMenu) -> None:
        self._add(menu, "Commands …", self.window_.commands.open, "Ctrl+Shift+P")
        self._add(menu, "Explain this figure", self.window_.explaining.open, "F1")
        self._add(menu, "Keyboard shortcuts …", self.window_.show_keys, "?")

    def _add(
        self, menu: QMenu, words: str, action: Callable[[], Any], keys: Keys | None = None
    ) -> QAction:
        item = QAction(words, self.window_)
        item.setObjectName(words)
        if keys is not None:
            item.setShortcut(QKeySequence(keys))
        item.triggered.connect(lambda: action())
        menu.addAction(item)
        self.window_.addAction(item)
        return item
