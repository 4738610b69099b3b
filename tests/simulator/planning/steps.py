"""The step time of the tests of serving: at least 6 ms, longer with tokens and context."""

from __future__ import annotations

import numpy as np

from simulator.planning.step.step_time import StepTime

STEP = StepTime(
    np.linspace(6e-3, 0.1, 2049),
    np.linspace(6e-3, 9e-3, 65),
    np.full(65, 3e-8),
    np.full(65, 2e-8),
    512.0,
    1e-10,
    0.06,
    5e-4,
)
