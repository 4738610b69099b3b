"""Which ops may run again, and which fuse with each other: `get_default_op_list` of
torch/_functorch/partitioners.py."""

from __future__ import annotations

from simulator.costs import works
from simulator.records import Op

RECOMPUTABLE = frozenset(
    """
    _to_copy abs acos acosh add addcdiv addcmul amax angle any arange argmax asin asinh atan atan2
    atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil
    celu clamp clamp_max clamp_min clone conj_physical copysign cos cosh deg2rad digamma div elu
    empty empty_like eq equal erf erfc erfinv exp exp2 expm1 floor fmax fmin fmod frac frexp full
    full_like gather gcd ge gelu gelu_backward gt hardshrink hardsigmoid hardtanh heaviside hypot i0
    igamma igammac index isinf isnan isneginf isposinf lcm ldexp le leaky_relu lerp lgamma
    lift_fresh_copy log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or
    logical_xor logit logit_backward lt masked_fill max maximum mean min minimum mish mul mvlgamma
    nan_to_num native_dropout_backward ne neg new_zeros nextafter ones polygamma pow rad2deg
    reciprocal relu remainder round rsqrt rsub scalar_tensor sgn sigmoid sigmoid_backward sign
    signbit silu silu_backward sin sinc sinh softplus softshrink special_airy_ai special_bessel_j0
    special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t
    special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w
    special_entr special_erfcx special_hermite_polynomial_h special_hermite_polynomial_he
    special_i0e special_i1 special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p
    special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1
    special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri
    special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
    special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
    special_spherical_bessel_j0 special_xlog1py special_zeta sqrt square std sub sum tan tanh
    tanh_backward threshold threshold_backward triu trunc var var_mean where xlogy zeros zeros_like
    """.split()
)
"""The ops of the partitioner's list that have a cost here: those tagged pointwise, and what it
names besides. Views are recomputable too; Inductor makes a transpose a permute, so all are alike
here."""

_OF_LISTED = frozenset(["batch_norm_elemt"])
"""What the joint graph has as one op in place of several that are listed (sub, mul, add)."""

_FUSIBLE_RANDOM = frozenset(["native_dropout", "rand_like", "randn_like"])
_RANDOM = (
    "dropout",
    "rand",
    "bernoulli",
    "normal",
    "uniform",
    "multinomial",
    "poisson",
    "cauchy",
    "exponential",
    "geometric",
    "rrelu_with_noise",
)
_PRODUCTS = frozenset(["mm", "bmm", "addmm", "baddbmm", "_scaled_mm", "upsample_bilinear2d"])


def base(op: Op) -> str:
    """An op's name without its namespace and its overload."""
    return op.name.split(".")[1]


def is_view(op: Op) -> bool:
    """Does it launch nothing?"""
    return works(op.signature) == ()


def is_recomputable(op: Op) -> bool:
    """May the cut run it again, as long as only listed ops may?"""
    listed = base(op) in RECOMPUTABLE or base(op) in _OF_LISTED
    return is_view(op) or listed or op.name.startswith("fused.pointwise")


def is_fusible(op: Op) -> bool:
    """Is it taken to fuse with others of its kind, so that reading it again costs nothing?"""
    return is_recomputable(op) or base(op) in _FUSIBLE_RANDOM


def is_random(op: Op) -> bool:
    """Would it draw other numbers the second time? (torch names three ops, and threads the state
    of others; none runs again here.)"""
    name = base(op)
    return any(part in name for part in _RANDOM) and not name.endswith("backward")


def is_intensive(op: Op) -> bool:
    """A product, a convolution or attention: run again only where a budget asks for it."""
    name = base(op)
    return name in _PRODUCTS or any(p in name for p in ("convolution", "attention", "_rnn"))
