"""Fit a curve's residual: lengths, spread and noise by the likelihood of the measured kernels.

Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), eq. 5.8 and 5.9, with
automatic relevance determination: an irrelevant coordinate gets a large length.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibration.fit.solvers import cholesky, cholesky_solve, minimize
from calibration.fit.student_noise import solved
from simulator.costs import Work
from simulator.timing.coordinates import coordinates, features
from simulator.timing.residuals import Residual

Floats = NDArray[np.float64]

LEAST = 8  # minimum number of samples for a residual
_JUDGED = 800  # maximum number of samples for the fit of lengths
_PENALTY = 0.05  # weight of the squared log lengths, which keeps irrelevant lengths large
MOST = 1.2  # largest log ratio of a sample; beyond it, the kernel that ran was not the lowered one


def fit_residual(
    works: Sequence[Work], hot: Sequence[float], logs: Sequence[float], units: int
) -> Residual | None:
    """The residual of samples with `logs`, log(measured / kernel model); None if there are too
    few."""
    if len(works) < LEAST:
        return None
    every = [features(work, units) for work in works]
    names = ("hot", *sorted({name for each in every for name in each}))
    table = coordinates(works, 0.0, names, units)
    table[:, 0] = hot
    varies = table.std(axis=0) > 1e-6
    names = tuple(name for name, use in zip(names, varies, strict=True) if use)
    table, values = np.round(table[:, varies], 2), np.clip(np.array(logs, float), -MOST, MOST)
    random = np.random.default_rng(0)
    values = np.asarray(np.round(values, 4), np.float64)
    judged = random.permutation(len(values))[:_JUDGED]
    lengths, spread, noise = _most_likely(table[judged], values[judged])
    spread, noise = _digits(np.array([spread, noise]))
    return solved(Residual.measured(names, _digits(lengths), table, values, spread, noise))


def _digits(values: Floats) -> list[float]:
    return [float(f"{v:.4g}") for v in values]


def _most_likely(points: Floats, values: Floats) -> tuple[Floats, float, float]:
    """The lengths, spread and noise that maximise the likelihood, by its gradient."""
    count, dimensions = points.shape
    squares = ((points[:, None] - points[None]) ** 2).transpose(2, 0, 1).reshape(dimensions, -1)
    diagonal = slice(None, None, count + 1)

    def cost(logs: Floats) -> tuple[float, Floats]:
        inverse, spread2, noise2 = (
            np.exp(2 * logs[:dimensions]),
            *np.exp(2 * logs[dimensions:]).tolist(),
        )
        distance = np.sqrt(np.maximum(inverse @ squares, 1e-12))
        near = spread2 * np.exp(-distance)
        covariance = near.copy()
        covariance[diagonal] += noise2
        factor = cholesky(covariance.reshape(count, count))
        weights = cholesky_solve(factor, values)
        penalty = _PENALTY * float(logs[:dimensions] @ logs[:dimensions])
        likelihood = 0.5 * values @ weights + np.log(np.diag(factor[0])).sum() + penalty
        slope = (cholesky_solve(factor, np.eye(count)) - np.outer(weights, weights)).ravel()
        along = -slope * near / distance
        along[diagonal] = 0
        gradient = np.concatenate(
            [
                0.5 * (squares @ along) * inverse + 2 * _PENALTY * logs[:dimensions],
                [slope @ near, slope[diagonal].sum() * noise2],
            ]
        )
        return float(likelihood), gradient

    start = -1 - np.log(np.maximum(points.std(axis=0), 0.3))
    bounds: list[tuple[float, float]] = [(-7, 2)] * dimensions + [(-5, 0.5), (-4.6, 0)]
    begin = np.concatenate([start, np.log([0.2, 0.05])])
    logs = np.exp(minimize(cost, begin, bounds, iterations=40))
    return 1 / logs[:dimensions], float(logs[-2]), float(logs[-1])
