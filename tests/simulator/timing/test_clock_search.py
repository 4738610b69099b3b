"""The search for the clock under a power limit takes few trials, at one point and at many."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.timing.kernel_times import NO_SLOWDOWN, Slowdown
from simulator.timing.power import Load
from simulator.timing.roofline import Roofs
from tests.simulator.timing.test_power import load, made_up


@dataclass(frozen=True)
class CountedLoad(Load):
    """A load that records the clocks that are tried: each needs the kernels' seconds once."""

    clocks: list[Slowdown] = field(default_factory=list[Slowdown])

    def busy_s(self, slowdown: Slowdown = NO_SLOWDOWN) -> NDArray[np.float64]:
        self.clocks.append(slowdown)
        return super().busy_s(slowdown)


@pytest.mark.parametrize(
    ("kernel", "limit_w"),
    [
        (load(1.0, 0.0, 400.0, 0.0), 212.5),  # one end of the bracket would stay
        (load(0.2, 1.0, 100.0, 1e12), 256.25),  # the other end would stay
        (load(1.0, 0.0, 400.0, 0.0), 115.0),
    ],
)
def test_the_held_clock_takes_few_trials(kernel: Load, limit_w: float) -> None:
    """False position without halving takes 25 to 70 trials here; halving the bracket takes 43."""
    counted = CountedLoad(kernel.roofs, kernel.hot, kernel.count)
    made_up(limit_w).settle(counted, 0.0, 0.0)
    assert len(counted.clocks) <= 10


def test_points_without_a_solution_do_not_prolong_the_search() -> None:
    """One kernel of 400, 10 and 40,000 J in 1 s under 212.5 W: half the clock, as in `test_power`;
    110 W at the highest clock; 100 + 0.3025 · 40,000 / 10 = 1,310 W at the lowest one, 0.1."""
    zero = np.zeros((1, 3))
    columns = dict.fromkeys(Roofs.__dataclass_fields__, zero) | {
        "compute_s": np.ones((1, 3)),
        "chip_j": np.array([[400.0, 10.0, 40000.0]]),
    }
    counted = CountedLoad(Roofs(**columns), zero, np.ones(1))
    held = made_up(212.5).settle(counted, 0.0, 0.0)
    assert held.clock.tolist() == pytest.approx([0.5, 1.0, 0.1], rel=1e-12)
    assert len(counted.clocks) <= 10
