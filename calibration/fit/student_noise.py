"""Solve the residual of a curve: the noise of each measured kernel, and the local experts.

If a library uses a different kernel for one shape, its value is far from its neighbours. The noise
is therefore Student's t with few degrees of freedom: normal with a separate deviation for each
value. The deviations are computed by expectation and maximisation (Lange, Little and Taylor,
"Robust statistical modeling using the t distribution", 1989). For 900 calls of random shapes on an
H200 that no fit uses, the median error is 5.4% instead of 5.5% with normal noise. For 560 such
calls on an H100, median and 90th percentile are 6.4% and 28.8% instead of 6.4% and 29.3%.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from simulator.timing.local_experts import cells, covariance, local_experts
from simulator.timing.residuals import Residual

Floats = NDArray[np.float64]

_FREEDOM = 4.0
_ROUNDS = 3


def solved(residual: Residual) -> Residual:
    """A residual with its experts."""
    points, values = residual.scaled_points, residual.logs
    noise = student_noise(points, values, residual.spread, residual.noise)
    return replace(residual, experts=local_experts(points, values, residual.spread, noise))


def student_noise(points: Floats, values: Floats, spread: float, noise: float) -> Floats:
    """The standard deviation of the noise of each value [points]; `noise` is the deviation for most
    values.

    With σ² = `noise`², w a value's variance and ν degrees of freedom, w becomes
    (ν·σ² + E[ε²]) / (ν + 1), where E[ε²] = (w·K⁻¹y)² + w − w²·K⁻¹ of the current process. K is the
    covariance, and K⁻¹ stands for the diagonal of its inverse in the last term.
    """
    variance = np.full(len(points), noise**2)
    squares = np.empty_like(variance)
    parts = cells(points)
    for _ in range(_ROUNDS):
        for own, known in parts:
            inverse = np.linalg.inv(covariance(points[known], spread, np.sqrt(variance[known])))
            own_variance = variance[known]
            mean = own_variance * (inverse @ values[known])
            left = own_variance - own_variance**2 * np.diag(inverse)
            expected = np.full(len(points), noise**2)
            expected[known] = mean**2 + left
            squares[own] = expected[own]
        variance = (_FREEDOM * noise**2 + squares) / (_FREEDOM + 1)
    return np.sqrt(variance)
