"""Solvers of scipy with types: scipy has no stubs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg  # pyright: ignore[reportMissingTypeStubs]
import scipy.optimize  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_linalg: Any = scipy.linalg
_optimize: Any = scipy.optimize


class Solution(NamedTuple):
    """The unknowns at the minimum, and scipy's cost there: half of the sum of the squares, with the
    loss applied."""

    x: Floats
    cost: float


def nnls(matrix: Floats, target: Floats) -> Floats:
    """The non-negative x [columns] with the smallest |matrix @ x - target|."""
    return _optimize.nnls(matrix, target)[0]


def least_squares(
    residuals: Callable[[Floats], Floats],
    start: Floats | Sequence[float],
    bounds: tuple[Any, Any] = (-np.inf, np.inf),
    **options: Any,
) -> Solution:
    """The minimum of the sum of squares of the residuals; `options` are those of scipy."""
    result = _optimize.least_squares(residuals, start, bounds=bounds, **options)
    return Solution(result.x, float(result.cost))


def minimize(
    cost: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: Sequence[tuple[float, float]],
    iterations: int,
) -> Floats:
    """The unknowns within bounds at which `cost`, which also returns its gradient, is smallest."""
    options = {"maxiter": iterations}
    return _optimize.minimize(
        cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    ).x


def cholesky(matrix: Floats) -> tuple[Floats, bool]:
    """The lower Cholesky factor of a positive definite matrix, for `cholesky_solve`."""
    return _linalg.cho_factor(matrix, lower=True)


def cholesky_solve(factor: tuple[Floats, bool], right: Floats) -> Floats:
    """The x with matrix @ x = right, given the factor of the matrix."""
    return _linalg.cho_solve(factor, right)
