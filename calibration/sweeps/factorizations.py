"""Linear algebra through cuSOLVER, cuBLAS and MAGMA: factorizations and solvers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch

from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import pick, sweep, whole

_SQUARE: dict[str, Callable[..., Any]] = {
    "lu": torch.linalg.lu_factor,
    "inverse": torch.linalg.inv,
    "determinant": torch.linalg.slogdet,
    "exponential": torch.linalg.matrix_exp,
}
_TALL: dict[str, Callable[..., Any]] = {
    "qr": torch.linalg.qr,
    "svd": lambda a: torch.linalg.svd(a, full_matrices=False),
    "values": torch.linalg.svdvals,
    "pinv": torch.linalg.pinv,
}
_SYMMETRIC: dict[str, Callable[..., Any]] = {
    "cholesky": torch.linalg.cholesky,
    "eigh": torch.linalg.eigh,
    "eigenvalues": torch.linalg.eigvalsh,
}
_ITERATIVE = ("svd", "values", "pinv", "eigh", "eigenvalues")


def _matrices(names: dict[str, float]) -> Callable[[Random], Params | None]:
    def draw(rng: Random) -> Params | None:
        name = pick(rng, names)
        side = whole(rng, 4, 512 if name in _ITERATIVE else 2048)
        batch = 1 if rng.random() < 0.5 else whole(rng, 2, 512)
        most = 2e7 if name in _ITERATIVE else 2e9
        if batch * side**3 > most or batch * side**2 > 2**24:
            return None
        return {"name": name, "batch": batch, "side": side}

    return draw


@operation(sweep("square_factorization", 56, _matrices(dict.fromkeys(_SQUARE, 1.0))))
def square_factorization(name: str, batch: int, side: int) -> Call:
    """Factorize well-conditioned fp32 [batch, side, side]."""
    a = random(batch, side, side, dtype="fp32") / side**0.5 + 3 * torch.eye(side)
    run = _SQUARE[name]
    return lambda: run(a)


@operation(sweep("symmetric_factorization", 44, _matrices(dict.fromkeys(_SYMMETRIC, 1.0))))
def symmetric_factorization(name: str, batch: int, side: int) -> Call:
    """Factorize symmetric, positive definite fp32 [batch, side, side]."""
    a = random(batch, side, side, dtype="fp32")
    a = a @ a.mT / side + torch.eye(side)
    run = _SYMMETRIC[name]
    return lambda: run(a)


def _tall(rng: Random) -> Params | None:
    point = _matrices({"qr": 2.0, "svd": 1.0, "values": 1.0, "pinv": 1.0})(rng)
    return point and {**point, "times": rng.choice([1, 1, 2, 4])}


@operation(sweep("tall_factorization", 52, _tall))
def tall_factorization(name: str, batch: int, side: int, times: int) -> Call:
    """Factorize fp32 [batch, times · side, side]."""
    a, run = random(batch, times * side, side, dtype="fp32"), _TALL[name]
    return lambda: run(a)


def _system(rng: Random) -> Params | None:
    draw = _matrices({"solve": 1.0, "triangular": 1.0, "cholesky_solve": 1.0, "lu_solve": 1.0})
    point = draw(rng)
    return point and {**point, "columns": 1 if rng.random() < 0.4 else whole(rng, 2, 512)}


@operation(sweep("solve", 60, _system))
def solve(name: str, batch: int, side: int, columns: int) -> Call:
    """Solve fp32 [batch, side, side] X = [batch, side, columns]; the factors are given, except for
    "solve"."""
    a = random(batch, side, side, dtype="fp32") / side**0.5 + 3 * torch.eye(side)
    b = random(batch, side, columns, dtype="fp32")
    if name == "solve":
        return lambda: torch.linalg.solve(a, b)
    if name == "triangular":
        upper = a.triu()
        return lambda: torch.linalg.solve_triangular(upper, b, upper=True)
    if name == "lu_solve":
        factors, pivots = torch.linalg.lu_factor(a)
        return lambda: torch.linalg.lu_solve(factors, pivots, b)
    lower = a.tril()
    return lambda: torch.cholesky_solve(b, lower)
