"""How far one regime leads another over a map: fields whose zero is the boundary between them.

Shares jump where the host becomes the limit of a step: overhead is 1 on that side, and less on the
other. The host takes over where the ratio of the GPU's time to the host's, which is smooth, is 1;
this is not in the middle between the two points of a jump. On the host's side the GPU's own shares
are unknown. They are continued from the other side, where overhead may also exceed the other
shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from simulator.analysis.sweep import Sweep
from simulator.prediction import REGIMES

Floats = NDArray[np.float64]
Pair = tuple[int, int]
"""Two regimes, as indices into REGIMES, the smaller first."""
PAIRS: tuple[Pair, ...] = tuple(combinations(range(len(REGIMES)), 2))
_OVERHEAD = REGIMES.index("overhead")
_SCALE = 0.1
"""Weight of the logarithm of the GPU's time over the host's, relative to a difference of shares.
The smaller of the two is the lead, so shares decide only where they are nearly equal."""
_LEAST = 1e-6
_DAMPING = 0.5
"""A lead is extrapolated beyond its known points with this share of its slope."""


@dataclass(frozen=True)
class RegimeLeads:
    """Fields [y, x] by pair: `over` is positive where the first regime leads the second and
    negative where the second leads; `alone` is not negative where both exceed the third."""

    over: dict[Pair, Floats]
    alone: dict[Pair, Floats]

    def largest(self, over: dict[Pair, Floats]) -> NDArray[np.int64]:
        """The leading regime for values of `over`, such as interpolated ones."""
        scores = [
            np.minimum.reduce(
                [
                    over[pair] if pair[0] == regime else -over[pair]
                    for pair in PAIRS
                    if regime in pair
                ]
            )
            for regime in range(len(REGIMES))
        ]
        return np.argmax(np.nan_to_num(np.stack(scores), nan=-np.inf), axis=0).astype(np.int64)


def regime_leads(shares: Floats, swept: Sweep) -> RegimeLeads:
    """The leads of a map with `shares` [y, x, regime] over the points of a sweep, x fastest."""
    host_limits, balance = _balance(shares, swept)
    over: dict[Pair, Floats] = {}
    alone: dict[Pair, Floats] = {}
    for one, two in PAIRS:
        third = shares[:, :, 3 - one - two]
        lead = shares[:, :, one] - shares[:, :, two]
        both = (shares[:, :, one] + shares[:, :, two]) / 2  # equal on the boundary
        if two == _OVERHEAD:
            beyond = _continued(np.where(host_limits, np.nan, lead))
            jumps = host_limits & (beyond > 0)
            after = _beside(jumps) & ~host_limits & (lead > 0)
            both = np.where(after, shares[:, :, one], both)
            third = np.where(host_limits, both, third)  # `lead` alone decides there
            lead = np.where(after, np.minimum(lead, balance), lead)
            lead = np.where(jumps, balance, lead)
            lead = np.where(host_limits & ~jumps, np.minimum(beyond, balance), lead)
        over[one, two] = lead
        alone[one, two] = both - third
    return RegimeLeads(over, alone)


def _continued(lead: Floats) -> Floats:
    """A lead in which NaNs are replaced by values continued from adjacent points; infinite if all
    are NaN."""
    padded = np.pad(lead, 2, constant_values=np.nan)
    rows, columns = lead.shape
    total, count = np.zeros(lead.shape), np.zeros(lead.shape)
    for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        first, second = (
            padded[2 + n * down : 2 + n * down + rows, 2 + n * right : 2 + n * right + columns]
            for n in (1, 2)
        )
        slope = np.where(np.isnan(second), 0.0, first - second)
        total += np.nan_to_num(first + _DAMPING * slope)
        count += ~np.isnan(first)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0, total / count, np.inf)


def _balance(shares: Floats, swept: Sweep) -> tuple[NDArray[np.bool_], Floats]:
    """Where the host is the only limit, and the scaled logarithm of the GPU's time over the host's:
    negative there, positive elsewhere."""
    grid = shares.shape[:2]
    period, busy, host = (
        swept.columns[name].reshape(grid) for name in ("period_s", "gpu_busy_s", "host_s")
    )
    host_limits = np.asarray(shares[:, :, _OVERHEAD] >= 1 - 1e-9, np.bool_)
    others = np.isfinite(period) & ~host_limits
    gaps = float(np.median((period - busy)[others])) if others.any() else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = _SCALE * np.log(np.where(host_limits, busy + gaps, period) / host)
    near = np.where(host_limits, np.minimum(ratio, -_LEAST), np.maximum(ratio, _LEAST))
    return host_limits, np.where(np.isnan(near) & np.isfinite(period), 1.0, near)


def _beside(inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The points of a region and their eight neighbours."""
    padded = np.pad(inside, 1)
    rows, columns = inside.shape
    around = [padded[r : r + rows, c : c + columns] for r in range(3) for c in range(3)]
    return np.logical_or.reduce(around)
