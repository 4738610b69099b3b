"""The scenario that the explorer opens with. Its traces are packaged, so that it needs no torch.

May import the simulator.
"""

from __future__ import annotations

from simulator.scenario.scenario import Scenario

FIRST = Scenario("bert-base", gpu="h200", batch=64, seq=128, dtype="bf16")
