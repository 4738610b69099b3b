"""The row of a card that runs batches at a rate, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import plan
from simulator.hardware.gpu import gpu
from simulator.planning.batches.rows import inferred
from simulator.planning.result import Row
from simulator.planning.spec_file import read

CARD = gpu("h200")
STEP = {
    "low_s": 8e-3, "period_s": 10e-3, "high_s": 12e-3, "latency_s": 20e-3, "samples_per_s": 800.0,
    "joules": 3.0, "memory_bytes": CARD.memory_bytes / 4,
}  # fmt: skip
"""A step whose interval is 0.8 to 1.2 times its time: its latency is 16 to 24 ms, and it carries
667 to 1,000 samples per second."""


def row(rate: str, latency: str | None = None, **candidates: Any) -> Row:
    spec = read(
        {
            "workload": {"kind": "inference", "network": "resnet50", "batch": 8},
            "load": {"rate": rate},
            "limits": {"latency": latency} if latency else {},
            "candidates": {"gpus": ["h200"], "counts": [1, 2, 4], **candidates},
        }
    )
    common = {"gpu": CARD.id, "name": CARD.name, "engine": "eager", "precision": "bf16"}
    (only,) = inferred(spec, CARD, common, 8, STEP, "memory")
    return only


@pytest.mark.parametrize(
    ("latency", "status"),
    [(None, "fits"), ("25 ms", "fits"), ("22 ms", "uncertain"), ("18 ms", "too slow"),
     ("15 ms", "too slow")],
)  # fmt: skip
def test_a_latency_is_met_at_the_slow_end_or_uncertain(latency: str | None, status: str) -> None:
    answer = row("500/s", latency)
    assert answer.status == status
    assert answer.latency_interval_s == pytest.approx((16e-3, 24e-3))
    assert bool(answer.reason) == (status != "fits")


def test_cards_carry_the_rate_at_the_slow_end() -> None:
    # 2,000 of 667 per card: 3 needed, of which 4 is the next choice
    answer = row("2000/s")
    assert (answer.count, answer.status, answer.gpu_hours) == (4, "fits", 4.0)
    assert answer.per_s == 2000 and answer.utilisation == pytest.approx(2000 / 3200)
    assert answer.largest_rate_per_s == pytest.approx(3200)
    assert answer.largest_rate_interval_per_s == pytest.approx((3200 / 1.2, 4000))
    assert answer.memory_share == pytest.approx(0.25) and answer.batch == 8
    # two cards carry just 1,333.3
    assert (row("1333/s").count, row("1334/s").count) == (2, 4)


def test_too_few_cards_are_overloaded() -> None:
    answer = row("5000/s")  # 7.5 cards
    assert (answer.count, answer.status, answer.per_s) == (4, "overloaded", 3200)
    assert "8 GPUs would" in answer.reason


def test_a_batch_that_does_not_fit_is_refused_for_one_card() -> None:
    answer: Any = plan(
        {
            "workload": {"kind": "inference", "network": "resnet50", "batch": 60_000},
            "load": {"rate": "1/s"},
            "candidates": {
                "gpus": ["l40s"],
                "counts": [2],
                "engines": ["eager"],
                "precisions": ["bf16"],
            },
        }
    )
    (refused,) = answer.rows
    assert (refused.status, refused.binds, refused.count) == ("no memory", "capacity", 1)
    assert "batch 60000 needs" in refused.reason
