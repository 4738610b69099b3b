"""Pointwise ops: unary, binary, ternary, activations and their gradients.

An op is one row of a table: (FLOPs, instructions) per element of the result. FLOPs count 1 per
arithmetic function, including special functions such as exp. Instructions are issue slots of a
vector lane, estimated from the fp32 throughputs in the CUDA programming guide and the length of
libdevice's fast paths: add, multiply or fused multiply-add 1, division 8, square root 6, exp 8, log
10, sine 25, erf 20, pow 40. Each operand adds one slot for its load, store or conversion. Half
precisions compute in float32, as `opmath_t` does; a complex or integer lane counts as a real one.

Composite ops (`divide`, `relu6`, `isclose`, `where.ScalarOther` ...) never reach the dispatcher's
lower half, so no table has a row for them.
"""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.kernels.elementwise import Steps, elementwise, read_of
from simulator.costs.kernels.launches import copy_onto, strided_copy, to_host
from simulator.costs.registry import Cost, Work, cost
from simulator.records import Signature

UNARY: dict[str, Steps] = {
    "abs": (1, 1), "neg": (1, 1), "sign": (1, 3), "sgn": (1, 3), "square": (1, 1),
    "ceil": (1, 1), "floor": (1, 1), "round": (1, 1), "trunc": (1, 1), "frac": (2, 2),
    "reciprocal": (1, 8), "sqrt": (1, 6), "rsqrt": (1, 6), "deg2rad": (1, 1), "rad2deg": (1, 1),
    "exp": (1, 8), "exp2": (1, 4), "expm1": (1, 12), "log": (1, 10), "log2": (1, 10),
    "log10": (1, 11), "log1p": (1, 16), "sin": (1, 25), "cos": (1, 25), "tan": (1, 35),
    "asin": (1, 20), "acos": (1, 20), "atan": (1, 20), "sinh": (1, 20), "cosh": (1, 16),
    "tanh": (1, 15), "asinh": (1, 25), "acosh": (1, 25), "atanh": (1, 25), "erf": (1, 20),
    "erfc": (1, 25), "erfinv": (1, 30), "lgamma": (1, 60), "digamma": (1, 60), "i0": (1, 40),
    "sinc": (3, 35), "logit": (3, 20), "nan_to_num": (3, 3), "logical_not": (1, 1),
    "bitwise_not": (1, 1), "conj_physical": (1, 1),
    # negate, exp, add, divide; for silu the dividend is x
    "sigmoid": (4, 12), "silu": (4, 14),
    # x·0.5·(1 + erf(x·√½)): three multiplies, erf, add
    "gelu": (5, 25),
    "relu": (1, 1), "hardtanh": (2, 2), "hardsigmoid": (4, 4), "hardswish": (5, 5),
    "leaky_relu": (2, 2), "threshold": (1, 2), "elu": (4, 16), "celu": (4, 16),
    # x·tanh(log1p(exp(x)))
    "mish": (4, 40),
}  # fmt: skip
"""Overloads `default` and `out`, and `default` in place."""

FUNCTIONAL: dict[str, Steps] = {
    "isnan": (1, 1), "isinf": (1, 2), "isposinf": (1, 1), "isneginf": (1, 1), "signbit": (1, 1),
    "angle": (1, 20), "polar": (4, 55), "complex": (0, 1), "_conj_physical": (1, 1),
    "softplus": (4, 37), "hardshrink": (2, 2), "softshrink": (3, 3),
    "glu": (5, 14),
    "maximum": (1, 2), "minimum": (1, 2), "fmax": (1, 1), "fmin": (1, 1),
    "logaddexp": (6, 30), "logaddexp2": (6, 28),
    "special_entr": (2, 12), "special_erfcx": (1, 40), "special_i0e": (1, 40),
    "special_i1": (1, 40), "special_i1e": (1, 40), "special_log_ndtr": (4, 50),
    "special_ndtri": (1, 40), "special_airy_ai": (1, 80), "special_bessel_j0": (1, 60),
    "special_bessel_j1": (1, 60), "special_bessel_y0": (1, 70), "special_bessel_y1": (1, 70),
    "special_modified_bessel_i0": (1, 40), "special_modified_bessel_i1": (1, 40),
    "special_modified_bessel_k0": (1, 60), "special_modified_bessel_k1": (1, 60),
    "special_spherical_bessel_j0": (2, 30), "special_xlog1py": (2, 18), "special_zeta": (1, 200),
}  # fmt: skip
"""Overloads `default` and `out` only."""

