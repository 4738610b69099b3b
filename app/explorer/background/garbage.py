"""Collects cyclic garbage only in the window's thread, keeps one heap for all threads, and returns
free memory to the system.

CPython collects in whichever thread allocates the object that exceeds a threshold. A cycle may
hold widgets, dialogs and timers, which Qt lets only the window's thread delete: a collection in a
worker thread ends in a segmentation fault.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from simulator.caches.garbage import of_libc, return_memory

_INTERVAL_MS = 200
_THRESHOLDS = 700, 10, 10
"""Python's default thresholds. The commands set higher ones; with those, a window that runs for
hours would keep up to 200,000 dead objects with their arrays."""
_PATIENCE_S = 2.0
"""For how long a collection waits while the user waits for a prediction."""
_RETURN_MS = 30_000
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # numbers of options in malloc.h
_LARGE_BYTES = 256 << 10


class Collector(QObject):
    """Replaces automatic collection from construction until `close`.

    Construct it in the window's thread, whose event loop runs it. After its first full collection
    it leaves out the objects that are alive then, the modules and the window: a full collection
    visits 90,000 of them in 60 ms, and takes 3 ms without them. It waits for at most 2 s while
    `awaited` is true.
    """

    def __init__(self, parent: QObject, awaited: Callable[[], bool] = lambda: False) -> None:
        super().__init__(parent)
        self._awaited, self._last_s = awaited, time.monotonic()
        self._was_enabled, self._left_out = gc.isenabled(), False
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()
        self._returning = QTimer(self)
        self._returning.setInterval(_RETURN_MS)
        self._returning.timeout.connect(return_memory)
        self._returning.start()

    def collect(self) -> None:
        """Collect the oldest generation that exceeds its threshold, if any."""
        now_s = time.monotonic()
        if self._awaited() and now_s - self._last_s < _PATIENCE_S:
            return
        self._last_s = now_s
        counts = gc.get_count()
        for generation in (2, 1, 0):
            if counts[generation] > _THRESHOLDS[generation]:
                gc.collect(generation)
                if generation == 2 and not gc.get_freeze_count():
                    gc.freeze()
                    self._left_out = True
                return

    def close(self) -> None:
        """Turn automatic collection on again. The worker threads must have ended."""
        self._timer.stop()
        self._returning.stop()
        if self._left_out:
            gc.unfreeze()
        if self._was_enabled:
            gc.enable()


def keep_one_heap() -> None:
    """Put the small blocks of all threads into one heap, and map each large block by itself. Call
    this before threads start.

    By default the GNU C library makes a heap for each thread, and after a large block was freed, it
    puts blocks of up to that size into the heaps (up to 32 MiB). The arrays of predictions then
    leave holes between small blocks: 8 of 228 MB after half an hour of slider events.
    """
    set_option = of_libc("mallopt")
    if set_option is not None:
        set_option(_ARENA_MAX, 1)
        set_option(_MMAP_THRESHOLD, _LARGE_BYTES)
