"""The clock of steps whose cards also exchange data."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.hardware.gpu import gpu
from simulator.planning.step.rank_step import (
    Communication,
    communication,
    limits_beside,
    linked_steps,
    node,
    with_communication,
)
from simulator.planning.step.scenarios import base_scenario
from simulator.planning.step.traced_step import of_rank, steps
from simulator.timing.power import supply
from tests.simulator.planning.test_splits import step_of


def test_a_limited_step_gains_what_its_collectives_leave_of_the_limit() -> None:
    """10 ms at the limit L and 5 ms of collectives, in which the card waits and polls: 10 · L' = 15
    · L − what they draw. A step at the highest clock is not limited."""
    ms, card = 1e-3, supply(gpu("h200"))
    assert card is not None
    rank = step_of(gpu_busy_s=10 * ms, period_s=10 * ms, clock_hz=0.8 * card.highest_hz)
    moved = Communication(*(np.array([s * ms]) for s in (5, 5, 5, 0, 0, 0)))
    limits_w = limits_beside(rank, moved, gpu("h200"))
    known = card.known
    volts = float(known.voltage.squared(0.8))
    idle_w = known.idle_w + known.clocked_w + volts * (0.8 * known.busy_w + known.collective_w)
    assert limits_w == (pytest.approx(1.5 * 700 - 0.5 * idle_w / known.held),)
    free = rank._replace(clock_hz=np.array([card.highest_hz]))
    assert limits_beside(free, moved, gpu("h200")) is None


def test_prompts_run_at_the_clock_that_collectives_leave() -> None:
    """2,048 tokens of Llama 3 8B over four H200s, with their all-reduces, draw the cards' limit."""
    card, points = gpu("h200"), [(1, 2048)]
    scenario = of_rank(base_scenario("llama3-8b", card, "bf16", "cuda_graph"), 4)
    moved = communication("llama3-8b", points, "bf16", node(card, 4), "cuda_graph")
    step = linked_steps(scenario, points, moved, card, "cuda_graph")
    plain = with_communication(steps(scenario, points), moved, card, "cuda_graph")
    assert 0.92 < step.period_s[0] / plain.period_s[0] < 0.97
    assert step.joules[0] / step.period_s[0] == pytest.approx(0.987 * 700, rel=0.02)