BINARY: dict[str, Steps] = {
    "add": (1, 1),
    "sub": (1, 1),
    "mul": (1, 1),
    "div": (1, 8),
    "copysign": (1, 1),
}
"""Overloads `Tensor`, `Scalar`, `out`, `Scalar_out`, and the first two in place."""

COMPARISON: dict[str, Steps] = {
    "eq": (1, 1), "ne": (1, 1), "lt": (1, 1), "le": (1, 1), "gt": (1, 1), "ge": (1, 1),
    "remainder": (4, 14), "fmod": (3, 20), "bitwise_and": (1, 1), "bitwise_or": (1, 1),
    "bitwise_xor": (1, 1),
}  # fmt: skip
"""Overloads `Tensor`, `Scalar`, `Tensor_out`, `Scalar_out`, and the first two in place."""

LOGICAL: dict[str, Steps] = {
    "logical_and": (1, 1), "logical_or": (1, 1), "logical_xor": (1, 1), "atan2": (1, 30),
    "hypot": (4, 12), "nextafter": (1, 10), "heaviside": (2, 3), "gcd": (20, 100),
    "lcm": (22, 110), "igamma": (1, 200), "igammac": (1, 200), "polygamma": (1, 100),
    # self + value·(t1·t2), self + value·(t1 / t2)
    "addcmul": (3, 2), "addcdiv": (3, 10),
}  # fmt: skip
"""Overloads `default` and `out`, and `default` in place, of two or three tensors."""

BACKWARD: dict[str, Steps] = {
    # g·(1 - y)·y and g·(1 - y²)
    "sigmoid_backward": (3, 3), "tanh_backward": (3, 2),
    # g·s·(1 + x·(1 - s)) with s = sigmoid(x), which takes 4
    "silu_backward": (8, 18),
    # g·(Φ(x) + x·φ(x)): Φ takes 4, φ takes 4, the rest 3
    "gelu_backward": (11, 40),
    "threshold_backward": (1, 2), "hardtanh_backward": (2, 3), "hardsigmoid_backward": (3, 4),
    "hardshrink_backward": (2, 3), "softshrink_backward": (2, 3), "leaky_relu_backward": (2, 2),
    "elu_backward": (4, 14), "softplus_backward": (4, 20), "logit_backward": (4, 14),
    # two results: s takes 4, g·s 1, g·a·s·(1 - s) 4: 9 for both
    "glu_backward": (5, 12),
}  # fmt: skip
"""Overloads `default` and `grad_input`."""

