"""Collects cyclic garbage only in the window's thread.

CPython collects in whichever thread allocates the object that exceeds a threshold. A cycle may
hold widgets, dialogs and timers, which Qt lets only the window's thread delete: a collection in a
worker thread ends in a segmentation fault.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

_INTERVAL_MS = 200


class Collector(QObject):
    """Replaces automatic collection from construction until `close`.

    Construct it in the window's thread, whose event loop runs it.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._was_enabled = gc.isenabled()
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    def collect(self) -> None:
        """Collect the oldest generation that exceeds its threshold, if any."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if counts[generation] > thresholds[generation]:
                gc.collect(generation)
                return

    def close(self) -> None:
        """Turn automatic collection on again. The worker threads must have ended."""
        self._timer.stop()
        if self._was_enabled:
            gc.enable()
