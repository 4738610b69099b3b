"""The outcome of comparing a prediction with a measurement, and summaries of many outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Outcome:
    """One figure of one case.

    `ratio` is predicted over measured. `covered` is whether the measured value lies in the
    prediction's interval (None if the figure has no interval). An error of at most `spread`, the
    variation of the measurement between runs, counts as 0. `flops` and `bytes` are per call."""

    case: str
    group: str
    figure: str
    ratio: float
    covered: bool | None = None
    spread: float = 0.0
    measured_s: float | None = None
    flops: int = 0
    bytes: int = 0

    @property
    def error(self) -> float:
        off = abs(self.ratio - 1)
        return 0.0 if off <= self.spread else off


@dataclass(frozen=True)
class Summary:
    """A summary of outcomes: their number, the median and 90th percentile of the error, the bias of
    the median, and the share of measured values inside the interval (NaN without intervals)."""

    group: str
    figure: str
    cases: int
    median: float
    p90: float
    bias: float
    covered: float

    def cells(self) -> tuple[str, ...]:
        """The cells of the summary's row in `table`."""
        inside = "" if np.isnan(self.covered) else f"{self.covered:.0%}"
        return (
            self.group,
            self.figure,
            str(self.cases),
            f"{self.median:.1%}",
            f"{self.p90:.1%}",
            f"{self.bias:+.1%}",
            inside,
        )


def summarised(group: str, figure: str, each: Iterable[Outcome]) -> Summary:
    """Summarise outcomes of one kind."""
    each = list(each)
    inside = [o.covered for o in each if o.covered is not None]
    off = [o.error for o in each]
    return Summary(
        group,
        figure,
        len(each),
        float(np.median(off)),
        float(np.quantile(off, 0.9)),
        float(np.median([o.ratio for o in each]) - 1),
        float(np.mean(inside)) if inside else float("nan"),
    )


def summary(outcomes: Iterable[Outcome]) -> list[Summary]:
    """Summaries by group and figure, in order of first appearance."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.group, outcome.figure), []).append(outcome)
    return [summarised(*kind, each) for kind, each in groups.items()]


def table(summaries: Iterable[Summary]) -> str:
    """Summaries as a Markdown table."""
    head = ("what", "figure", "cases", "median error", "p90", "bias", "in the 80% interval")
    rows = [head, ("---",) * len(head), *(each.cells() for each in summaries)]
    return "\n".join(f"| {' | '.join(row)} |".replace("| --- ", "|---") for row in rows).replace(
        "|--- |", "|---|"
    )
