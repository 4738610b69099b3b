"""Profiler traces: read in the background, and overlaid on the scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from app.answers.answer import Answer, compute_answer
from app.answers.changes import with_field
from app.explorer.background.answering import Answering
from app.explorer.background.worker import SLOW
from app.explorer.files.banner import Banner
from app.explorer.state.session import LETTERS, Session
from app.quantities import percent, seconds
from simulator.errors import RidgepointError
from simulator.scenario.scenario import Scenario

if TYPE_CHECKING:
    from simulator.measured.overlay import Overlay, Pair
    from simulator.measured.profiler_trace import ProfiledStep

_KEY = "opened trace"
_LEAST_SHARE = 0.5
"""Minimum share of the scenario's ops that are in the trace, and of the trace's kernel time in
these ops. Below either, the trace belongs to another step."""
_LARGEST_RATIO = 2.0
"""Largest ratio of predicted and measured time without a hint that the sizes may differ: most
traces record no shapes."""


@dataclass(frozen=True)
class _OtherStep:
    """A step that the trace may measure: the scenario at an index, or, without one, the current
    scenario in its other phase."""

    words: str
    scenario: Scenario
    answer: Answer | None = None
    place: int | None = None


@dataclass(frozen=True)
class _Mismatch:
    """A trace that belongs to another step, and that step if it is known."""

    overlay: Overlay
    other: _OtherStep | None


class MeasuredFiles:
    """Overlays a trace on the current scenario.

    If it cannot be read, or belongs to another step, the banner shows why, and the previous trace
    is kept. `on_end` gets each path, and whether the file was opened.
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
        # imported when first needed, as below, to start faster
        from simulator.measured.overlay import overlay
        from simulator.measured.profiler_trace import read

        answer, others = self.answering.answer, self._others()

        def work(_: object) -> ProfiledStep | Overlay | _Mismatch:
            step = read(path)
            if answer is None:
                return step
            measured = overlay(answer.prediction, step)
            if _matches(measured):
                return measured
            candidates = [*others, *_at_measured_batch(measured, answer)]
            return _Mismatch(measured, _matching(candidates, step))

        def done(measured: ProfiledStep | Overlay | _Mismatch) -> None:
            if isinstance(measured, _Mismatch):
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
        from simulator.measured.overlay import Overlay  # late, for a fast start

        words = f"Overlaid {path.name}; the Measured view compares the two"
        if isinstance(measured, Overlay):
            words = f"Overlaid {path.name}: {_times(measured)}"
        self.banner.say(words, about="file", wrong=False)

    def _others(self) -> list[_OtherStep]:
        """The other scenarios, and the other phase of the current one."""
        state, answers = self.session.state, self.answering.answers
        others = [
            _OtherStep(f"Switch to {LETTERS[at]}", s, answers.get(s.key), at)
            for at, s in enumerate(side.scenario for side in state.sides)
            if at != state.current
        ]
        now, answer = state.scenario, self.answering.answer
        if answer is not None and now.trace_file is None:
            trains = answer.prediction.trace.phase == "training"
            phase = "inference" if trains else "training"
            changed = with_field(now, "training", None if trains else True)
            others.append(_OtherStep(f"Switch to the {phase} step", changed))
        return others

    def _switch(self, path: Path, other: _OtherStep) -> None:
        """Show the step that the trace measures, and overlay the trace."""
        if other.place is None:
            words = other.words[0].lower() + other.words[1:]
            self.session.set_scenario(other.scenario, words)
        elif [s.scenario for s in self.session.state.sides][other.place :][:1] == [other.scenario]:
            self.session.switch_to(other.place)
        else:
            return  # the scenario was changed or removed meanwhile
        self._overlay(path)

    def _refuse(self, path: Path, mismatch: _Mismatch) -> None:
        measured, other = mismatch.overlay, mismatch.other
        p, (ops, time) = measured.prediction, map(percent, _shares(measured))
        switch = {other.words: lambda: self._switch(path, other)} if other else {}
        words = _shape_words(measured) or (
            f"it contains {ops} of the ops of this "
            f"{p.trace.phase} step in mode {p.mode}, and {time} of its kernel time is in these "
            "ops; expected at least half of each; choose the network, step and mode of the "
            "measurement, and open the trace again"
        )
        self.banner.say(
            f"{path.name} seems to measure another step: {words}",
            about="file",
            offers={**switch, "Overlay anyway": lambda: self._overlay(path)},
        )


