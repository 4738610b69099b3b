"""A button with a menu of the GPUs that are not candidates, to add one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMenu, QToolButton

from app.answers.plan.cards import with_gpu
from app.answers.plan.draft import Draft
from simulator.hardware.gpu import gpus
from simulator.planning.serve_search import listed


class AddGpu(QToolButton):
    """`chosen` carries the id of a GPU."""

    chosen = Signal(str)
    draft: Draft | None = None

    def __init__(self) -> None:
        super().__init__()
        self.setText("Add …")
        self.setProperty("look", "button")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Add a GPU to the candidates")
        self.setToolTip("Add a GPU; its card can also be dragged here from the shelf")
        menu = QMenu(self)
        menu.aboutToShow.connect(self._fill)
        self.setMenu(menu)

    def edit(self, name: str) -> Callable[[Draft], Draft]:
        """The edit that adds a GPU."""
        return lambda draft: with_gpu(draft, name)

    def _fill(self) -> None:
        menu = self.menu()
        menu.clear()
        if self.draft is None:
            return
        known = {card.id for card in listed(self.draft.spec.candidates, everyone=True)}
        for card in sorted(gpus(), key=lambda card: card.name):
            if card.id not in known:
                action = menu.addAction(card.name)
                action.triggered.connect(lambda _=False, name=card.id: self.chosen.emit(name))
        if menu.isEmpty():
            menu.addAction("Every GPU is a candidate").setEnabled(False)
