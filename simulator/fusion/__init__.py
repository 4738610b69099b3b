"""Predict fusion from the traced graph by Inductor's rules, without a compiler.

May import lowering, schedule, timing and their imports; no torch and no scenario.
"""

from simulator.fusion.fused import Fused, Replays, trace_of
from simulator.fusion.lowering import epilogue
from simulator.fusion.rules import LEVELS, LIKE, RULES, Level
from simulator.fusion.scheduling import work
from simulator.fusion.scheduling.partition import fused, partition

__all__ = [
    "LEVELS",
    "LIKE",
    "RULES",
    "Fused",
    "Level",
    "Replays",
    "epilogue",
    "fused",
    "partition",
    "trace_of",
    "work",
]
