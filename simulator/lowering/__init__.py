"""From ops to the kernels that a given GPU launches for them: importing it registers the rules."""

from simulator.lowering import convolution, foreach, product, recurrent, reduction
from simulator.lowering.lower import Lowered, lower
from simulator.lowering.registry import launches

__all__ = [
    "Lowered", "convolution", "foreach", "launches", "lower", "product", "recurrent", "reduction",
]  # fmt: skip
