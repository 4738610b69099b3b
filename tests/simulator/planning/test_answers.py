"""The sentences of a plan's answer, and its assumptions about prices."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import plan
from simulator.formats.numbers import short
from simulator.planning.plan import question
from simulator.planning.price_assumptions import of_unpriced
from simulator.planning.result import Row
from simulator.planning.spec_file import read
from simulator.planning.verdict import verdict
from simulator.planning.wording import latency

SERVE: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 512, "output": 100},
    "load": {"rate": "10/s"},
    "limits": {"per_token": "60 ms", "first_token": "1 s"},
    "candidates": {"gpus": ["h200"], "counts": [1], "splits": [1]},
    "simulation": {"requests": 600},
}


def _row(name: str, **figures: Any) -> Row:
    return Row(gpu=name, name=name, count=1, engine="vllm", precision="bf16", **figures)


def test_assumptions_are_varied_around_the_planned_figure():
    """A range in which the answer does not change ends at the table's figure."""
    served: Any = plan(SERVE)
    half = next(a for a in served.assumptions if a.name == "maximum sequences at once")
    assert half.high == served.best.per_token_s


def test_prices_in_another_currency_are_listed_with_their_rate():
    """2 EUR without energy, and the energy of one card; figures stay in USD, at 1.2 USD per EUR."""
    prices = {
        "hourly": {"h200": "2 EUR/h"},
        "energy": "0.2 EUR/kWh",
        "co2_g_per_kwh": 350,
        "rates": {"EUR": 1.2},
    }
    answer: Any = plan(SERVE | {"prices": prices})
    listed = {a.name: a for a in answer.assumptions}
    assert listed["price"].value == "2.00 EUR an hour for each GPU"
    paid = answer.best.watts / 1000 * 0.24
    assert listed["energy"].value == f"{paid / 1.2:.2f} EUR an hour for all GPUs"
    assert listed["energy"].source == "0.20 EUR per kWh, your spec"
    assert listed["exchange rate"].value == "1 EUR = 1.2 USD"
    assert answer.best.usd_per_h == pytest.approx(2.4 + paid)
    assert " EUR an hour" in answer.verdict and "USD" not in answer.verdict
    assert (answer.document()["currency"], answer.document()["usd_per_currency"]) == ("EUR", 1.2)
    dollars: Any = plan(SERVE | {"prices": prices | {"currency": "USD"}})
    assert " USD an hour" in dollars.verdict and dollars.best.usd_per_h == answer.best.usd_per_h
    assert listed["CO₂"].value == f"{short(answer.best.watts * 0.35)} g an hour"
    assert listed["CO₂"].source == "350 g per kWh, your spec"


def test_the_question_says_that_lengths_are_means():
    work = SERVE["workload"] | {"prompt": {"low": 256, "high": 768}}
    assert "answers of 100 on average" in question(read(SERVE | {"workload": work}))
    assert "on average" not in question(read(SERVE))


def test_the_runner_up_is_the_likeliest_of_the_cheaper_ones():
    best = _row("h100_sxm", status="fits", usd_per_h=4.0, per_token_s=0.04, first_token_s=0.3)
    cheap = _row("l40s", status="uncertain", usd_per_h=1.0, chance=0.1, reason="is late")
    likely = _row("h200_sxm", status="uncertain", usd_per_h=2.0, chance=0.5, reason="may be late")
    text = verdict(read(SERVE), (best, cheap, likely), {})
    assert text.endswith(f"{likely.configuration} costs 50% less, but may be late.")


def test_the_reason_of_an_uncertain_candidate_is_the_end_of_its_interval():
    """The limit is between the prediction and the slow end of the interval of the time per
    token."""
    free: Any = plan(SERVE).best
    low, high = free.per_token_interval_s
    limit_ms = 1e3 * (0.7 * free.per_token_s + 0.3 * high)
    limits = {"per_token": f"{limit_ms:.3f} ms", "first_token": "10 s"}
    row: Any = plan(SERVE | {"limits": limits}).rows[0]
    assert row.status == "uncertain" and low < row.per_token_s < limit_ms / 1e3
    end = latency(row.per_token_interval_s[1])
    assert row.reason.startswith(f"at the interval's slow end time per token is {end}, above")


def test_without_a_sure_candidate_the_likeliest_is_the_nearest():
    cheap = _row("a", status="uncertain", usd_per_h=1.0, chance=0.1, reason="a is late")
    sure = _row("b", status="uncertain", usd_per_h=2.0, chance=0.5, reason="b is late")
    text = verdict(read(SERVE), [cheap, sure], {})
    assert text == (
        "No candidate is certain to meet every limit. The nearest is 1 × b, vllm, bf16: b is late."
    )


def test_gpus_without_a_price_are_named():
    rows = [_row(name, status="fits", price_source="no price") for name in "abcda"]
    (listed,) = of_unpriced([*rows, _row("e", status="fits", price_source="yours")])
    assert listed.value == "a, b, c and 1 more" and "prices.hourly" in listed.source
    assert of_unpriced([_row("e", status="fits", price_source="yours")]) == []
