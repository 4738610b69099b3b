"""The search for the clock under a power limit takes few trials, at one point and at many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.timing.kernel_times import NO_SLOWDOWN, Slowdown
from simulator.timing.load import Load
from simulator.timing.roofline import Roofs
from tests.simulator.timing.sample_card import load, made_up


@dataclass(frozen=True)
class CountedLoad(Load):
    """A load that records the clocks that are tried: each trial computes the kernels' seconds
    once."""

    clocks: list[Slowdown] = field(default_factory=list[Slowdown])

    def busy_s(self, slowdown: Slowdown = NO_SLOWDOWN) -> NDArray[np.float64]:
        self.clocks.append(slowdown)
        return super().busy_s(slowdown)


@pytest.mark.parametrize(
    ("kernel", "limit_w"),
    [
        (load(1.0, 0.0, 400.0, 0.0), 212.5),  # without halving, one end of the bracket would stay
        (load(0.2, 1.0, 100.0, 1e12), 256.25),  # the other end would stay
        (load(1.0, 0.0, 400.0, 0.0), 115.0),
    ],
)
def test_the_held_clock_takes_few_trials(kernel: Load, limit_w: float) -> None:
    """False position without halving takes 25 to 70 trials here; halving the bracket takes 43."""
    counted = CountedLoad(kernel.roofs, kernel.hot, kernel.count)
    made_up(limit_w).settle(counted, 0.0, 0.0)
    assert len(counted.clocks) <= 10


def tried_clocks(power_w: Callable[[float], float], limit_w: float) -> list[float]:
    """The clocks at which the Illinois method, as described in textbooks, evaluates the power."""
    low, high, tried, stayed = 0.1, 1.0, [1.0, 0.1], 0
    below, above = power_w(low) - limit_w, power_w(high) - limit_w
    while True:
        clock = (low * above - high * below) / (above - below)
        tried.append(clock)
        value = power_w(clock) - limit_w
        if abs(value) < 1e-13 * limit_w:
            return tried
        if value > 0:
            high, above = clock, value
            below /= 2 if stayed == 1 else 1
            stayed = 1
        else:
            low, below = clock, value
            above /= 2 if stayed == -1 else 1
            stayed = -1


def computing_w(clock: float) -> float:
    """The watts of 400 J in 1 s at the highest clock, where V is 1; at a share c of that clock, V
    is (1 + c) / 2."""
    return 100 + 400 * ((1 + clock) / 2) ** 2 * clock


def waiting_w(clock: float) -> float:
    """The watts of 100 J on the chip and 100 J of DRAM in 1 s, 0.2 s of which it computes."""
    return 100 + (100 * ((1 + clock) / 2) ** 2 + 100) / max(1.0, 0.2 / clock)


@pytest.mark.parametrize(
    ("kernel", "power_w", "limit_w"),
    [
        (load(1.0, 0.0, 400.0, 0.0), computing_w, 115.0),
        (load(1.0, 0.0, 400.0, 0.0), computing_w, 212.5),
        (load(1.0, 0.0, 400.0, 0.0), computing_w, 400.0),
        (load(0.2, 1.0, 100.0, 1e12), waiting_w, 240.0),
        (load(0.2, 1.0, 100.0, 1e12), waiting_w, 256.25),
    ],
)
def test_the_value_of_an_end_that_stays_twice_is_halved(
    kernel: Load, power_w: Callable[[float], float], limit_w: float
) -> None:
    counted = CountedLoad(kernel.roofs, kernel.hot, kernel.count)
    made_up(limit_w).settle(counted, 0.0, 0.0)
    expected = tried_clocks(power_w, limit_w)
    ours = [1 / float(np.squeeze(slowdown.vector)) for slowdown in counted.clocks]
    assert ours[: len(expected) - 1] == pytest.approx(expected[:-1], rel=1e-9)


def test_points_without_a_solution_do_not_prolong_the_search() -> None:
    """One kernel of 400, 10 and 40,000 J in 1 s under 212.5 W: half the clock, as in `test_power`;
    110 W at the highest clock; 100 + 0.3025 · 40,000 / 100 = 221 W at the lowest one, 0.01."""
    trials: list[int] = []
    for joules in ([400.0, 10.0], [400.0, 10.0, 40000.0]):
        zero = np.zeros((1, len(joules)))
        columns = dict.fromkeys(Roofs.__dataclass_fields__, zero) | {
            "compute_s": np.ones((1, len(joules))),
            "chip_j": np.array([joules]),
        }
        counted = CountedLoad(Roofs(**columns), zero, np.ones(1))
        held = made_up(212.5).settle(counted, 0.0, 0.0)
        assert held.clock.tolist() == pytest.approx([0.5, 1.0, 0.01][: len(joules)], rel=1e-12)
        trials.append(len(counted.clocks))
    assert trials[0] <= 10
    assert trials[1] == trials[0] + 1  # the lowest clock


def test_a_step_that_draws_exactly_the_limit_runs_at_the_highest_clock() -> None:
    """400 J in 1 s and 100 W at rest are 500 W; a step of 800 J beside it is slowed."""
    zero = np.zeros((1, 2))
    columns = dict.fromkeys(Roofs.__dataclass_fields__, zero) | {
        "compute_s": np.ones((1, 2)),
        "chip_j": np.array([[400.0, 800.0]]),
    }
    held = made_up(500.0).settle(Load(Roofs(**columns), zero, np.ones(1)), 0.0, 0.0)
    exact, slowed = held.clock.tolist()
    assert exact == 1.0
    # 100 W + 800 W · V² · clock, where V is (1 + clock) / 2
    assert 800 * ((1 + slowed) / 2) ** 2 * slowed == pytest.approx(400)
