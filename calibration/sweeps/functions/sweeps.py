"""All functions as two kinds of call: forward, and the gradient of the first operand."""

from __future__ import annotations

from random import Random

from torch import Tensor

from calibration.sweeps.functions.arrangements import ARRANGEMENTS
from calibration.sweeps.functions.elements import ELEMENTS
from calibration.sweeps.functions.losses import LOSSES
from calibration.sweeps.functions.matrices import MATRICES
from calibration.sweeps.functions.pictures import PICTURES
from calibration.sweeps.functions.random_numbers import DRAWN
from calibration.sweeps.functions.rows import ROWS
from calibration.sweeps.functions.table import Function, drawn, operand
from calibration.sweeps.operands import backward
from calibration.sweeps.registry import Call, Params, operation
from calibration.sweeps.shapes import sweep

FUNCTIONS: dict[str, Function] = {
    **ELEMENTS, **ROWS, **ARRANGEMENTS, **MATRICES, **LOSSES, **PICTURES, **DRAWN,
}  # fmt: skip
_DIFFERENTIABLE = {name: each for name, each in FUNCTIONS.items() if each.gradient}


def _forward(rng: Random) -> Params | None:
    return drawn(rng, FUNCTIONS)


def _backward(rng: Random) -> Params | None:
    return drawn(rng, _DIFFERENTIABLE)


@operation(sweep("function", 495, _forward))
def function(name: str, dtype: str, sizes: list[int], last: bool) -> Call:
    """A function of random numbers of these sizes."""
    described = FUNCTIONS[name]
    x = operand(described, dtype, sizes, last, False)
    others = described.operands(x)
    return lambda: described.call(x, *others)


@operation(sweep("function_backward", 385, _backward))
def function_backward(name: str, dtype: str, sizes: list[int], last: bool) -> Call:
    """The gradient of the first operand."""
    described = FUNCTIONS[name]
    x = operand(described, dtype, sizes, last, True)
    y: Tensor = described.call(x, *described.operands(x))
    return backward(y, [x])
