"""Functions of each element of one, two or three operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.sweeps.functions.table import Function, alike, mask, positive_alike

_special = cast("Any", torch.special)
_INTEGERS = ("int64", "int32", "uint8")


def _of(functions: dict[str, Callable[..., Any]], **settings: Any) -> dict[str, Function]:
    return {name: Function(call, **settings) for name, call in functions.items()}


def _two(x: Tensor) -> tuple[Tensor, ...]:
    return (*alike(x), *alike(x))


def _slope(x: Tensor) -> tuple[Tensor, ...]:
    return (torch.full((1,), 0.25, dtype=x.dtype),)


def _pairs(x: Tensor) -> Tensor:
    """The same numbers as complex ones, in pairs."""
    return torch.view_as_complex(x.reshape(-1)[: x.numel() // 2 * 2].reshape(-1, 2))


ELEMENTS: dict[str, Function] = {
    **_of({
        "cos": torch.cos, "tan": torch.tan, "sinh": torch.sinh, "cosh": torch.cosh,
        "asinh": torch.asinh, "atan": torch.atan, "erf": torch.erf, "erfc": torch.erfc,
        "exp2": torch.exp2, "expm1": torch.expm1, "abs": torch.abs, "neg": torch.neg,
        "sinc": torch.sinc, "square": torch.square, "deg2rad": torch.deg2rad,
        "nan_to_num": torch.nan_to_num, "logsigmoid": F.logsigmoid, "softplus": F.softplus,
        "softsign": F.softsign, "tanhshrink": F.tanhshrink, "softshrink": F.softshrink,
        "hardshrink": F.hardshrink, "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish,
        "relu6": F.relu6, "selu": F.selu, "celu": F.celu, "leaky_relu": F.leaky_relu,
        "threshold": lambda x: F.threshold(x, 0.1, 0.0), "i0": torch.i0, "i0e": _special.i0e,
        "ndtr": _special.ndtr,
        "gelu of tanh": lambda x: F.gelu(x, approximate="tanh"),
        "clamp": lambda x: x.clamp(-1, 1), "power 3": lambda x: x**3,
        "power 1.7": lambda x: (x.abs() + 1) ** 1.7, "base 2": lambda x: 2.0**x,
        "scaled": lambda x: x.mul(0.3).add(1), "reciprocal": lambda x: 1 / (x + 3),
        "rational": lambda x: x / (1 + x.abs()),
    }),
    **_of({
        "log": torch.log, "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p,
        "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "lgamma": torch.lgamma,
        "digamma": torch.digamma, "acosh": lambda x: torch.acosh(x + 1),
    }, values="positive"),
    **_of({
        "acos": torch.acos, "asin": torch.asin, "atanh": torch.atanh, "erfinv": torch.erfinv,
        "logit": torch.logit,
    }, values="unit", dtypes=("fp32", "fp32", "bf16")),
    **_of({
        "i1": _special.i1, "log_ndtr": _special.log_ndtr, "ndtri": _special.ndtri,
    }, values="unit", dtypes=("fp32",)),
    **_of({
        "polygamma": lambda x: torch.polygamma(1, x), "entr": _special.entr,
        "bessel_j0": _special.bessel_j0, "erfcx": _special.erfcx,
    }, values="positive", dtypes=("fp32",), gradient=False),
    **_of({
        "ceil": torch.ceil, "trunc": torch.trunc, "frac": torch.frac, "round": torch.round,
        "round to 2": lambda x: torch.round(x, decimals=2), "sign": torch.sign,
        "signbit": torch.signbit, "isfinite": torch.isfinite, "isinf": torch.isinf,
        "is_nonzero": lambda x: x != 0, "to int": lambda x: x.int(), "to bool": lambda x: x.bool(),
        "within": lambda x: (x > -1) & (x < 1),
    }, gradient=False),
    **_of({
        "atan2": torch.atan2, "hypot": torch.hypot, "logaddexp": torch.logaddexp,
        "logaddexp2": torch.logaddexp2, "copysign": torch.copysign, "fmax": torch.fmax,
        "maximum": torch.maximum, "minimum": torch.minimum, "div": torch.div,
        "squared difference": lambda x, y: (x - y) ** 2, "rsub": lambda x, y: torch.rsub(x, y),
        "add scaled": lambda x, y: torch.add(x, y, alpha=0.5),
    }, operands=alike),
    **_of({
        "remainder": torch.remainder, "fmod": torch.fmod, "xlogy": torch.xlogy,
        "xlog1py": _special.xlog1py, "float_power": lambda x, y: torch.pow(x.abs() + 0.1, y),
        "ldexp": torch.ldexp, "floor divide": lambda x, y: x.div(y, rounding_mode="floor"),
        "trunc divide": lambda x, y: x.div(y, rounding_mode="trunc"),
    }, operands=positive_alike, values="positive"),
    **_of({
        "igamma": torch.igamma, "zeta": lambda x, y: _special.zeta(x + 1, y),
    }, operands=positive_alike, values="positive", dtypes=("fp32",), gradient=False),
    **_of({
        "isclose": torch.isclose, "nextafter": lambda x, y: torch.nextafter(x.float(), y.float()),
        "heaviside": torch.heaviside, "eq": torch.eq, "less": torch.lt,
    }, operands=alike, gradient=False),
    **_of({
        "gcd": torch.gcd, "xor": torch.bitwise_xor, "and": torch.bitwise_and,
        "integer remainder": torch.remainder, "floor of integers": torch.floor_divide,
        "product of integers": torch.mul, "sum of integers": torch.add,
    }, operands=alike, dtypes=_INTEGERS, gradient=False),
    **_of({
        "shift left": lambda x: x << 3, "bitwise not": torch.bitwise_not,
        "to float": lambda x: x.float(), "is even": lambda x: x % 2 == 0,
    }, dtypes=_INTEGERS, gradient=False),
    **_of({
        "logical and": torch.logical_and, "logical xor": torch.logical_xor, "or": torch.bitwise_or,
    }, operands=mask, dtypes=("bool",), gradient=False),
    **_of({
        "lerp by tensor": torch.lerp, "addcmul": torch.addcmul,
        "clamp by tensors": lambda x, y, z: torch.clamp(x, y - 3, z + 3),
        "addcdiv": lambda x, y, z: torch.addcdiv(x, y, z + 5),
    }, operands=_two),
    **_of({
        "where": lambda x, m: torch.where(m, x, 0.0), "masked_fill": lambda x, m: x.masked_fill(m,
            -1),
        "times mask": lambda x, m: x * m,
    }, operands=mask),
    "prelu": Function(F.prelu, operands=_slope),
    "rrelu": Function(F.rrelu),
    "glu": Function(lambda x: F.glu(x[:, : x.shape[1] // 2 * 2]), "rows"),
    "gated": Function(lambda x, y: F.silu(x) * y, operands=alike),
    "complex product": Function(lambda x: torch.view_as_real(_pairs(x) * _pairs(x)),
        dtypes=("fp32",)),
    "complex absolute": Function(lambda x: _pairs(x).abs(), dtypes=("fp32",)),
    "complex angle": Function(lambda x: _pairs(x).angle(), dtypes=("fp32",)),
    "complex exponential": Function(
        lambda x: torch.view_as_real(_pairs(x).exp()), dtypes=("fp32",)
    ),
    "polar": Function(lambda x: torch.view_as_real(torch.polar(x, x)), dtypes=("fp32",)),
    "conjugate": Function(
        lambda x: torch.view_as_real((_pairs(x).conj() * 2).resolve_conj()), dtypes=("fp32",)
    ),
}  # fmt: skip
"""Functions of elements, by name."""
