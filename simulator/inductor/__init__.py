"""Fusion as the real Inductor decides it: its scheduler, run for a CUDA card without one.

It runs in a process of its own (`child`), which alone imports torch. `exact` asks it.
May import scenario, fusion and what they stand on.
"""

from simulator.inductor.exact import exact
from simulator.inductor.refusal import RefusalError

__all__ = ["RefusalError", "exact"]
