"""Requests to the tracing process: one at a time, urgent ones first."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal
from shiboken6 import isValid

from app.explorer.background.tracer import Progress, TraceJob, encode
from app.time_left import TimeLeft
from simulator.errors import UntracedError
from simulator.scenario.gpu_class import modified_ns, traced_properties
from simulator.scenario.traces.families import COSTS, Axis

OnTraced = Callable[[str], None]
"""Called when a request ends, with "" or the reason why there is no trace."""


@dataclass
class _Request:
    need: UntracedError
    urgent: bool
    callbacks: list[OnTraced] = field(default_factory=list[OnTraced])
    traces: int = 0
    left: TimeLeft = field(default_factory=TimeLeft)

    def count(self, traces: int) -> None:
        """Record the number of finished traces."""
        self.traces = traces
        if self.traces <= self.expected:
            self.left.count(traces, self.expected)

    @property
    def expected(self) -> int:
        """The number of traces that fitting usually takes; 0 for a single trace."""
        along = self.need.line[0] if self.need.line else None
        axes: dict[str | None, frozenset[Axis]] = {
            "batch": frozenset(["batch"]),
            "seq": frozenset(["seq"]),
            "both": frozenset(["batch", "seq"]),
        }
        return COSTS[axes[along]] if along in axes else 0

    @property
    def count_text(self) -> str:
        """The traces so far: "7 of about 18 traces, about 3 s left, "."""
        if not self.traces:
            return ""
        if self.traces > self.expected:
            return f"{self.traces} trace{'s' if self.traces > 1 else ''}, "
        words = (f"{self.traces} of about {self.expected} traces", self.left.words())
        return ", ".join(filter(None, words)) + ", "


class Tracing(QObject):
    """The requests and the child process, which starts with the first request."""

    progressed = Signal()
    """The running request, or its progress, has changed."""

    def __init__(self, folder: str = "") -> None:
        super().__init__()
        self.folder = folder
        self.waiting: list[_Request] = []
        self.running: _Request | None = None
        self.started_s = 0.0
        self._number = 0
        self._child: QProcess | None = None
        self._rest = b""

    def request(self, need: UntracedError, urgent: bool, callback: OnTraced) -> None:
        """Request a trace, or trace families. An urgent request interrupts the tracing of families
        that are not urgent."""
        key = key_of(need)
        for request in [self.running, *self.waiting]:
            if request and key_of(request.need) == key:
                request.callbacks.append(callback)
                request.urgent |= urgent
                return
        self.waiting.append(_Request(need, urgent, [callback]))
        running = self.running
        if urgent and running and not running.urgent and running.need.line is not None:
            self._stop()
            self.waiting.append(running)
        self._next()

    def cancel(self) -> None:
        """Cancel all requests, without calling their callbacks."""
        self.waiting.clear()
        self._stop()
        self.progressed.emit()

    def drop(self, callback: OnTraced) -> None:
        """Remove a callback, and each waiting request that has no callback left."""
        for request in (*([self.running] if self.running else []), *self.waiting):
            request.callbacks = [each for each in request.callbacks if each is not callback]
            request.urgent &= bool(request.callbacks)
        self.waiting = [request for request in self.waiting if request.callbacks]

    @property
    def sentence(self) -> str:
        """The running request, for the status bar, or an empty string."""
        running = self.running
        if running is None:
            return ""
        name = Path(running.need.request.network).name
        elapsed = f"{time.monotonic() - self.started_s:.0f} s"
        if running.need.line is None:
            return f"tracing {name}, {elapsed}"
        return f"fitting how the time of {name} scales, {running.count_text}{elapsed}"

    def close(self) -> None:
        """End the child process."""
        self.waiting.clear()
        self._stop()

    def _next(self) -> None:
        if self.running or not self.waiting:
            self.progressed.emit()
            return
        self.waiting.sort(key=lambda request: not request.urgent)
        request = self.running = self.waiting.pop(0)
        self.started_s = time.monotonic()
        self._number += 1
        need = request.need
        self._process().write(encode(TraceJob(self._number, need.request, need.gpu, need.line)))
        self.progressed.emit()

    def _process(self) -> QProcess:
        if self._child is None:
            child = self._child = QProcess(self)
            self._rest = b""
            if self.folder:
                environment = QProcessEnvironment.systemEnvironment()
                environment.insert("RIDGEPOINT_TRACES", self.folder)
                child.setProcessEnvironment(environment)
            child.setProcessChannelMode(QProcess.ProcessChannelMode.ForwardedErrorChannel)
            child.readyReadStandardOutput.connect(self._read)
            child.finished.connect(lambda: self._ended(child))
            child.start(sys.executable, ["-m", "app.explorer.background.tracer"])
        return self._child

    def _read(self) -> None:
        if self._child is None:
            return
        data: Any = self._child.readAllStandardOutput()
        *lines, self._rest = (self._rest + bytes(data.data())).split(b"\n")
        for line in lines:
            progress = msgspec.json.decode(line, type=Progress)
            running = self.running
            if running is None or progress.number != self._number:
                continue
            if progress.traces:
                running.count(progress.traces)
            if progress.done or progress.refused:
                self._finish(progress.refused)
            else:
                self.progressed.emit()

    def _finish(self, reason: str) -> None:
        request, self.running = self.running, None
        for callback in request.callbacks if request else ():
            callback(reason)
        self._next()

    def _ended(self, child: QProcess) -> None:
        """Refuse the running request if the child ended unexpectedly. Qt also emits `finished` for
        a child that it destroys with this object, when the program ends during a trace."""
        if child is self._child and isValid(child):
            self._child = None
            child.deleteLater()
            if self.running:
                name = self.running.need.request.network
                self._finish(
                    f"the process that traced {name} ended unexpectedly, perhaps because memory "
                    "ran out; try a smaller batch or network"
                )

    def _stop(self) -> None:
        child, self._child, self.running = self._child, None, None
        if child is not None:
            child.kill()
            child.waitForFinished(500)
            child.deleteLater()


def key_of(need: UntracedError) -> tuple[Any, ...]:
    """A key that is the same for all requests for the same traces."""
    network = need.request.network
    return need.request, traced_properties(network, need.gpu), need.line, modified_ns(network)
