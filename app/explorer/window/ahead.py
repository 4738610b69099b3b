"""Prepares the hidden pages of a new window in short steps, once its first prediction is shown."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.explorer.background.worker import later
from app.explorer.window.pages.pages import READ_AHEAD

if TYPE_CHECKING:
    from app.explorer.docks.workspaces import Docks
    from app.explorer.window.window import Window
    from app.views.catalogue import Offered

_FIRST_MS, _STEP_MS, _CALM_MS = 700, 40, 400
"""Delays before the first step, and between two steps, so that the window can respond; and after a
change by the user, which others may follow: a step takes several frames of a slider's drag."""


class Ahead(QObject):
    """Places and styles the panels of hidden workspaces, and creates their pages and views. A page
    that the user opens earlier prepares itself."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.window_ = window
        self._steps = deque[Callable[[], object]]()
        for name, docks in window.workspaces.docks.items():
            self._steps.append(partial(self._prepare, docks))
            self._steps.append(partial(window.pages.create, name))
            for offered in window.panels.panels:
                if offered.workspace == name:
                    self._steps.append(partial(self._load, offered))
                    self._steps.append(partial(window.panels.create, offered))
        self._next = later(_STEP_MS, self._step, self)
        window.answering.answers_changed.connect(self._begin)

    @property
    def is_done(self) -> bool:
        """Whether all pages are prepared."""
        return not self._steps

    def _begin(self) -> None:
        self.window_.answering.answers_changed.disconnect(self._begin)
        self._next.start(_FIRST_MS)
        self.window_.session.changed.connect(self._wait)

    def _wait(self) -> None:
        if self._steps:
            self._next.start(max(_CALM_MS, self._next.remainingTime()))

    def _step(self) -> None:
        window = self.window_
        # a step would delay the answer of a moved slider, or read files itself
        if window.answering.waiting or window.worker.busy(*READ_AHEAD):
            self._next.start(_STEP_MS)
        elif self._steps:
            self._steps.popleft()()
            self._next.start(_STEP_MS)

    def _load(self, offered: Offered) -> None:
        if offered not in self.window_.panels.views:
            offered.kind()

    def _prepare(self, docks: Docks) -> None:
        docks.arrange()
        self.window_.styling.finish(docks)
