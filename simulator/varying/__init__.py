"""Code for one number, run for many at once.

Costs and lowerings are written for the sizes of one op. `walked` runs them with a `Varying` in
place of each size: one number at every point, an array inside. Where a question (`if n > 1`) has
one answer at all points the code goes on; where it has two, one part of the points goes on and the
others come again later. So the code is run once for each path through it, not once for each point,
and there is no second copy of any formula. Imports nothing of Ridgepoint.
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
