"""A scenario's prediction with the figures that the explorer shows; imports no torch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from app.answers.figures import Totals, totals
from app.answers.subject import Subject, dtype_of, to_full_text
from simulator.analysis.regimes import Shift, next_shift
from simulator.analysis.sweep import sweep
from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE
from simulator.prediction import Prediction, Regime
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif.shape import sizes


@dataclass(frozen=True)
class Answer:
    """A scenario's prediction and its rates; `took_s` is the time that predicting took."""

    scenario: Scenario
    prediction: Prediction
    subject: Subject
    totals: Totals
    took_s: float


def compute_answer(scenario: Scenario) -> Answer:
    """Predict a scenario.

    Raises InputError if it cannot be predicted, UntracedError if a trace is missing.
    """
    began = time.perf_counter()
    prediction = predict(scenario)
    subject = subject_of(scenario, prediction)
    rates = totals(prediction, subject)
    _ = prediction.memory  # cached: computed here so that the window does not wait
    return Answer(scenario, prediction, subject, rates, time.perf_counter() - began)


def subject_of(scenario: Scenario, prediction: Prediction) -> Subject:
    """Build the subject of a predicted scenario: its name, sizes and what-ifs as shown."""
    trace, request = prediction.trace, resolve(scenario).request
    batch, seq = batch_and_seq(scenario)
    if request.saved:
        each = divmod(trace.tokens, trace.samples) if trace.tokens and trace.samples else (0, 1)
        batch, seq = trace.samples, each[0] if each[1] == 0 else None
    name = (
        Path(request.network).name
        if request.saved or ".py:" in request.network
        else request.network
    )
    name = name.partition(".")[0] if request.saved else name
    words = tuple(to_full_text(applied) for applied in scenario.whatifs)
    forwards = max(1, trace.samples // batch) if batch else 1
    return Subject(
        trace, name, batch or trace.samples, seq, dtype_of(request, trace), words, forwards
    )


def batch_and_seq(scenario: Scenario) -> tuple[int | None, int | None]:
    """Batch and sequence of a scenario, or the network's defaults."""
    request = resolve(scenario).request
    entry = CATALOGUE.get(request.network)
    batch, seq = request.batch, request.seq
    if entry is not None and not request.saved:
        batch, seq = batch or entry.batch, (seq or entry.seq) if entry.seq is not None else None
    return batch, seq


def positions(now: ResolvedScenario) -> int:
    """The longest sequence for which a network has positions; 0 if it is unlimited or unknown."""
    value = sizes(now).get("positions", 0)
    return value if isinstance(value, int) else 0


@dataclass(frozen=True)
class BatchRegimes:
    """The regimes along the batch axis: spans as (from, to, regime), and the shifts nearest to
    `batch`.
    """

    batch: int
    spans: tuple[tuple[float, float, str], ...]
    shift: Shift | None
    below: Shift | None

    def words(self, regime: str) -> tuple[str, str]:
        """The batch at which the regime changes, and the regime on the other side, as two texts."""
        words: list[str] = []
        if self.shift is not None and self.shift.after is not None:
            words.append(f"{self.shift.after}-bound from {self.shift.first:,.0f}")
        if self.below is not None and self.below.after is not None:
            words.append(f"{self.below.after}-bound up to {self.below.first:,.0f}")
        most = self.spans[-1][1]
        if not words:
            return "No shift", f"{regime}-bound up to batch {most:,.0f}"
        first = words[0].capitalize()
        if len(words) > 1:
            return first, words[1]
        if self.shift is not None and self.shift.after is not None:
            return first, f"{regime}-bound below"
        return first, f"{regime}-bound above"


def batch_regimes(scenario: Scenario, batch: int) -> BatchRegimes | None:
    """Find where the regime changes along the batch; None if a saved trace fixes the batch."""
    if scenario.trace_file is not None:
        return None
    most = max(1024, 4 * batch)
    values = sorted(
        {round(2 ** (i / 4)) for i in range(4 * most.bit_length()) if 2 ** (i / 4) <= most}
        | {1, batch, most}
    )
    swept = sweep(scenario, {"batch": values})
    regimes: list[Regime | None] = [swept.regime(row) for row in range(len(swept))]
    spans: list[tuple[float, float, str]] = []
    for value, regime in zip(values, regimes, strict=True):
        if regime is None:
            continue
        if spans and spans[-1][2] == regime:
            spans[-1] = (spans[-1][0], value, regime)
        else:
            spans.append((spans[-1][1] if spans else value, value, regime))
    known: list[tuple[int, Regime]] = [
        (value, regime) for value, regime in zip(values, regimes, strict=True) if regime is not None
    ]
    return BatchRegimes(
        batch, tuple(spans), _shift(scenario, batch, known), _shift(scenario, batch, known[::-1])
    )


def _shift(scenario: Scenario, batch: int, known: Sequence[tuple[int, Regime]]) -> Shift | None:
    """The first regime shift after a batch in the order of `known`, or None."""
    rest = known[[value for value, _ in known].index(batch) :] if batch in dict(known) else ()
    for (last, before), (following, after) in pairwise(rest):
        if after != before:
            down = following < last
            try:
                return next_shift(scenario, "batch", start=last, down=down, limit=following)
            except InputError:
                return None
    return None
