"""The contents of a scenario's card, and which of them are kept while a prediction runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from app.answers.answer import Answer
from app.quantities import change
from app.report.comparisons.ratios import per_sample, sample_s


@dataclass(frozen=True)
class Shown:
    """The contents of a card: `answer` is None before a prediction or if it failed for `reason`;
    `baseline` is the answer of A, which `baseline_waits` for if it is None. A `stale` answer or
    baseline is older than the scenario or the network's file."""

    letter: str
    name: str
    current: bool
    answer: Answer | None
    baseline: Answer | None
    reason: str = ""
    stale: bool = False
    baseline_waits: bool = False

    def after(self, before: Shown | None) -> Shown:
        """The contents to draw: figures that are being computed keep their last value, marked as
        stale."""
        if before is None or before.name != self.name:
            return self
        drawn = self
        if self.answer is None and before.answer is not None and not self.reason:
            drawn = replace(drawn, answer=before.answer, stale=True)
        if self.baseline_waits and before.baseline is not None:
            drawn = replace(drawn, baseline=before.baseline, stale=True)
        return drawn

    def changed(self) -> str:
        """The change against A, per item if the batches differ; empty if either is unknown."""
        if self.answer is None or self.baseline is None:
            return ""
        if self.letter == "A":
            return "baseline"
        base, variant = self.baseline.prediction, self.answer.prediction
        if per_sample((base, variant)):
            return f"{change(sample_s(base), sample_s(variant))} per item"
        return change(base.period_s, variant.period_s)


def paint_alike(one: Shown, other: Shown) -> bool:
    """Whether a card looks the same with both contents, apart from the dimming."""
    same = one.answer is other.answer and one.baseline is other.baseline
    texts = [(s.letter, s.name, s.current, s.reason) for s in (one, other)]
    return same and texts[0] == texts[1]
