"""The costs of the rows of the tables, and of pointwise ops whose cost is more than a row."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs.compiled_traits import LISTED, listed
from simulator.costs.kernels.elementwise import Steps, elementwise, read_of
from simulator.costs.kernels.launches import copy_onto, fill_like, strided_copy, to_host
from simulator.costs.pointwise.tables import (
    BACKWARD,
    BINARY,
    COMPARISON,
    FUNCTIONAL,
    LOGICAL,
    LONE,
    UNARY,
    Row,
)
from simulator.costs.registry import Cost, Work, cost
from simulator.records import Signature, Tensor, row_major


def scaled(op: Signature, steps: Steps) -> Steps:
    """Steps of `a + alpha·b`, a fused multiply-add whose multiply counts if alpha is not 1."""
    return (steps[0] + (op.arg("alpha", 1) != 1), steps[1])


_POWER: Steps = (1, 60)


def power(exponent: object) -> Steps:
    """Steps of x to a power; small powers are special cases (ATen/native/cuda/PowKernel.cu,
    `pow_tensor_scalar`)."""
    reciprocal = UNARY["reciprocal"].instructions
    special: dict[float, Steps] = {
        2: (1, 1), 3: (2, 2), 0.5: UNARY["sqrt"].steps, -0.5: UNARY["rsqrt"].steps,
        -1: (1, reciprocal), -2: (2, reciprocal + 1),
    }  # fmt: skip
    return special.get(exponent, _POWER) if isinstance(exponent, int | float) else _POWER


_ARITHMETIC = 8  # most instructions of a row without a special function
_COMPLEX_FUNCTION = 60
"""Instructions of a special function of a complex number: an exponential, a sine and a cosine."""


def _row(steps: Steps) -> Cost:
    def rule(op: Signature) -> tuple[Work, ...]:
        flops, slots = scaled(op, steps)
        if op.out.dtype.startswith("complex") and slots > _ARITHMETIC:
            slots = _COMPLEX_FUNCTION
        return elementwise(op, (flops, slots))

    return rule


# erf becomes tanh: x³ by two multiplies, ·0.044715, + x, ·√(2/π), tanh, + 1, ·0.5, ·x
_TANH_GELU: dict[str, tuple[Steps, Steps]] = {
    "gelu": (UNARY["gelu"].steps, (9, 22)),
    "gelu_backward": (BACKWARD["gelu_backward"].steps, (18, 28)),
}


def _gelu(exact: Steps, by_tanh: Steps) -> Cost:
    return lambda op: elementwise(op, by_tanh if op.arg("approximate") == "tanh" else exact)


_OF_COMPLEX = {"abs": 15, "angle": 46, "sgn": 47}
"""Instructions for a complex number of ops with a modulus or an angle."""


def _real(steps: Steps, of_complex: int) -> Cost:
    """Cost of a real result of complex operands: a complex result is computed, and its real part is
    copied (ATen/native/UnaryOps.cpp, `unary_op_impl_with_complex_to_float_out`)."""

    def rule(op: Signature) -> tuple[Work, ...]:
        out, numbers = op.out, op["self"].dtype
        if not numbers.startswith("complex"):
            return elementwise(op, steps)
        if out.dtype.startswith("complex"):
            return elementwise(op, (steps[0], of_complex))
        if not out.numel:
            return ()
        result = replace(op, outputs=(replace(out, dtype=numbers),))
        parts = replace(out, stride=tuple(2 * step for step in out.stride))
        modulus = elementwise(result, (steps[0], of_complex))
        return *modulus, strided_copy(parts, out, out.nbytes)

    return rule


_INTEGER_DIVISION = {1: 24, 2: 24, 4: 30, 8: 42}
"""Instructions of a division of integers by their bytes: a reciprocal and corrections, which is a
subroutine for int64."""
_DIVIDES = ("remainder", "fmod")
_FLOORED: Steps = (2, 110)
_TRUNCATED: Steps = (2, 16)


def _division(steps: Steps) -> Cost:
    """Cost of a rounded quotient or its remainder: of floats by `fmod`, which subtracts multiples
    of the divisor in a loop (ATen/native/cuda/BinaryInternal.h, `div_floor_floating`)."""

    def rule(op: Signature) -> tuple[Work, ...]:
        flops, slots = _TRUNCATED if op.arg("rounding_mode") == "trunc" else steps
        if op.out.dtype.startswith(("int", "uint")):
            slots = _INTEGER_DIVISION[op.out.itemsize]
        return elementwise(op, (flops, slots))

    return rule


def _quotient(steps: Steps) -> Cost:
    """Cost of a quotient; a division by a number multiplies by its reciprocal
    (ATen/native/cuda/BinaryDivTrueKernel.cu)."""

    def rule(op: Signature) -> tuple[Work, ...]:
        by_number = sum(t.device != "cpu" for t in op.inputs if t is not op.get("out")) == 1
        return elementwise(op, BINARY["mul"].steps if by_number else steps)

    return rule


def _rule(name: str, steps: Steps) -> Cost:
    if name == "div":
        return _quotient(steps)
    if name in _DIVIDES:
        return _division(steps)
    if name in _TANH_GELU:
        return _gelu(*_TANH_GELU[name])
    return _real(steps, _OF_COMPLEX[name]) if name in _OF_COMPLEX else _row(steps)


def _register(
    table: dict[str, Row], overloads: tuple[str, ...], in_place: tuple[str, ...] = ()
) -> None:
    """Register the rows of a table with their overloads, and with those of the ops in place."""
    for name, row in table.items():
        names = [f"aten.{name}.{overload}" for overload in overloads]
        names += [f"aten.{name}_.{overload}" for overload in in_place]
        cost(*names, traits=row.traits)(_rule(name, row.steps))


_register(UNARY, ("default", "out"), ("default",))
_register(FUNCTIONAL, ("default", "out"))
_register(BINARY, ("Tensor", "Scalar", "out", "Scalar_out"), ("Tensor", "Scalar"))
_register(COMPARISON, ("Tensor", "Scalar", "Tensor_out", "Scalar_out"), ("Tensor", "Scalar"))
_register(LOGICAL, ("default", "out"), ("default",))
_register(BACKWARD, ("default", "grad_input"))
cost(*(f"aten.div{mark}.{kind}_mode" for mark in ("", "_") for kind in ("Tensor", "Scalar")))(
    _division(_FLOORED)
)
cost("aten.div.out_mode")(_division(_FLOORED))
cost(
    *(f"aten.floor_divide.{kind}" for kind in ("default", "Scalar", "out")),
    *(f"aten.floor_divide_.{kind}" for kind in ("Tensor", "Scalar")),
)(_division(_FLOORED))
_register(
    {"bitwise_left_shift": Row(1, 1), "bitwise_right_shift": Row(1, 1)},
    ("Tensor", "Tensor_Scalar", "Scalar_Tensor", "Tensor_out", "Tensor_Scalar_out"),
    ("Tensor", "Tensor_Scalar"),
)
_register(  # `x << 3`, `x >>= 3`
    {f"__{place}{side}shift__": Row(1, 1) for place in ("", "i") for side in "lr"},
    ("Tensor", "Scalar"),
)
_register(
    {name: COMPARISON[name] for name in ("remainder", "bitwise_and", "bitwise_or", "bitwise_xor")},
    ("Scalar_Tensor",),
)
_register(
    {"lerp": Row(3, 3)}, ("Scalar", "Tensor", "Scalar_out", "Tensor_out"), ("Scalar", "Tensor")
)
_register(
    {"xlogy": Row(2, 28)},
    ("Tensor", "Scalar_Other", "Scalar_Self", "OutTensor"),
    ("Tensor", "Scalar_Other"),
)
_register(
    {
        "clamp": Row(2, 6, listed(slots=10)),
        "clamp_min": Row(1, 5, listed(slots=5)),
        "clamp_max": Row(1, 5, listed(slots=5)),
    },
    ("default", "Tensor", "out", "Tensor_out"),
    ("default", "Tensor"),
)
for _name, _row_of_name in LONE.items():
    cost(_name, traits=_row_of_name.traits)(_row(_row_of_name.steps))


@cost(
    "aten.pow.Tensor_Scalar",
    "aten.pow.Tensor_Tensor",
    "aten.pow_.Scalar",
    "aten.pow_.Tensor",
    "aten.pow.Tensor_Scalar_out",
    "aten.pow.Tensor_Tensor_out",
    traits=listed(autocast="float32", overloads=("Scalar", "Tensor_Scalar", "Tensor_Tensor")),
)
def pow_(op: Signature) -> tuple[Work, ...]:
    """x to the power `exponent`, which is a number or a tensor. The power 0 is a fill. The power 1
    is a copy, or nothing in place (ATen/native/Pow.cpp, `pow_Tensor_Scalar_out`)."""
    exponent = op.arg("exponent")
    if exponent == 0:
        return (fill_like(op.out),)
    if exponent == 1:
        return () if op.name == "aten.pow_.Scalar" else (copy_onto(op["self"], op.out),)
    return elementwise(op, power(exponent))


@cost("aten.pow.Scalar", "aten.pow.Scalar_out")
def power_of_number(op: Signature) -> tuple[Work, ...]:
    """A number to the power of a tensor: the number is written to a tensor on the GPU, a double for
    a float, which the kernel reads for each element (ATen/native/Pow.cpp, `pow_Scalar_out`). All
    powers of 1 are a fill."""
    number: object = op.arg("self")
    if number == 1:
        return (fill_like(op.out),)
    kinds = ((bool, "bool"), (int, "int64"), (complex, "complex128"))
    kind = next((dtype for each, dtype in kinds if isinstance(number, each)), "float64")
    return _power_of(kind, op["exponent"], op.out)


def _power_of(kind: str, exponent: Tensor, out: Tensor) -> tuple[Work, ...]:
    """A fill of a tensor of one number, and its power."""
    base = Tensor((), kind, ())
    raised = Signature("aten.pow.Tensor_Tensor", (base, exponent), (out,), ("self", "exponent"), {})
    return fill_like(base), *elementwise(raised, power(None))


@cost("aten.ldexp.Tensor", "aten.ldexp_.default", traits=LISTED)
def ldexp(op: Signature) -> tuple[Work, ...]:
    """x·2^other: the power of 2 (ATen/native/BinaryOps.cpp, `ldexp`), then the product."""
    other = op["other"]
    powers = replace(other, dtype=op.out.dtype, stride=row_major(other.shape))
    product = replace(op, inputs=(op["self"], powers), aliases=())
    return *_power_of(powers.dtype, other, powers), *elementwise(product, BINARY["mul"].steps)


@cost("aten.isinf.default", "aten.isinf.out", traits=LISTED)
def isinf(op: Signature) -> tuple[Work, ...]:
    """|x| == ∞ (ATen/native/TensorCompare.cpp, `isinf`); no integer is infinite."""
    x = op["self"]
    if not x.dtype.startswith(("float", "bfloat", "complex")):
        return (fill_like(op.out),)
    magnitude = replace(op.out, dtype=x.dtype)
    absolute = replace(op, inputs=(x,), names=("self",), outputs=(magnitude,), aliases=())
    compared = replace(absolute, inputs=(magnitude,), outputs=(op.out,))
    return (
        *elementwise(absolute, UNARY["abs"].steps),
        *elementwise(compared, COMPARISON["eq"].steps),
    )


@cost("prims.mul.default")
def multiply(op: Signature) -> tuple[Work, ...]:
    """a·b, in the form that torch's decompositions call."""
    return elementwise(op, BINARY["mul"].steps)


def _reads_value(op: Signature) -> bool:
    """Whether the host reads the value from the GPU, to fill with a number."""
    value = op.get("value")
    return value is not None and value.device == "cuda"


@cost("aten.masked_fill.Tensor", "aten.masked_fill_.Tensor", waits=_reads_value)
@cost("aten.masked_fill.Scalar", traits=LISTED)
def masked_fill(op: Signature) -> tuple[Work, ...]:
    """A clone that is filled in place (TensorAdvancedIndexing.cpp, `masked_fill`); some gradients
    need no clone. The host first fetches a value that is on the GPU."""
    value = op.get("value")
    fetch = (to_host(value.itemsize),) if value is not None and value.device != "cpu" else ()
    fill = elementwise(
        replace(op, inputs=(op.out, op["mask"]), names=("self", "mask"), aliases=(0, 1, 0)), (0, 1)
    )
    if op.name.startswith("aten.masked_fill_.") or op.arg("in_place", False) or not fill:
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
