"""The power of a serving card, from the energy of its traced kernels."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.hardware.gpu import gpu
from simulator.planning.power import served_w
from simulator.planning.spec import Workload
from simulator.planning.step.tables import machine
from simulator.timing.power import supply


def test_a_card_that_waits_for_the_host_draws_the_power_of_an_idle_process() -> None:
    """8 J in 20 ms are 400 W. In an iteration of 30 ms the card waits for 10 ms, in which it draws
    about 123 W. In one of 16 ms, 4 ms of waiting are missing, and in one of 9 ms it would exceed
    its limit."""
    card = gpu("h200")
    known = supply(card)
    assert known is not None
    waiting_w = known.known.idle_w + known.known.clocked_w
    assert waiting_w == pytest.approx(123, abs=1)
    watts = served_w(card, np.full(3, 8.0), np.full(3, 20e-3), np.array([30e-3, 16e-3, 9e-3]))
    expected = (8 + 0.01 * waiting_w) / 30e-3, (8 - 0.004 * waiting_w) / 16e-3, 700.0
    assert watts == pytest.approx(expected)
    unknown = served_w(gpu("tpu_v5e"), np.ones(2), np.ones(2), np.ones(2))
    assert np.isnan(unknown).all()


def test_a_slower_host_lowers_the_power_of_a_server() -> None:
    """Decoding 16 sequences with 1 ms and with 21 ms of host work per iteration: the energy of the
    kernels is the same, and each iteration waits 20 ms longer, at 123 W."""
    card = gpu("h200")
    fast, slow = (
        machine(Workload("serving", "llama3-8b", host_per_step_s=s), card, "bf16", "vllm")
        for s in (1e-3, 21e-3)
    )
    seconds = [one.step.decode(16, 16 * 1024) for one in (fast, slow)]
    assert seconds[1] - seconds[0] == pytest.approx(20e-3)
    joules = [float(one.decode_w[16]) * s for one, s in zip((fast, slow), seconds, strict=True)]
    assert joules[1] - joules[0] == pytest.approx(20e-3 * 123.4, rel=0.01)
