"""The host's work in a traced step, and the parts of a process that do not count as such."""

from __future__ import annotations

import sys
from operator import sub
from typing import Any, NamedTuple, Protocol

_CAN_PAUSE = sys.version_info < (3, 12)
"""Since Python 3.12, setting a profile function instruments all code again."""


class HostCounts(NamedTuple):
    """The host's work so far; the fields and their order are those of `Op` and `COUNTED`."""

    python_calls: int = 0
    module_calls: int = 0
    autograd_nodes: int = 0
    instructions: int = 0
    cold_instructions: int = 0
    attributes: int = 0
    c_calls: int = 0

    def since(self, before: HostCounts) -> HostCounts:
        """The difference from earlier counts."""
        return HostCounts(*map(sub, self, before))


class Counts(Protocol):
    """Counts Python's events with the profile function `on_event`, unless it is busy."""

    busy: bool
    on_event: Any


class NotCounting:
    """A context whose Python is not counted; Python's profiler is off where that is fast."""

    __slots__ = ("_paused", "_recorder", "_was_busy")

    def __init__(self, recorder: Counts) -> None:
        self._recorder = recorder
        self._was_busy = False
        self._paused: Any = None

    def __enter__(self) -> None:
        recorder = self._recorder
        self._was_busy, recorder.busy = recorder.busy, True
        if _CAN_PAUSE and recorder.on_event is not None and sys.getprofile() is recorder.on_event:
            self._paused = recorder.on_event
            sys.setprofile(None)

    def __exit__(self, *error: object) -> None:
        if self._paused is not None:
            sys.setprofile(self._paused)
        self._recorder.busy = self._was_busy
