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
from typing import ClassVar

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtGui import QGuiApplication

from simulator.caches.garbage import of_libc, return_memory

_INTERVAL_MS = 200
_THRESHOLDS = 700, 10, 10
"""Python's default thresholds. The commands set higher ones; with those, a window that runs for
hours would keep up to 200,000 dead objects with their arrays."""
_FULL_S = 60.0
"""Longest time between two full collections. At one event a second, the number of allocations alone
would start one after 20 minutes. Until then, objects that died after a younger collection keep
their arrays in memory."""
_CALM_TICKS = 3
"""Number of idle ticks before such a collection, which takes about 10 ms: by then the user is not
dragging a slider."""
_IDLE_TICKS, _DEEP_S = 150, 600.0
"""Number of idle ticks before a search of all objects, and the shortest time between two such
searches. A search may take 800 ms, so it starts only while another program has the focus."""
_MOST_OBJECTS = 50_000
"""Maximum number of objects to search while the user may act; 90,000 take 60 ms or more."""
_PATIENCE_S, _OLDER_PATIENCE_S = 2.0, 10.0
"""Longest delays of a collection while the user waits for a prediction or drags a slider: of the
youngest objects (1 to 5 ms), and of older ones too (10 ms, a frame of the drag)."""
_RETURN_MS = 30_000
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # numbers of options in malloc.h
_LARGE_BYTES = 256 << 10


class Collector(QObject):
    """Replaces automatic collection from construction until `close`.

    Construct it in the window's thread, whose event loop runs it. Each full collection leaves out
    the objects that were alive at construction or survived an earlier one, such as modules, the
    window and caches. Full collections run after many allocations, and once a minute while the user
    waits for nothing. More than `_MOST_OBJECTS` new objects, as after the start, are left out
    without a search, which would freeze the window for a moment. Objects that were left out are
    searched when the user has been `away` and waited for nothing for 30 s. While `awaited` is true
    or predictions are requested, a collection of the youngest objects waits for at most 2 s, one
    of older objects for at most 10 s.
    """

    _leaving_out: ClassVar[int] = 0
    """Number of open collectors that leave out objects."""

    def __init__(
        self,
        parent: QObject,
        awaited: Callable[[], bool] = lambda: False,
        away: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(parent)
        self._awaited, self._calm_ticks = awaited, 0
        self._away, self._away_ticks = away, 0
        self._last_s = self._last_older_s = time.monotonic()
        self._last_full_s = self._last_deep_s = self._last_s
        self._was_enabled, self._leaves_out = gc.isenabled(), not gc.get_freeze_count()
        gc.disable()
        if self._leaves_out:
            Collector._leaving_out += 1
            gc.freeze()
        self._timer = QTimer(self)
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()
        self._returning = QTimer(self)
        self._returning.setInterval(_RETURN_MS)
        self._returning.timeout.connect(return_memory)
        self._returning.start()

    def postpone(self) -> None:
        """Postpone collections: the user requests a prediction, which may end before the next
        tick."""
        self._calm_ticks = -1  # the next tick is not calm

    def collect(self) -> None:
        """Collect the oldest generation that exceeds its threshold, if any; all generations if new
        objects have waited for a minute."""
        now_s = time.monotonic()
        awaited = self._awaited()
        self._calm_ticks = 0 if awaited else self._calm_ticks + 1
        self._away_ticks = self._away_ticks + 1 if not awaited and self._away() else 0
        is_calm = self._calm_ticks > 0
        if not is_calm and now_s - self._last_s < _PATIENCE_S:
            return
        self._last_s = now_s
        with_older = is_calm or now_s - self._last_older_s >= _OLDER_PATIENCE_S
        if with_older:
            self._last_older_s = now_s
        young, *older = counts = gc.get_count()
        is_due = now_s - self._last_full_s >= _FULL_S and self._calm_ticks >= _CALM_TICKS
        if is_due and (young > _THRESHOLDS[0] or any(older)):
            self._collect_all(now_s)
            return
        for generation in (2, 1, 0) if with_older else (0,):
            if counts[generation] > _THRESHOLDS[generation]:
                if generation == 2:
                    self._collect_all(now_s)
                else:
                    self._search(generation)
                return

    def _collect_all(self, now_s: float) -> None:
        is_idle = self._away_ticks >= _IDLE_TICKS and now_s - self._last_deep_s >= _DEEP_S
        self._last_full_s = now_s
        if self._leaves_out and is_idle:
            self._last_deep_s = now_s
            gc.unfreeze()
            gc.collect(2)
        else:
            self._search(2)
        if self._leaves_out:
            gc.freeze()

    def _search(self, generation: int) -> None:
        """Collect a generation and the younger ones, or leave out all objects if these are too
        many."""
        if self._leaves_out and count_objects(generation) > _MOST_OBJECTS:
            gc.freeze()
        else:
            gc.collect(generation)

    def close(self) -> None:
        """Turn automatic collection on again. The worker threads must have ended.

        Also search all objects in the next collection: the collector of another window may have
        left out those of the window that is closed, which would then never be freed."""
        self._timer.stop()
        self._returning.stop()
        if Collector._leaving_out:
            gc.unfreeze()
        Collector._leaving_out -= self._leaves_out
        self._leaves_out = False
        if self._was_enabled:
            gc.enable()


def count_objects(generation: int) -> int:
    """The number of objects in a generation and the younger ones.

    No bytecode runs between `get_objects`, which refers to all objects, and the deletion of its
    list: another thread would otherwise run while the tuple that it builds from an iterator has a
    second reference, and `tuple` raises SystemError then."""
    return sum(map(len, map(gc.get_objects, range(generation + 1))))


def another_program_has_focus() -> bool:
    """Whether another program, or none, has the focus."""
    return QGuiApplication.applicationState() != Qt.ApplicationState.ApplicationActive


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