LONE: dict[str, Steps] = {
    "aten.hardswish_backward.default": (5, 6), "aten.hardswish_backward.out": (5, 6),
    "aten.mish_backward.default": (8, 50), "aten._prelu_kernel.default": (2, 2),
    "aten._prelu_kernel_backward.default": (3, 4),
    "aten.log_sigmoid_forward.default": (5, 28), "aten.log_sigmoid_forward.output": (5, 28),
    "aten.log_sigmoid_backward.default": (5, 16), "aten.log_sigmoid_backward.grad_input": (5, 16),
    "aten.rrelu_with_noise_backward.default": (2, 2),
    "aten.where.self": (0, 1), "aten.where.self_out": (0, 1),
    "aten.rsub.Tensor": (1, 1), "aten.rsub.Scalar": (1, 1),
    "aten.round.decimals": (3, 10), "aten.round_.decimals": (3, 10),
    "aten.floor_divide.default": (2, 14), "aten.floor_divide.Scalar": (2, 14),
    "aten.floor_divide_.Tensor": (2, 14), "aten.floor_divide_.Scalar": (2, 14),
    "aten.floor_divide.out": (2, 14),
    "aten.ldexp.Tensor": (2, 6), "aten.ldexp_.default": (2, 6),
    "aten.masked_fill_.Scalar": (0, 1), "aten._masked_scale.default": (2, 2),
    "aten.native_dropout_backward.default": (2, 2), "aten.native_dropout_backward.out": (2, 2),
    "aten.fake_quantize_per_tensor_affine_cachemask.default": (7, 14),
    "aten.fake_quantize_per_tensor_affine_cachemask_backward.default": (1, 1),
    "aten.special_xlog1py.self_scalar": (2, 18), "aten.special_xlog1py.other_scalar": (2, 18),
    "aten._add_relu.Tensor": (2, 2), "aten._add_relu_.Tensor": (2, 2),
}  # fmt: skip
"""Ops with irregular overloads, by full overload name."""

_SUFFIXES: tuple[tuple[dict[str, Steps], tuple[str, ...], tuple[str, ...]], ...] = (
    (UNARY, ("default", "out"), ("default",)),
    (FUNCTIONAL, ("default", "out"), ()),
    (BINARY, ("Tensor", "Scalar", "out", "Scalar_out"), ("Tensor", "Scalar")),
    (COMPARISON, ("Tensor", "Scalar", "Tensor_out", "Scalar_out"), ("Tensor", "Scalar")),
    (LOGICAL, ("default", "out"), ("default",)),
    (BACKWARD, ("default", "grad_input"), ()),
    ({"div": (2, 10)}, ("Tensor_mode", "Scalar_mode", "out_mode"), ("Tensor_mode", "Scalar_mode")),
    (
        {"bitwise_left_shift": (1, 1), "bitwise_right_shift": (1, 1)},
        ("Tensor", "Tensor_Scalar", "Tensor_out", "Tensor_Scalar_out"),
        ("Tensor", "Tensor_Scalar"),
    ),
    ({"lerp": (3, 3)}, ("Scalar", "Tensor", "Scalar_out", "Tensor_out"), ("Scalar", "Tensor")),
    (
        {"xlogy": (2, 12)},
        ("Tensor", "Scalar_Other", "Scalar_Self", "OutTensor"),
        ("Tensor", "Scalar_Other"),
    ),
    (
        {"clamp": (2, 2), "clamp_min": (1, 1), "clamp_max": (1, 1)},
        ("default", "Tensor", "out", "Tensor_out"),
        ("default", "Tensor"),
    ),
)


def scaled(op: Signature, steps: Steps) -> Steps:
    """Steps of `a + alpha·b`, a fused multiply-add whose multiply counts if alpha is not 1."""
    return (steps[0] + (op.arg("alpha", 1) != 1), steps[1])


def power(exponent: object) -> Steps:
    """Steps of x to a power; small powers are special cases (ATen/native/cuda/PowKernel.cu,
    `pow_tensor_scalar`)."""
    special = {2: (1, 1), 3: (2, 2), 0.5: (1, 6), -0.5: (1, 6), -1: (1, 8), -2: (2, 9)}
    return special.get(exponent, (1, 40)) if isinstance(exponent, int | float) else (1, 40)


def _row(steps: Steps) -> Cost:
    return lambda op: elementwise(op, scaled(op, steps))


# erf becomes tanh: x³ by two multiplies, ·0.044715, + x, ·√(2/π), tanh, + 1, ·0.5, ·x
_TANH_GELU: dict[str, tuple[Steps, Steps]] = {
    "gelu": (UNARY["gelu"], (9, 22)),
    "gelu_backward": (BACKWARD["gelu_backward"], (18, 28)),
}


