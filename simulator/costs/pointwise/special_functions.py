"""Orthogonal polynomials, Bessel functions and the multivariate gamma function."""

from __future__ import annotations

from simulator.costs.compiled_traits import LISTED
from simulator.costs.kernels.elementwise import elementwise
from simulator.costs.kernels.launches import full_bytes, index_range, pointwise, reduction
from simulator.costs.registry import Work, cost
from simulator.records import Signature

_POLYNOMIALS = (
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
)  # fmt: skip


@cost(
    *(
        f"aten.special_{name}.{kind}"
        for name in _POLYNOMIALS
        for kind in ("default", "x_scalar", "n_scalar")
    ),
    traits=LISTED,
)
def polynomial(op: Signature) -> tuple[Work, ...]:
    """A recurrence of `degree` steps. The degree depends on the data; 10 is assumed."""
    return elementwise(op, (30, 60))


@cost(
    "aten.special_scaled_modified_bessel_k0.default",
    "aten.special_scaled_modified_bessel_k1.default",
    "aten.frexp.Tensor",
    traits=LISTED,
)
def special_function(op: Signature) -> tuple[Work, ...]:
    """A polynomial of about twenty terms; for frexp, mantissa and exponent bits."""
    return elementwise(op, (2, 4) if "frexp" in op.name else (1, 60))


@cost("aten.mvlgamma.default", "aten.mvlgamma_.default", traits=LISTED)
def mvlgamma(op: Signature) -> tuple[Work, ...]:
    """Σ lgamma(x − i/2) over i < p: all terms, then their sum and a constant."""
    x, p = op["self"], int(op.arg("p", 1))
    size, n = full_bytes(x), x.numel
    return (
        index_range(p, x.itemsize),
        pointwise(n * p, size + p * x.itemsize, size * p, inputs=2),
        pointwise(n * p, size * p, size * p, slots=60),
        reduction(n, p, size * p, size),
        pointwise(n, size, size),
    )
