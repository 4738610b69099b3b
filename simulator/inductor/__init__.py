"""Fusion as decided by Inductor's own scheduler, which runs for a CUDA GPU that is not present.

It runs in a child process (`child`), the only one that imports torch; `exact` starts it.
May import scenario, fusion and their imports.
"""

from simulator.inductor.exact import exact
from simulator.inductor.refusal import RefusalError

__all__ = ["RefusalError", "exact"]