def _gelu(exact: Steps, by_tanh: Steps) -> Cost:
    return lambda op: elementwise(op, by_tanh if op.arg("approximate") == "tanh" else exact)


_REAL_OF_COMPLEX = ("abs", "angle")


def _real(steps: Steps) -> Cost:
    """Cost of a real result of complex operands: a complex result is computed, and its real part is
    copied (ATen/native/UnaryOps.cpp, `unary_op_impl_with_complex_to_float_out`)."""

    def rule(op: Signature) -> tuple[Work, ...]:
        out, numbers = op.out, op["self"].dtype
        if not numbers.startswith("complex") or out.dtype.startswith("complex"):
            return elementwise(op, steps)
        if not out.numel:
            return ()
        result = replace(op, outputs=(replace(out, dtype=numbers),))
        parts = replace(out, stride=tuple(2 * step for step in out.stride))
        return *elementwise(result, steps), strided_copy(parts, out, out.nbytes)

    return rule


def _rule(name: str, steps: Steps) -> Cost:
    if name in _TANH_GELU:
        return _gelu(*_TANH_GELU[name])
    return _real(steps) if name in _REAL_OF_COMPLEX else _row(steps)


def _register() -> None:
    for table, functional, in_place in _SUFFIXES:
        for name, steps in table.items():
            rule = _rule(name, steps)
            cost(*(f"aten.{name}.{suffix}" for suffix in functional))(rule)
            if in_place:
                cost(*(f"aten.{name}_.{suffix}" for suffix in in_place))(rule)
    for name, steps in LONE.items():
        cost(name)(_row(steps))


_register()


@cost(
    "aten.pow.Tensor_Scalar",
    "aten.pow.Tensor_Tensor",
    "aten.pow.Scalar",
    "aten.pow_.Scalar",
    "aten.pow_.Tensor",
    "aten.pow.Tensor_Scalar_out",
    "aten.pow.Tensor_Tensor_out",
    "aten.pow.Scalar_out",
)
def pow_(op: Signature) -> tuple[Work, ...]:
    """x to the power `exponent`, which is a number or a tensor."""
    return elementwise(op, power(op.arg("exponent")))


@cost("prims.mul.default")
def multiply(op: Signature) -> tuple[Work, ...]:
    """a·b, in the form that torch's decompositions call."""
    return elementwise(op, BINARY["mul"])


def _reads_value(op: Signature) -> bool:
    """Whether the host reads the value from the GPU, to fill with a number."""
    value = op.get("value")
    return value is not None and value.device == "cuda"


@cost("aten.masked_fill.Tensor", "aten.masked_fill_.Tensor", waits=_reads_value)
@cost("aten.masked_fill.Scalar")
def masked_fill(op: Signature) -> tuple[Work, ...]:
    """A clone that is filled in place (TensorAdvancedIndexing.cpp, `masked_fill`). The host first
    fetches a value that is on the GPU."""
    value = op.get("value")
    fetch = (to_host(value.itemsize),) if value is not None and value.device != "cpu" else ()
    fill = elementwise(
        replace(op, inputs=(op.out, op["mask"]), names=("self", "mask"), aliases=(0, 1, 0)), (0, 1)
    )
    if op.name.startswith("aten.masked_fill_.") or not fill:
        return (*fetch, *fill)
    return (*fetch, copy_onto(op["self"], op.out), *fill)


@cost("aten.rrelu_with_noise.default", "aten.rrelu_with_noise_.default")
def rrelu(op: Signature) -> tuple[Work, ...]:
    """A leaky ReLU; in training its slopes are random and saved in `noise`."""
    if not op.arg("training", False):
        reads = replace(op, inputs=(op["self"],), names=("self",), aliases=())
        return elementwise(reads, (2, 2))
    write = op.write_bytes + op["noise"].nbytes  # the noise is not read
    return tuple(
        replace(work, read_bytes=read_of(op, "self"), write_bytes=write)
        for work in elementwise(op, (4, 24), "random")
    )
