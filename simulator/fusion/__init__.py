"""Predict fusion from the traced graph by Inductor's rules, without a compiler.

May import lowering, schedule, timing and their imports; no torch and no scenario. The passes are
imported when a step is fused: an eager step needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.fusion.fused import Fused, Replays, trace_of
from simulator.fusion.lowering import epilogue
from simulator.fusion.rules import LEVELS, LIKE, RULES, Level
from simulator.fusion.scheduling import work

if TYPE_CHECKING:
    from simulator.hardware.gpu import GPU
    from simulator.records import Trace
    from simulator.timing.profile import Profile

__all__ = [
    "LEVELS",
    "LIKE",
    "RULES",
    "Fused",
    "Level",
    "Replays",
    "epilogue",
    "fused",
    "trace_of",
    "work",
]


def fused(
    step: Trace | Fused, gpu: GPU, level: Level = "compiled", profile: Profile | None = None
) -> Fused:
    """Fuse a traced step into kernels; see `simulator.fusion.scheduling.partition`."""
    from simulator.fusion.scheduling.partition import fused as run

    return run(step, gpu, level, profile)
