"""The time that running work still needs, estimated from its own counts.

    left = TimeLeft()
    left.count(12, 64)
    left.words()            # "" or "about 4 s left"
    left.with_text("predicting 12 of 64 points")   # "predicting 12 of 64 points, about 4 s left"

Work in a thread reports through `RUNNING`, which the thread's owner sets.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

_COUNTS, _SHARE, _SECONDS = 3, 0.05, 0.5
"""Minimum progress before there is an estimate: counts, share of the total, and seconds."""
_COUNT = re.compile(r"(\d[\d,]*) of (\d[\d,]*)")


@dataclass
class TimeLeft:
    """An estimate from the pace since the first count. A total that changes, or a count that falls,
    begins a new stage, whose pace is measured separately."""

    clock: Callable[[], float] = time.monotonic
    done: int = 0
    total: int = 0
    _first: tuple[float, int] = (0.0, 0)
    _last_s: float = 0.0
    _counts: int = 0

    def count(self, done: int, total: int) -> None:
        """Record that `done` of `total` steps are done."""
        now_s = self.clock()
        if total != self.total or done < self.done:
            self._first, self._counts = (now_s, done), 0
        elif done == self.done:
            return
        else:
            self._counts += 1
        self.done, self.total, self._last_s = done, total, now_s

    def seconds(self) -> float | None:
        """The seconds left; None if there is too little progress for an estimate. Counts may come
        in steps of many items; a step that takes longer than the earlier ones slows the pace."""
        first_s, first = self._first
        items, missing = self.done - first, self.total - self.done
        took_s, since_s = self._last_s - first_s, self.clock() - self._last_s
        enough = self._counts >= _COUNTS and items >= _SHARE * self.total
        if not enough or took_s < _SECONDS or missing <= 0:
            return None
        step_s, steps_left = took_s / self._counts, missing * self._counts / items
        if since_s <= step_s:
            return max(step_s * steps_left - since_s, 0)
        return (took_s + since_s) / (self._counts + 1) * max(steps_left - 1, 0)

    def words(self) -> str:
        """The estimate as text, or "" without an estimate."""
        left_s = self.seconds()
        return f"about {_rounded(left_s)} left" if left_s else ""

    def with_text(self, text: str) -> str:
        """A text that may hold a count ("12 of 64"), followed by the estimate if there is one."""
        counted = _COUNT.search(text)
        if counted is None:
            self.total = self.done = 0
            return text
        done, total = (int(number.replace(",", "")) for number in counted.groups())
        self.count(done, total)
        return ", ".join(filter(None, (text, self.words())))


@dataclass
class Running:
    """The report of a running job: its count, and partial results.

    `show` passes a partial result on; it must be callable from any thread."""

    left: TimeLeft = field(default_factory=TimeLeft)
    items: str = ""
    show: Callable[[Any], None] = lambda part: None

    def count(self, done: int, total: int, items: str) -> None:
        """Record that `done` of `total` items are done."""
        self.left.count(done, total)
        self.items = items

    @property
    def text(self) -> str:
        """The count with the estimate: "12 of 64 points, about 4 s left"; "" if there is no
        count."""
        left = self.left
        if not left.total:
            return ""
        count = f"{left.done:,} of {left.total:,} {self.items}"
        return ", ".join(filter(None, (count, left.words())))


RUNNING: ContextVar[Running | None] = ContextVar("running", default=None)
"""The report of the job that runs in this thread."""


def running() -> Running:
    """The report of the job that runs in this thread; outside a job, a report that is not read."""
    return RUNNING.get() or Running()


def _rounded(left_s: float) -> str:
    """Seconds as text with the precision of an estimate: 1 s below 10, 5 s below a minute."""
    if left_s < 9.5:
        return f"{max(1, round(left_s))} s"
    if left_s < 57.5:
        return f"{5 * round(left_s / 5)} s"
    if left_s < 59.5 * 60:
        return f"{max(1, round(left_s / 60))} min"
    return f"{left_s / 3600:.1f} h"
