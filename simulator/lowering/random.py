"""Random number generation by as many threads as the GPU keeps resident."""

from __future__ import annotations

from msgspec.structs import replace

from simulator.costs import Work
from simulator.costs.movement.fills import PHILOX
from simulator.hardware.gpu import GPU
from simulator.lowering.registry import lowering
from simulator.lowering.turns import threads_of_unit
from simulator.records import Signature
from simulator.timing.rates import units_of

_DRAWN = 4
"""Numbers per Philox draw, used for elements one grid apart."""


@lowering("random")
def random(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """A thread draws four numbers at a time and discards those without an element: up to a grid
    that fills the GPU each number costs as much as four (DistributionTemplates.h,
    `calc_execution_policy`). A thread that loads vectors uses all four."""
    d = work.dims
    if "vector" not in d:
        return (work,)
    n, threads = d["elements"], units_of(gpu) * threads_of_unit(gpu)
    if d["vector"] > 1:
        draws = n // min(d["vector"], _DRAWN)
    else:
        draws = min(n, threads * -(-n // (_DRAWN * threads)))
    return (replace(work, instructions=PHILOX * draws + d["slots"] * n),)
