"""A profiler's trace that is opened: read in the background, and held against the scenario."""

from __future__ import annotations

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
"""Of the scenario's ops, in the trace, and of the trace's kernels' time, in these ops: less of one
of them is another step."""


class MeasuredFiles:
    """Lays a trace over the scenario that is worked on. One that cannot be read, or is of another
    step, is in the banner, and the trace before stays."""

    def __init__(self, session: Session, answering: Answering, banner: Banner) -> None:
        self.session, self.answering, self.banner = session, answering, banner

    def open(self, path: Path) -> None:
        """Read a trace, and lay it over the scenario where it is one of its steps."""
        answer = self.answering.answer

        def work(_: object) -> ProfiledStep | Overlay:
            step = read(path)
            return step if answer is None else overlay(answer.prediction, step)

        def done(found: ProfiledStep | Overlay) -> None:
            if isinstance(found, Overlay) and min(_shares(found)) < _LEAST_SHARE:
                self._refuse(path, found)
            else:
                self.session.measure(str(path))

        self.answering.worker.ask(_KEY, work, done, lambda error: self.banner.say(str(error)), SLOW)

    def _refuse(self, path: Path, found: Overlay) -> None:
        p, (ops, time) = found.prediction, map(percent, _shares(found))
        self.banner.say(
            f"{path.name} is of another step: it has {ops} of the ops of this {p.trace.phase} in "
            f"mode {p.mode}, and {time} of its kernels' time is in these; expected half or more of "
            "both; choose the network, step and mode that were measured, and open it again",
            offers={"Lay it over": lambda: self.session.measure(str(path))},
        )


def _shares(found: Overlay) -> tuple[float, float]:
    """Of the scenario's ops that launch, those in the trace; of the trace's time, what is in
    them."""
    ops = len(found.pairs) + len(found.only_predicted)
    return len(found.pairs) / max(1, ops), found.matched_share
