"""The energy that collectives add to a card's step."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from simulator.timing.load import NO_EXCHANGE, Exchange
from simulator.timing.power import Supply
from tests.simulator.timing.sample_card import MADE_UP, load


def test_joules_of_an_exchange() -> None:
    """At half the clock V² is 0.5625. Collectives that run for 2 s poll with 10 W, 1e9 bytes cost
    7e-9 J each in L2 and 1e-10 J in DRAM, and 1e9 bytes 4e-9 J each on the link, whose voltage does
    not change."""
    known = msgspec.structs.replace(
        MADE_UP, collective_w=10, l2_j_per_byte=7e-9, link_j_per_byte=4e-9
    )
    card = Supply(known, 500.0, 500.0, 1e9, True)
    moved = Exchange(0.0, 2.0, 1e9, 1e9)
    one, half = np.array(1.0), np.array(0.5)

    def joules(clock: np.ndarray, exchange: Exchange) -> float:
        return float(card.joules(load(1.0, 0.0, 0.0, 0.0), clock, one, one, exchange))

    assert joules(one, moved) - joules(one, NO_EXCHANGE) == pytest.approx(20 + 7 + 0.1 + 4)
    assert joules(half, moved) - joules(half, NO_EXCHANGE) == pytest.approx(0.5625 * 27 + 0.1 + 4)


def test_a_card_is_busy_while_only_a_collective_runs() -> None:
    """With 8 W, for 3 s at half of the clock: V² · 8 · 0.5 · 3 J."""
    card = Supply(msgspec.structs.replace(MADE_UP, busy_w=8), 500.0, 500.0, 1e9, True)
    exposed_j = card.exchange_j(Exchange(exposed_s=3.0), np.array(0.5))
    assert float(exposed_j) == pytest.approx(0.5625 * 12)
    costly = msgspec.structs.replace(
        MADE_UP, busy_w=8, collective_w=10, l2_j_per_byte=7e-9, link_j_per_byte=4e-9
    )
    card = Supply(costly, 500.0, 500.0, 1e9, True)
    for none in (NO_EXCHANGE, Exchange()):
        assert float(card.exchange_j(none, np.array(0.5))) == 0.0
