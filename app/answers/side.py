"""A side of a comparison: a scenario with its prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario

Question = Callable[[Callable[[], bool]], Any]
"""Work for another thread; its argument is a function that tells whether it was cancelled."""


@dataclass(frozen=True)
class Side:
    """A scenario and its prediction; the first side is the baseline. `measured` is the file of a
    profiler trace, or "", and `measured_as` the scenario that it measures; None for this one."""

    letter: str
    name: str
    scenario: Scenario
    prediction: Prediction
    measured: str = ""
    measured_as: Scenario | None = None
