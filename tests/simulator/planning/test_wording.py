"""The text of a plan's figures."""

from __future__ import annotations

import pytest

from simulator.planning.result import Row
from simulator.planning.spec import Prices
from simulator.planning.verdict import break_even
from simulator.planning.wording import Currency, above, amount, duration, latency


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (latency(0.0318), "31.8 ms"),
        (latency(1.0), "1 s"),
        (latency(0.0318, 0.0264, 0.0376), "31.8 ms (26.4 to 37.6)"),
        (latency(0.0318, 0.0318, 0.0318), "31.8 ms"),
        (latency(3.4e-5), "34 µs"),
        (duration(95040), "1.1 days"),
        # all three have the same unit
        (duration(95040, 80870, 109728), "1.1 days (0.936 to 1.27)"),
        (duration(86400), "1 day"),
        (duration(604800), "7 days"),
        (duration(0.5), "0.5 s"),
        (amount(5000), "5,000"),
        (amount(12345), "12,345"),  # figures from the spec are not rounded
        (amount(1579.6), "1,580"),
        (amount(115e6), "115 million"),
        (amount(20e9), "20 billion"),
        (Currency().text(41576.3), "41,576 USD"),
        (Currency().text(5.6384), "5.64 USD"),
        (Currency().text(0.0351), "0.035 USD"),
        (Currency("EUR", 1.25).text(5.0), "4.00 EUR"),
        (above("time per token", 0.195, 0.05), "time per token is 195 ms, above 50 ms"),
    ],
)
def test_figures_read_as_text(text: str, expected: str):
    assert text == expected


def test_a_break_even_is_shown_next_to_the_price():
    """One card at 2 USD an hour against two at 3 each: at 1 USD each, two would cost as much as the
    one."""
    best = Row("a", "A", 1, "vllm", "bf16", "fits", usd_per_h=2.0)
    other = Row("b", "B", 2, "vllm", "bf16", "fits", usd_per_h=6.0)
    assert break_even(best, other, Prices()) == "1.00 USD an hour for each GPU (now 3.00 USD)"


def test_a_break_even_is_a_price_without_energy():
    """Two cards at 3 USD, each with 0.20 USD for its 2,000 W: at 0.80 USD each, plus 0.20, they
    cost 1 USD each."""
    best = Row("a", "A", 1, "vllm", "bf16", "fits", usd_per_h=2.0)
    other = Row("b", "B", 2, "vllm", "bf16", "fits", usd_per_h=6.4, watts=2000.0)
    assert (
        break_even(best, other, Prices(energy_usd_per_kwh=0.2))
        == "0.80 USD an hour for each GPU (now 3.00 USD)"
    )
    # energy alone costs 1 USD each
    assert break_even(best, other, Prices(energy_usd_per_kwh=1.0)) == ""
