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
from simulator.records import Signature


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
    "gelu": (UNARY["gelu"].steps, (9, 22)),
    "gelu_backward": (BACKWARD["gelu_backward"].steps, (18, 28)),
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
_register(  # "div" has its traits in a table
    {"div": Row(2, 10, None)},
    ("Tensor_mode", "Scalar_mode", "out_mode"),
    ("Tensor_mode", "Scalar_mode"),
)
_register(
    {"bitwise_left_shift": Row(1, 1), "bitwise_right_shift": Row(1, 1)},
    ("Tensor", "Tensor_Scalar", "Tensor_out", "Tensor_Scalar_out"),
    ("Tensor", "Tensor_Scalar"),
)
_register(
    {"lerp": Row(3, 3)}, ("Scalar", "Tensor", "Scalar_out", "Tensor_out"), ("Scalar", "Tensor")
)
_register(
    {"xlogy": Row(2, 12)},
    ("Tensor", "Scalar_Other", "Scalar_Self", "OutTensor"),
    ("Tensor", "Scalar_Other"),
)
_register(
    {
        "clamp": Row(2, 2, listed(slots=10)),
        "clamp_min": Row(1, 1, listed(slots=5)),
        "clamp_max": Row(1, 1, listed(slots=5)),
    },
    ("default", "Tensor", "out", "Tensor_out"),
    ("default", "Tensor"),
)
for _name, _row_of_name in LONE.items():
    cost(_name, traits=_row_of_name.traits)(_row(_row_of_name.steps))


@cost(
    "aten.pow.Tensor_Scalar",
    "aten.pow.Tensor_Tensor",
    "aten.pow.Scalar",
    "aten.pow_.Scalar",
    "aten.pow_.Tensor",
    "aten.pow.Tensor_Scalar_out",
    "aten.pow.Tensor_Tensor_out",
    "aten.pow.Scalar_out",
    traits=listed(autocast="float32", overloads=("Scalar", "Tensor_Scalar", "Tensor_Tensor")),
)
def pow_(op: Signature) -> tuple[Work, ...]:
    """x to the power `exponent`, which is a number or a tensor. A power of 0 fills with ones, a
    power of 1 copies, or in place does nothing (ATen/native/Pow.cpp, `pow_tensor_scalar_out`)."""
    exponent, out = op.arg("exponent"), op.out
    if exponent == 0:
        return (fill_like(out),) if out.numel else ()
    if exponent == 1:
        in_place = op.name.startswith("aten.pow_.")
        return () if in_place or not out.numel else (copy_onto(op["self"], out),)
    return elementwise(op, power(op.arg("exponent")))


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
