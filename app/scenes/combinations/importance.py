"""The share of a figure's spread over combinations that each axis explains.

The share of an axis is its first-order index S = V(E(Y | X)) / V(Y) (I. M. Sobol', Mathematical
Modelling and Computational Experiment 1, 1993; A. Saltelli et al., Global Sensitivity Analysis,
2008, section 1.2.2), estimated by sums of squares between the values of the axis (the correlation
ratio η² of R. A. Fisher):

    S = sum over values x of n(x) · (mean of y at x − mean of y)²
        / sum over rows of (y − mean of y)²

y is the logarithm of a figure, because the axes multiply times and rates; the shares of regimes are
used as they are. If every combination is present once, the indices add up to at most 1, and the
remainder is due to interactions between axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from app.scenes.combinations.table import CombinationColumn, CombinationTable
from app.scenes.pixel_scale import Floats

_FLAT = 1e-18
"""A figure counts as constant if the variance of its logarithm is below this: relative differences
of up to 1e-9."""


@dataclass(frozen=True)
class Importance:
    """The shares of the axes, by the name of the axis, in the spread of `figure`; empty if the
    figure is constant. `together` is the share of interactions, None if combinations are
    missing."""

    figure: str
    shares: dict[str, float]
    together: float | None = None

    @property
    def words(self) -> str:
        """The shares from the largest: "GPU 61%, Batch 20%, several axes together 3%"."""
        ordered = sorted(self.shares.items(), key=lambda item: -item[1])
        parts = [f"{name} {share:.0%}" for name, share in ordered]
        if self.together is not None:
            parts.append(f"several axes together {self.together:.0%}")
        return ", ".join(parts)


def explained(groups: NDArray[np.int64], values: Floats) -> float:
    """The share of the variance of `values` between the groups; 0 for constant values."""
    spread = values - values.mean()
    total = float(spread @ spread)
    if total <= _FLAT * values.size:
        return 0.0
    counts = np.bincount(groups)
    sums = np.bincount(groups, spread)
    present = counts > 0
    return float((sums[present] ** 2 / counts[present]).sum() / total)


def importance(table: CombinationTable, figure: str, matching: NDArray[np.bool_]) -> Importance:
    """The share of each axis in the spread of a figure over the matching rows. An axis with one
    value left has no share."""
    column = next(c for c in table.columns if c.name == figure)
    rows = matching if column.share else matching & (column.values > 0)
    values = column.values[rows] if column.share else np.log(column.values[rows])
    axes = [(c.name, c.values[rows].astype(np.int64)) for c in table.columns if c.words]
    varied = [(name, at) for name, at in axes if np.unique(at).size > 1]
    if not values.size or float(np.var(values)) <= _FLAT:
        return Importance(figure, {})
    shares = {name: explained(at, values) for name, at in varied}
    complete = prod(np.unique(at).size for _, at in varied) == values.size
    together = max(0.0, 1 - sum(shares.values())) if complete and len(shares) > 1 else None
    return Importance(figure, shares, together)


@dataclass(frozen=True)
class GroupSummary:
    """The matching rows at one value of an axis: their number and the median of a figure."""

    value: int
    text: str
    count: int
    median: float
    median_text: str


def group_summaries(
    axis: CombinationColumn, figure: CombinationColumn, matching: NDArray[np.bool_]
) -> tuple[GroupSummary, ...]:
    """A summary of each value of an axis that has matching rows."""
    groups = axis.values.astype(np.int64)
    summaries: list[GroupSummary] = []
    for value in range(len(axis.words)):
        rows = matching & (groups == value)
        if rows.any():
            median = float(np.median(figure.values[rows]))
            text = axis.value_text(value)
            summaries.append(
                GroupSummary(value, text, int(rows.sum()), median, figure.value_text(median))
            )
    return tuple(summaries)
