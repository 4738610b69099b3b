"""Vectorized execution of code written for single numbers.

Costs and lowerings are written for the sizes of one op. `walked` runs them with a `Varying`, an
array with one number per point, in place of each size. If a condition (`if n > 1`) has the same
result at all points, the code continues; otherwise it continues for some of the points, and runs
again for the others. So the code runs once per path through it instead of once per point, and no
formula exists twice. Imports nothing from Ridgepoint.
"""

from simulator.varying.columns import anywhere, in_column, stacked
from simulator.varying.number import Varying
from simulator.varying.paths import Walked, at_each, in_arrays, walked

__all__ = [
    "Varying",
    "Walked",
    "anywhere",
    "at_each",
    "in_arrays",
    "in_column",
    "stacked",
    "walked",
]
