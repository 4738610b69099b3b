"""Profiler traces: read in the background, and overlaid on the scenario."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.explorer.background.answering import Answering
from app.explorer.background.worker import SLOW
from app.explorer.files.banner import Banner
from app.explorer.state.session import Session
from app.quantities import percent
from simulator.measured.overlay import Overlay, overlay
from simulator.measured.profiler_trace import ProfiledStep, read

_KEY = "opened trace"
_LEAST_SHARE = 0.5
"""Minimum share of the scenario's ops that are in the trace, and of the trace's kernel time in
these ops. Below either, the trace belongs to another step."""


class MeasuredFiles:
    """Overlays a trace on the current scenario.

    If it cannot be read, or belongs to another step, the banner shows why, and the previous trace
    stays. `on_end` gets each path, and whether the file was opened.
    """

    def __init__(
        self,
        session: Session,
        answering: Answering,
        banner: Banner,
        on_end: Callable[[Path, bool], None],
    ) -> None:
        self.session, self.answering, self.banner = session, answering, banner
        self.on_end = on_end

    def open(self, path: Path) -> None:
        """Read a trace, and overlay it if it matches the scenario."""
        answer = self.answering.answer

        def work(_: object) -> ProfiledStep | Overlay:
            step = read(path)
            return step if answer is None else overlay(answer.prediction, step)

        def done(measured: ProfiledStep | Overlay) -> None:
            if isinstance(measured, Overlay) and min(_shares(measured)) < _LEAST_SHARE:
                self._refuse(path, measured)
            else:
                self._overlay(path)
                self._say_overlaid(path, measured)

        def failed(error: object) -> None:
            self.on_end(path, False)
            self.banner.say(str(error), about="file")

        self.answering.worker.ask(_KEY, work, done, failed, SLOW)

    def _overlay(self, path: Path) -> None:
        self.session.set_measured(str(path))
        self.on_end(path, True)

    def _say_overlaid(self, path: Path, measured: ProfiledStep | Overlay) -> None:
        share = ""
        if isinstance(measured, Overlay):
            share = f", {percent(_shares(measured)[1])} of whose kernel time is in ops of this step"
        self.banner.say(
            f"Overlaid {path.name}{share}; the Measured view compares the two",
            about="file",
            wrong=False,
        )

    def _refuse(self, path: Path, measured: Overlay) -> None:
        p, (ops, time) = measured.prediction, map(percent, _shares(measured))
        self.banner.say(
            f"{path.name} seems to measure another step: it contains {ops} of the ops of this "
            f"{p.trace.phase} step in mode {p.mode}, and {time} of its kernel time is in these "
            "ops; expected at least half of each; choose the network, step and mode of the "
            "measurement, and open the trace again",
            about="file",
            offers={"Overlay anyway": lambda: self._overlay(path)},
        )


def _shares(measured: Overlay) -> tuple[float, float]:
    """The share of the scenario's launching ops that are in the trace, and the share of the trace's
    kernel time in these ops."""
    ops = len(measured.pairs) + len(measured.only_predicted)
    return len(measured.pairs) / max(1, ops), measured.matched_share
