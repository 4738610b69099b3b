"""Reserved prices, and the age of listed ones."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from simulator import plan
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.planning.prices import age, price
from simulator.planning.spec_file import read

TRAIN: dict[str, Any] = {
    "workload": {"kind": "training", "network": "resnet18", "samples": "100M", "batch": 64},
    "candidates": {"gpus": ["h100"], "counts": [1], "engines": ["eager"], "precisions": ["bf16"]},
}


def test_a_run_pays_for_whole_terms_of_a_reservation():
    """One term of a week at 2 USD an hour costs 336 USD, even if it is used for less than a
    week."""
    prices = {"reserved": {"h100": "2 USD/h"}, "term": "1 week"}
    row: Any = plan(TRAIN | {"prices": prices}).best
    assert row.duration_s < 604_800
    assert row.usd_total == pytest.approx(7 * 24 * 2)
    assert row.usd_per_h == pytest.approx(336 / (row.duration_s / 3600))
    assert row.price_source.startswith("yours, reserved for 7 days: a whole term for ")


def test_two_terms_are_paid_for_a_run_of_more_than_one():
    prices = read(TRAIN | {"prices": {"reserved": {"h100": "3 EUR/h"}, "rates": {"EUR": 2}}}).prices
    year_s = 31_557_600.0
    paid = price(gpu("h100"), prices, 1.5 * year_s)
    assert paid and paid.usd_per_h == pytest.approx(6 * 2 / 1.5)
    assert paid.source == "yours, reserved for 365 days: 2 terms for 548 days of use"


def test_the_lower_of_your_rents_applies():
    """A service uses a reservation at all hours; a run of one hour does not pay for a year."""
    both = {"hourly": {"h100": "3 USD/h"}, "reserved": {"h100": "2 USD/h"}}
    prices = read(TRAIN | {"prices": both}).prices
    service, run = (price(gpu("h100"), prices, run_s) for run_s in (None, 3600.0))
    assert service and (service.usd_per_h, service.source) == (2, "yours, reserved for 365 days")
    assert run and (run.usd_per_h, run.source) == (3, "yours")


@pytest.mark.parametrize(
    ("listed", "text"),
    [
        ("2026", "up to 10 months old"),  # from January
        ("2026-08", "up to 3 months old"),
        ("2025-2026", "up to 22 months old"),
        ("2023", "up to 3 years old"),
        ("2026-11", "this month's"),
    ],
)
def test_listed_prices_have_an_age(listed: str, text: str):
    assert age(listed, date(2026, 11, 27)) == text


def test_the_source_of_a_listed_price_has_its_age():
    listed = price(gpu("h100"), read(TRAIN).prices)
    assert listed and listed.source.startswith("list, 2026: Nebius")
    assert listed.source.endswith(" old") or listed.source.endswith("this month's")


def test_a_table_of_one_purchase_is_refused_with_the_keys_of_all():
    table = {"price": "2000 USD", "lifetime": "3 years"}
    with pytest.raises(InputError) as error:
        read(TRAIN | {"prices": {"purchase": {"h100": table}}})
    assert str(error.value) == (
        "prices.purchase.h100 is a table: expected the amount alone, as text; give prices.term "
        "for all reservations, and prices.lifetime and prices.utilisation for all purchases"
    )
