"""Pointwise ops: unary, binary, ternary, activations and their gradients.

An op is one row of a table: FLOPs and instructions per element of the result, and its traits in
compiled mode. FLOPs count 1 per arithmetic function, including special functions such as exp.
Instructions are issue slots of a vector lane. Those of functions were counted in the machine code
of ATen's kernels for compute capability 9.0 (torch 2.11), along the path of ordinary numbers: a
square root takes 11, a division 12, exp 10, log 26. Where the path depends on the numbers (`fmod`,
`igamma`), or the kernel is compiled at run time, they follow from times measured on an H200. Each
operand adds one slot for its load, store or conversion. Half precisions compute in float32, as
`opmath_t` does; a complex or integer lane counts as a real one.

Composite ops (`divide`, `relu6`, `isclose`, `where.ScalarOther` ...) never reach the dispatcher's
lower half, so no table has a row for them.
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.costs.compiled_traits import LISTED, Traits, listed
from simulator.costs.kernels.elementwise import Steps


class Row(NamedTuple):
    """FLOPs and instructions per element, and the traits of the op: by default only that it may be
    computed again in the backward pass, as torch lists most pointwise ops; None for no traits."""

    flops: int
    instructions: int
    traits: Traits | None = LISTED

    @property
    def steps(self) -> Steps:
        return self.flops, self.instructions


_GATE = "tl.minimum(tl.maximum({self} / 6.0 + 0.5, 0.0), 1.0)"

UNARY: dict[str, Row] = {
    "abs": Row(1, 1, listed(triton="tl.abs({self})")),
    "neg": Row(1, 1, listed(triton="-{self}")),
    "sign": Row(1, 7, listed(triton="tl.where({self} > 0, 1.0, tl.where({self} < 0, -1.0, 0.0))")),
    "sgn": Row(1, 1),
    "square": Row(1, 1, listed(triton="{self} * {self}")),
    "ceil": Row(1, 1, listed(triton="tl.ceil({self})")),
    "floor": Row(1, 1, listed(triton="tl.floor({self})")),
    "round": Row(1, 1), "trunc": Row(1, 1), "frac": Row(2, 3),
    "reciprocal": Row(1, 10, listed(slots=8, triton="1.0 / {self}", autocast="float32")),
    "sqrt": Row(1, 11, listed(slots=11, triton="tl.sqrt({self})", positive=True)),
    "rsqrt": Row(
        1, 5, listed(slots=8, triton="tl.rsqrt({self})", positive=True, autocast="float32")
    ),
    "deg2rad": Row(1, 1), "rad2deg": Row(1, 1),
    "exp": Row(1, 10, listed(slots=9, triton="tl.exp({self})", autocast="float32")),
    "exp2": Row(1, 2, listed(slots=8, triton="tl.exp2({self})")),
    "expm1": Row(1, 22, listed(slots=28, triton="tl.exp({self}) - 1.0", autocast="float32")),
    "log": Row(1, 25, listed(slots=26, triton="tl.log({self})", positive=True, autocast="float32")),
    "log2": Row(
        1, 26, listed(slots=28, triton="tl.log2({self})", positive=True, autocast="float32")
    ),
    "log10": Row(1, 24, listed(autocast="float32")),
    "log1p": Row(1, 20, listed(slots=29, triton="tl.log(1.0 + {self})", autocast="float32")),
    "sin": Row(1, 25, listed(slots=27, triton="tl.sin({self})")),
    "cos": Row(1, 25, listed(slots=29, triton="tl.cos({self})")),
    "tan": Row(1, 24, listed(autocast="float32")),
    "asin": Row(1, 21, listed(autocast="float32")),
    "acos": Row(1, 18, listed(autocast="float32")),
    "atan": Row(1, 16),
    "sinh": Row(1, 20, listed(autocast="float32")),
    "cosh": Row(1, 16, listed(autocast="float32")),
    "tanh": Row(1, 17, listed(slots=30, triton="2.0 / (1.0 + tl.exp(-2.0 * {self})) - 1.0")),
    "asinh": Row(1, 31), "acosh": Row(1, 31), "atanh": Row(1, 25),
    "erf": Row(1, 20, listed(slots=34, triton="tl.erf({self})")),
    "erfc": Row(1, 30, listed(slots=36)),
    "erfinv": Row(1, 6, listed(autocast="float32")),
    "lgamma": Row(1, 70), "digamma": Row(1, 188), "i0": Row(1, 61), "sinc": Row(3, 35),
    "logit": Row(3, 29), "nan_to_num": Row(3, 8),
    "logical_not": Row(1, 4, listed(triton="{self} == 0")),
    "bitwise_not": Row(1, 1), "conj_physical": Row(1, 1),
    # negate, exp, add, divide; for silu the dividend is x
    "sigmoid": Row(4, 19, listed(slots=16, triton="1.0 / (1.0 + tl.exp(-{self}))")),
    "silu": Row(4, 20, listed(slots=19, triton="{self} / (1.0 + tl.exp(-{self}))")),
    # x·0.5·(1 + erf(x·√½)): three multiplies, erf, add
    "gelu": Row(5, 25, listed(slots=37)),
    "relu": Row(1, 1, listed(slots=5, triton="tl.maximum({self}, 0.0)")),
    "hardtanh": Row(2, 6, listed(slots=10)),
    "hardsigmoid": Row(4, 4, listed(triton=_GATE)),
    "hardswish": Row(5, 5, Traits(slots=8, triton="{self} * " + _GATE)),
    "leaky_relu": Row(2, 2, listed(slots=3)),
    "threshold": Row(1, 2),
    "elu": Row(4, 31, listed(slots=30)),
    "celu": Row(4, 31),
    # x·tanh(log1p(exp(x)))
    "mish": Row(4, 40, listed(slots=52)),
}  # fmt: skip
"""Overloads `default` and `out`, and `default` in place."""

FUNCTIONAL: dict[str, Row] = {
    "isnan": Row(1, 1, listed(triton="{self} != {self}")),
    "isposinf": Row(1, 1), "isneginf": Row(1, 1), "signbit": Row(1, 2),
    "angle": Row(1, 46), "polar": Row(4, 55, None), "complex": Row(0, 1, None),
    "_conj_physical": Row(1, 1, None),
    "softplus": Row(4, 37, listed(slots=36, autocast="float32")),
    "hardshrink": Row(2, 2), "softshrink": Row(3, 23), "glu": Row(5, 14, None),
    "maximum": Row(1, 10, listed(slots=5, triton="tl.maximum({self}, {other})")),
    "minimum": Row(1, 10, listed(slots=5, triton="tl.minimum({self}, {other})")),
    "fmax": Row(1, 1), "fmin": Row(1, 1), "logaddexp": Row(6, 40), "logaddexp2": Row(6, 37),
    "special_entr": Row(2, 24), "special_erfcx": Row(1, 1630), "special_i0e": Row(1, 61),
    "special_i1": Row(1, 61), "special_i1e": Row(1, 61), "special_log_ndtr": Row(4, 60),
    "special_ndtri": Row(1, 148), "special_airy_ai": Row(1, 80), "special_bessel_j0": Row(1, 48),
    "special_bessel_j1": Row(1, 48), "special_bessel_y0": Row(1, 70),
    "special_bessel_y1": Row(1, 70), "special_modified_bessel_i0": Row(1, 61),
    "special_modified_bessel_i1": Row(1, 61), "special_modified_bessel_k0": Row(1, 60),
    "special_modified_bessel_k1": Row(1, 60), "special_spherical_bessel_j0": Row(2, 30),
    "special_xlog1py": Row(2, 28), "special_zeta": Row(1, 1310),
}  # fmt: skip
"""Overloads `default` and `out` only."""

BINARY: dict[str, Row] = {
    "add": Row(1, 1), "sub": Row(1, 1),
    "mul": Row(1, 1, listed(triton="{self} * {other}")),
    "div": Row(1, 12, listed(slots=8, triton="{self} / {other}")),
    "copysign": Row(1, 1),
}  # fmt: skip
"""Overloads `Tensor`, `Scalar`, `out`, `Scalar_out`, and the first two in place."""

COMPARISON: dict[str, Row] = {
    "eq": Row(1, 1, listed(triton="{self} == {other}")),
    "ne": Row(1, 1, listed(triton="{self} != {other}")),
    "lt": Row(1, 1, listed(triton="{self} < {other}")),
    "le": Row(1, 1, listed(triton="{self} <= {other}")),
    "gt": Row(1, 1, listed(triton="{self} > {other}")),
    "ge": Row(1, 1, listed(triton="{self} >= {other}")),
    "remainder": Row(4, 36), "fmod": Row(3, 36),
    "bitwise_and": Row(1, 1, listed(triton="{self} & {other}")),
    "bitwise_or": Row(1, 1, listed(triton="{self} | {other}")),
    "bitwise_xor": Row(1, 1, listed(triton="{self} ^ {other}")),
}  # fmt: skip
"""Overloads `Tensor`, `Scalar`, `Tensor_out`, `Scalar_out`, and the first two in place."""

LOGICAL: dict[str, Row] = {
    "logical_and": Row(1, 1, listed(triton="({self} != 0) & ({other} != 0)")),
    "logical_or": Row(1, 1, listed(triton="({self} != 0) | ({other} != 0)")),
    "logical_xor": Row(1, 1),
    "atan2": Row(1, 46, listed(autocast="widest")),
    "hypot": Row(4, 24), "nextafter": Row(1, 27), "heaviside": Row(2, 3), "gcd": Row(20, 240),
    "lcm": Row(22, 290), "igamma": Row(1, 1050), "igammac": Row(1, 1050), "polygamma": Row(1, 148),
    # self + value·(t1·t2), self + value·(t1 / t2)
    "addcmul": Row(3, 2, listed(autocast="widest")),
    "addcdiv": Row(3, 16, listed(autocast="widest")),
}  # fmt: skip
"""Overloads `default` and `out`, and `default` in place, of two or three tensors."""

BACKWARD: dict[str, Row] = {
    # g·(1 - y)·y and g·(1 - y²)
    "sigmoid_backward": Row(
        3, 8, listed(slots=3, triton="{grad_output} * (1.0 - {output}) * {output}")
    ),
    "tanh_backward": Row(
        3, 8, listed(slots=3, triton="{grad_output} * (1.0 - {output} * {output})")
    ),
    # g·s·(1 + x·(1 - s)) with s = sigmoid(x), which takes 4
    "silu_backward": Row(8, 25, listed(slots=25, triton=(
        "{grad_output} / (1.0 + tl.exp(-{self})) * "
        "(1.0 + {self} * (1.0 - 1.0 / (1.0 + tl.exp(-{self}))))"
    ))),
    # g·(Φ(x) + x·φ(x)): Φ takes 4, φ takes 4, the rest 3
    "gelu_backward": Row(11, 40, listed(slots=47)),
    "threshold_backward": Row(1, 2, listed(slots=2)),
    "hardtanh_backward": Row(2, 3, None), "hardsigmoid_backward": Row(3, 4, None),
    "hardshrink_backward": Row(2, 3, None), "softshrink_backward": Row(2, 3, None),
    "leaky_relu_backward": Row(2, 2, None), "elu_backward": Row(4, 14, None),
    "softplus_backward": Row(4, 25, Traits(slots=20)),
    "logit_backward": Row(4, 19),
    # two results: s takes 4, g·s 1, g·a·s·(1 - s) 4: 9 for both
    "glu_backward": Row(5, 12, None),
}  # fmt: skip
"""Overloads `default` and `grad_input`."""

LONE: dict[str, Row] = {
    "aten.hardswish_backward.default": Row(5, 18, Traits(slots=7)),
    "aten.hardswish_backward.out": Row(5, 18, Traits(slots=7)),
    "aten.mish_backward.default": Row(8, 57, None),
    "aten._prelu_kernel.default": Row(2, 2, None),
    "aten._prelu_kernel_backward.default": Row(3, 4, None),
    "aten.log_sigmoid_forward.default": Row(5, 28, None),
    "aten.log_sigmoid_forward.output": Row(5, 28, None),
    "aten.log_sigmoid_backward.default": Row(5, 27, None),
    "aten.log_sigmoid_backward.grad_input": Row(5, 27, None),
    "aten.rrelu_with_noise_backward.default": Row(2, 2, None),
    "aten.where.self": Row(0, 1, listed(slots=2)),
    "aten.where.self_out": Row(0, 1, listed(slots=2)),
    "aten.rsub.Tensor": Row(1, 1),
    "aten.rsub.Scalar": Row(1, 1),
    "aten.round.decimals": Row(3, 27),
    "aten.round_.decimals": Row(3, 27, None),
    "aten.masked_fill_.Scalar": Row(0, 1, None),
    "aten._masked_scale.default": Row(2, 2, None),
    "aten.native_dropout_backward.default": Row(2, 2),
    "aten.native_dropout_backward.out": Row(2, 2),
    "aten.fake_quantize_per_tensor_affine_cachemask.default": Row(7, 14, None),
    "aten.fake_quantize_per_tensor_affine_cachemask_backward.default": Row(1, 1, None),
    "aten.special_xlog1py.self_scalar": Row(2, 28),
    "aten.special_xlog1py.other_scalar": Row(2, 28),
    "aten._add_relu.Tensor": Row(2, 2, None),
    "aten._add_relu_.Tensor": Row(2, 2, None),
}  # fmt: skip
"""Ops with irregular overloads, by full overload name."""
