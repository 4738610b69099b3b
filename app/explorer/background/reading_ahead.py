"""Reads files in the background before a page needs them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.explorer.background.worker import PLAN, Worker, later

_AHEAD_MS = 1200
"""Delay after the start: the first prediction comes sooner."""


def read_ahead(worker: Worker, key: str, read: Callable[[], object], parent: QObject) -> None:
    """Call `read` in a thread soon after the start. It caches what it reads, so that the page that
    needs it opens without a stall; that page also reports errors in the files."""

    def ask() -> None:
        worker.ask(key, lambda _: read(), lambda _: None, lane=PLAN, background=True)

    later(_AHEAD_MS, ask, parent).start()