def _matches(measured: Overlay) -> bool:
    """Whether the trace measures the predicted step."""
    return min(_shares(measured)) >= _LEAST_SHARE and not _has_other_shapes(measured)


def _has_other_shapes(measured: Overlay) -> bool:
    """Whether most of the recorded shapes are not those of the predicted step."""
    others = measured.other_shapes()
    recorded = sum(1 for pair in measured.pairs if pair.measured.shapes)
    return others is not None and len(others) > (1 - _LEAST_SHARE) * recorded


def _shape_words(measured: Overlay) -> str:
    """The sentence about shapes of a trace whose ops match; "" if the ops do not match."""
    others = measured.other_shapes()
    if not others or min(_shares(measured)) < _LEAST_SHARE:
        return ""
    pair = others[0]
    there, here = _differing(measured, pair)
    return (
        f"{pair.measured.name} has a tensor of {'×'.join(map(str, there))} elements in the trace, "
        f"and of {'×'.join(map(str, here))} in this step; set the batch and sequence length of "
        "the measurement, and open the trace again"
    )


def _differing(measured: Overlay, pair: Pair) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The first recorded shape that the op does not have, and the op's shape in its place."""
    shapes = [tuple(t.shape) for t in measured.prediction.trace.ops[pair.op].inputs]
    there = next(shape for shape in pair.measured.shapes if shape not in shapes)
    free = [shape for shape in shapes if shape not in pair.measured.shapes] or [()]
    return there, next((shape for shape in free if len(shape) == len(there)), free[0])


def _at_measured_batch(measured: Overlay, answer: Answer) -> list[_OtherStep]:
    """The current scenario at the batch of the recorded shapes, if they differ in the batch only;
    whether they do is known after a prediction."""
    batches: set[int] = set()
    for pair in (measured.other_shapes() or ())[:1]:
        there, here = _differing(measured, pair)
        size = answer.subject.batch * prod(there)
        if here and size % prod(here) == 0:
            batches.add(size // prod(here))
    return [
        _OtherStep(f"Switch to batch {batch}", with_field(answer.scenario, "batch", batch))
        for batch in batches
        if answer.scenario.trace_file is None
    ]


def _times(measured: Overlay) -> str:
    """The times of a matching trace; a large difference may be that of another step."""
    predicted_s, measured_s = measured.prediction.gpu_busy_s, measured.step.gpu_busy_s
    ratio = predicted_s / measured_s if measured_s else 1.0
    check = "; check that batch, sequence length and precision are those of the measurement"
    return (
        f"GPU busy {seconds(measured_s)} measured, {seconds(predicted_s)} predicted; "
        f"{percent(_shares(measured)[1])} of the measured time is in ops of this step"
        + ("" if 1 / _LARGEST_RATIO < ratio < _LARGEST_RATIO else check)
    )


def _matching(others: list[_OtherStep], step: ProfiledStep) -> _OtherStep | None:
    """The step that matches the trace best, or None if no step matches."""
    from simulator.measured.overlay import overlay  # late, for a fast start

    best: tuple[float, _OtherStep] | None = None
    for other in others:
        try:
            answer = other.answer or compute_answer(other.scenario)
        except RidgepointError:  # the network does not train, or does not fit its question
            continue
        measured = overlay(answer.prediction, step)
        if _matches(measured) and (best is None or min(_shares(measured)) > best[0]):
            best = min(_shares(measured)), other
    return best[1] if best else None


def _shares(measured: Overlay) -> tuple[float, float]:
    """The share of the scenario's launching ops that are in the trace, and the share of the trace's
    kernel time in these ops."""
    ops = len(measured.pairs) + len(measured.only_predicted)
    return len(measured.pairs) / max(1, ops), measured.matched_share
