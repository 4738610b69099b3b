"""What the explorer asks the simulator about one scenario, ready to be drawn; without torch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from app.answers.figures import Totals, totals
from app.answers.subject import Subject, to_full_text
from simulator.analysis.regimes import Shift, next_shift
from simulator.analysis.sweep import sweep
from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE
from simulator.prediction import Prediction, Regime
from simulator.scenario.resolved import resolve
from simulator.scenario.scenario import Scenario, predict


@dataclass(frozen=True)
class Answer:
    """A scenario's prediction, its rates, and how long it took to find them."""

    scenario: Scenario
    prediction: Prediction
    subject: Subject
    totals: Totals
    took_s: float


def compute_answer(scenario: Scenario) -> Answer:
    """The answer; InputError where there is none, UntracedError where a trace is missing."""
    began = time.perf_counter()
    prediction = predict(scenario)
    subject = subject_of(scenario, prediction)
    rates = totals(prediction, subject)
    _ = prediction.memory  # is kept: found here, the window need not wait for it
    return Answer(scenario, prediction, subject, rates, time.perf_counter() - began)


def subject_of(scenario: Scenario, prediction: Prediction) -> Subject:
    """How to speak of a scenario that was predicted."""
    trace, ask = prediction.trace, resolve(scenario).ask
    batch, seq = batch_and_seq(scenario)
    if ask.saved:
        each = divmod(trace.tokens, trace.samples) if trace.tokens and trace.samples else (0, 1)
        batch, seq = trace.samples, each[0] if each[1] == 0 else None
    name = Path(ask.network).name if ask.saved or ".py:" in ask.network else ask.network
    name = name.partition(".")[0] if ask.saved else name
    words = tuple(to_full_text(applied) for applied in scenario.whatifs)
    forwards = max(1, trace.samples // batch) if batch else 1
    return Subject(trace, name, batch or trace.samples, seq, ask.dtype, words, forwards)


def batch_and_seq(scenario: Scenario) -> tuple[int | None, int | None]:
    """Batch and sequence as a scenario asks for them, or as the network takes them of itself."""
    ask = resolve(scenario).ask
    entry = CATALOGUE.get(ask.network)
    batch, seq = ask.batch, ask.seq
    if entry is not None and not ask.saved:
        batch, seq = batch or entry.batch, (seq or entry.seq) if entry.seq is not None else None
    return batch, seq


@dataclass(frozen=True)
class BatchRegimes:
    """The regimes along the batch: spans as (from, to, regime), and the next shift."""

    batch: int
    spans: tuple[tuple[float, float, str], ...]
    shift: Shift | None
    below: Shift | None

    def words(self, regime: str) -> tuple[str, str]:
        """What the batch has to be for another regime, and what lies the other way."""
        words: list[str] = []
        if self.shift is not None and self.shift.after is not None:
            words.append(f"{self.shift.after}-bound from {self.shift.first:,.0f}")
        if self.below is not None and self.below.after is not None:
            words.append(f"{self.below.after}-bound up to {self.below.first:,.0f}")
        most = self.spans[-1][1]
        if not words:
            return f"none: {regime}-bound", f"at every batch up to {most:,.0f}"
        first = words[0].capitalize()
        if len(words) > 1:
            return first, words[1]
        if self.shift is not None and self.shift.after is not None:
            return first, f"{regime}-bound below"
        return first, f"{regime}-bound above"


def batch_regimes(scenario: Scenario, batch: int) -> BatchRegimes | None:
    """Where the regime changes along the batch; None where the batch is fixed."""
    if scenario.trace_file is not None:
        return None
    most = max(1024, 4 * batch)
    values = sorted(
        {round(2 ** (i / 4)) for i in range(4 * most.bit_length()) if 2 ** (i / 4) <= most}
        | {1, batch, most}
    )
    found = sweep(scenario, {"batch": values})
    regimes: list[Regime | None] = [found.regime(row) for row in range(len(found))]
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
    """The first change of regime from a batch on, in the order of what is known; None where there
    is none."""
    rest = known[[value for value, _ in known].index(batch) :] if batch in dict(known) else ()
    for (last, before), (following, after) in pairwise(rest):
        if after != before:
            down = following < last
            try:
                return next_shift(scenario, "batch", start=last, down=down, limit=following)
            except InputError:
                return None
    return None
