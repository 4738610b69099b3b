"""How torch.compile and autocast treat an op: the traits that `cost` registers beside the cost.

What they leave out follows from the cost. The families of its works give its kind, and
each FLOP takes one issue slot in a generated kernel. Such an op is not computed again in the
backward pass, and autocast leaves its operands as they are.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple

Kind = Literal["pointwise", "reduction", "library", "none"]
Recompute = Literal["listed", "decomposed", "random", "intensive"]
Autocast = Literal["low", "float32", "float32_argument", "widest"]


class Traits(NamedTuple):
    """The compiled-mode traits of an op.

    kind       the generated kernel: a loop over elements, a reduction, or a library call
    slots      issue slots per element in a generated kernel, without loads and stores
    row_slots  issue slots per element of an op over rows: first if a row stays in registers, then
               if the kernel loops along it
    triton     an element as a Triton expression of the arguments that it names
    positive   the argument `self` must be positive; the check of an exported kernel ensures that
    recompute  its class in torch's partitioner (`get_default_op_list` of
               torch/_functorch/partitioners.py): "listed" ops may be computed again in the backward
               pass; "decomposed" stands for several listed ops in the joint graph; "random" fuses
               with listed ops but may not run again; "intensive" runs again only within a budget
    autocast   its list in ATen/autocast_mode.h: operands become the "low" precision or "float32";
               "float32_argument" sets the argument `dtype` instead; "widest" takes the widest
               precision of the operands
    overloads  the overloads in that list; the others are not cast

    Slots of functions were measured with chains of 4 and 16 of a function on an H200
    (`generated_function_chain`), so they include the latencies of instructions. Slots of gradients
    were counted in the machine code of Triton's compiler and ptxas for compute capability 9.0. A
    special function (MUFU) keeps a quarter of a unit busy for 8 clocks per warp, so it counts at
    least 8. The sine is counted without its path for large angles (124 slots with it), the
    hyperbolic tangent with both of its paths (13 slots with one), because a warp of ordinary values
    runs both. A maximum or minimum first tests for NaN. A loaded index is wrapped if negative,
    checked against the bounds (config.assert_indirect_indexing) and converted to an address.

    Bicubic interpolation took 67 ps for each result on an H200 (11 images of 768 × 54 × 54 in 1.68
    ms, one in 0.15 ms). Inductor's kernel computes weights and an index for each of the 16 inputs
    of a result.

    Slots of rows: a softmax is max, x − max, exp of 8, sum; again x − max, and a product with the
    reciprocal's 8. If the kernel loops along the row, each running maximum costs two more exps and
    selects, and the exp is computed again. A norm is two sums, then (x − mean)·scale·weight + bias;
    in a loop, Welford's step has a division.
    """

    kind: Kind | None = None
    slots: int | None = None
    row_slots: tuple[int, int] | None = None
    triton: str = ""
    positive: bool = False
    recompute: Recompute | None = None
    autocast: Autocast | None = None
    overloads: tuple[str, ...] = ("default",)


listed = partial(Traits, recompute="listed")
LISTED = listed()
"""The traits of most pointwise ops, which may be computed again in the backward pass."""
