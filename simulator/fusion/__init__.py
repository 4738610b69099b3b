"""Fusion predicted from the traced graph, without a compiler: Inductor's rules, restated."""

from simulator.fusion import epilogue, work
from simulator.fusion.fused_trace import Fused
from simulator.fusion.partition import fused, partition
from simulator.fusion.rules import LEVELS, LIKE, RULES, Level

__all__ = [
    "LEVELS", "LIKE", "RULES", "Fused", "Level", "epilogue", "fused", "partition", "work",
]  # fmt: skip
