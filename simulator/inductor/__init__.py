"""Fusion as decided by Inductor's own scheduler, run for a CUDA GPU without one.

It runs in a child process (`child`), the only one that imports torch; `exact` starts it.
May import scenario, fusion and what they stand on.
"""

from simulator.inductor.exact import exact
from simulator.inductor.refusal import RefusalError

__all__ = ["RefusalError", "exact"]
