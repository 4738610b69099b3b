"""Fusion predicted from the traced graph, without a compiler: Inductor's rules, restated."""

from simulator.fusion import work
from simulator.fusion.fused_trace import Fused
from simulator.fusion.partition import LEVELS, Level, fused, partition

__all__ = ["LEVELS", "Fused", "Level", "fused", "partition", "work"]
