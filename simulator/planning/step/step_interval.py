"""The 80% interval of a server's step, from the uncertainty of each of its parts.

The parts err independently, so that their half-widths combine as the root of their sum of squares:

kernels      PyTorch's, from the profile of the card; in an engine with its own kernels (products
             in low precision, fused norms, paged attention) also how far these lie from PyTorch's
attention    an engine's kernel may read the cache as slowly as the traced one
collectives  NCCL's, and an engine's own all-reduces, by the fits of the link
host         the work between iterations takes from half to twice as long as assumed; if it overlaps
             with the GPU's, only where it is longer
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.planning.step.engine_attention import engine_kernels
from simulator.planning.step.rank_step import Communication
from simulator.simulate.step_columns import StepColumns

Floats = NDArray[np.float64]

HOST = 0.5, 2.0
"""The interval of the host's time between iterations, as multiples of the assumed time."""


class Parts(NamedTuple):
    """A step at several points [points], in seconds: `kernels` of one rank as traced; the time that
    an engine saves on them, `saved_s`, and on attention, `attention_s`; its collectives, if any;
    and the host's work between iterations."""

    kernels: StepColumns[Floats]
    saved_s: Floats
    attention_s: Floats
    moved: Communication | None
    host_s: Floats


def ends(parts: Parts, engine: str) -> tuple[Floats, Floats]:
    """The low and high ends of steps [points], as multiples of the step."""
    own_s = parts.kernels.period_s - parts.saved_s - parts.attention_s
    scale = own_s / parts.kernels.period_s
    spread_s = own_s * engine_kernels(engine).get("kernels", 0.0)
    below = [(parts.kernels.period_s - parts.kernels.low_s) * scale, spread_s]
    above = [(parts.kernels.high_s - parts.kernels.period_s) * scale, spread_s, parts.attention_s]
    overlaps = engine_kernels(engine).get("overlaps")
    if not overlaps:
        below.append((1 - HOST[0]) * parts.host_s)
        above.append((HOST[1] - 1) * parts.host_s)
    step_s = own_s if overlaps else own_s + parts.host_s
    if (moved := parts.moved) is not None:
        step_s = step_s + moved.seconds
        below.append(moved.seconds - moved.low_s)
        above.append(moved.high_s - moved.seconds)
    low_s = step_s - np.sqrt(sum(b**2 for b in below))
    high_s = step_s + np.sqrt(sum(a**2 for a in above))
    if overlaps:
        low_s, step_s, high_s = (
            np.maximum(gpu_s, times * parts.host_s)
            for gpu_s, times in ((low_s, HOST[0]), (step_s, 1.0), (high_s, HOST[1]))
        )
    return low_s / step_s, high_s / step_s
