"""The assumptions of a plan of fixed batches. All figures scale, so each end is a product."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.planning.result import Assumption, Row
from simulator.planning.spec import Spec
from simulator.planning.wording import amount, usd, watts


def of_batches(spec: Spec, rows: Sequence[Row]) -> list[Assumption]:
    """The assumptions of the best row: its interval, its price, and what is not modelled."""
    best = next((row for row in rows if row.latency_s is not None), None)
    if best is None:
        return []
    value = best.duration_s if best.duration_s is not None else best.latency_s
    ends = best.duration_interval_s or best.latency_interval_s
    assert value is not None and ends is not None
    found = [
        Assumption(
            "time of a step",
            "as predicted",
            "the 80% interval of the profile",
            f"× {ends[0] / value:.2f}",
            f"× {ends[1] / value:.2f}",
            *ends,
        )
    ]
    work = spec.workload
    if best.duration_s is not None:
        found.append(
            Assumption(
                "amount to train on",
                amount(work.tokens or work.samples or 0.0),
                "your spec",
                "0.75×",
                "1.25×",
                0.75 * value,
                1.25 * value,
            )
        )
        found += [
            Assumption(
                "replicas",
                "a ring over the card's link, not overlapped",
                "2·(n−1)/n of the gradients: an upper bound",
            ),
            Assumption(
                "checkpoints, failures",
                f"{1 - (best.utilisation or 1.0):.2%} of the run",
                "Daly, first order" if work.checkpoint_every_s else "none given: none",
            ),
        ]
    else:
        found.append(Assumption("arrivals", "batches are always full", "no queue is modelled"))
    price = "none"
    if best.usd_per_h is not None:
        price = f"{usd(best.usd_per_h / best.count)} an hour for each GPU"
    found += [
        Assumption("price", price, best.price_source),
        Assumption(
            "power",
            "unknown"
            if best.watts is None
            else f"{watts(best.watts)}, PUE {spec.prices.pue:g} included",
            best.power_source,
        ),
        Assumption("not modelled", "loading of data, network, splits of one model", ""),
    ]
    return found
