"""What is wanted of the process that traces: one request at a time, the urgent ones first."""

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

from app.explorer.background.tracer import Said, Wanted, encoded
from simulator.errors import UntracedError
from simulator.scenario.gpu_class import content, seen

Told = Callable[[str], None]
"""Called when a request is over, with "" or with the reason why there is no trace."""


@dataclass
class _Request:
    need: UntracedError
    urgent: bool
    told: list[Told] = field(default_factory=list[Told])
    traces: int = 0


class Tracing(QObject):
    """Requests to the child process, which starts with the first of them."""

    moved = Signal()
    """What is under way has changed."""

    def __init__(self, folder: str = "") -> None:
        super().__init__()
        self.folder = folder
        self.waiting: list[_Request] = []
        self.under_way: _Request | None = None
        self.began = 0.0
        self._number = 0
        self._child: QProcess | None = None
        self._rest = b""

    def need(self, need: UntracedError, urgent: bool, told: Told) -> None:
        """Have a trace, or families, made. An urgent need does not wait for families that nobody
        waits for."""
        key = key_of(need)
        for each in [self.under_way, *self.waiting]:
            if each and key_of(each.need) == key:
                each.told.append(told)
                each.urgent |= urgent
                return
        request = _Request(need, urgent, [told])
        self.waiting.append(request)
        now = self.under_way
        if urgent and now and not now.urgent and now.need.line is not None:
            self._stop()
            self.waiting.append(now)
        self._next()

    def cancel(self) -> None:
        """Give up all that is under way or waits; nobody is told."""
        self.waiting.clear()
        self._stop()
        self.moved.emit()

    def drop(self, told: Told) -> None:
        """One who waited waits no more; what nobody waits for is not begun."""
        for each in (*([self.under_way] if self.under_way else []), *self.waiting):
            each.told = [other for other in each.told if other is not told]
            each.urgent &= bool(each.told)
        self.waiting = [each for each in self.waiting if each.told]

    @property
    def sentence(self) -> str:
        """What is under way, for the status bar; "" where nothing is."""
        now = self.under_way
        if now is None:
            return ""
        what = "tracing" if now.need.line is None else "learning how it scales:"
        count = f", {now.traces} traces" if now.need.line is not None and now.traces else ""
        name, so_far_s = Path(now.need.ask.network).name, time.monotonic() - self.began
        return f"{what} {name}{count}, {so_far_s:.0f} s"

    def close(self) -> None:
        """End the child."""
        self.waiting.clear()
        self._stop()

    def _next(self) -> None:
        if self.under_way or not self.waiting:
            self.moved.emit()
            return
        self.waiting.sort(key=lambda request: not request.urgent)
        now = self.under_way = self.waiting.pop(0)
        self.began = time.monotonic()
        self._number += 1
        wanted = Wanted(self._number, now.need.ask, now.need.gpu, now.need.line)
        self._process().write(encoded(wanted))
        self.moved.emit()

    def _process(self) -> QProcess:
        if self._child is None:
            child = self._child = QProcess(self)
            self._rest = b""
            if self.folder:
                places = QProcessEnvironment.systemEnvironment()
                places.insert("RIDGEPOINT_TRACES", self.folder)
                child.setProcessEnvironment(places)
            child.setProcessChannelMode(QProcess.ProcessChannelMode.ForwardedErrorChannel)
            child.readyReadStandardOutput.connect(self._read)
            child.finished.connect(lambda *_, ended=child: self._ended(ended))
            child.start(sys.executable, ["-m", "app.explorer.background.tracer"])
        return self._child

    def _read(self) -> None:
        if self._child is None:
            return
        data: Any = self._child.readAllStandardOutput()
        *lines, self._rest = (self._rest + bytes(data.data())).split(b"\n")
        for line in lines:
            said = msgspec.json.decode(line, type=Said)
            now = self.under_way
            if now is None or said.number != self._number:
                continue
            now.traces = said.traces or now.traces
            if said.done or said.refused:
                self._over(said.refused)
            else:
                self.moved.emit()

    def _over(self, reason: str) -> None:
        now, self.under_way = self.under_way, None
        for told in now.told if now else ():
            told(reason)
        self._next()

    def _ended(self, child: QProcess) -> None:
        """The child died by itself: what it worked on has no trace. Qt says so too of a child that
        it destroys with this object, when a program ends in the middle of a trace."""
        if child is self._child and isValid(child):
            self._child = None
            child.deleteLater()
            if self.under_way:
                name = self.under_way.need.ask.network
                self._over(
                    f"the process that traced {name} ended: expected it to go on, perhaps memory "
                    "ran out; try a smaller batch or network"
                )

    def _stop(self) -> None:
        child, self._child, self.under_way = self._child, None, None
        if child is not None:
            child.kill()
            child.waitForFinished(500)
            child.deleteLater()


def key_of(need: UntracedError) -> tuple[Any, ...]:
    """Equal for needs of the same."""
    network = need.ask.network
    return need.ask, seen(network, need.gpu), need.line, content(network)
