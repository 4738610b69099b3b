"""The status of a card that runs samples in batches as they arrive, against hand-computed
figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulator.hardware.gpu import gpu
from simulator.planning.batches.served import BatchTable, served
from simulator.planning.result import Row
from simulator.planning.spec_file import read

CARD = gpu("h200")
TABLE = BatchTable(
    np.array([1.0, 8.0]),
    {
        "low_s": np.array([8e-3, 8e-3]),
        "period_s": np.array([10e-3, 10e-3]),
        "high_s": np.array([12e-3, 12e-3]),
        "latency_s": np.array([20e-3, 20e-3]),
        "joules": np.array([3.0, 3.0]),
        "memory_bytes": np.array([1.0, 2.0]) * CARD.memory_bytes / 8,
    },
)
"""Steps that take 20 ms for any batch, with an interval of 0.8 to 1.2 times that: their latency is
16 to 24 ms, and a GPU carries 8 / 24 ms = 333 to 8 / 16 ms = 500 samples per second."""


def rows(rate: str, latency: str | None = None, **candidates: Any) -> list[Row]:
    spec = read(
        {
            "workload": {"kind": "inference", "network": "resnet50"},
            "load": {"rate": rate},
            "limits": {"latency": latency} if latency else {},
            "candidates": {"gpus": ["h200"], "counts": [1, 2, 4], **candidates},
        }
    )
    common = {"gpu": CARD.id, "name": CARD.name, "engine": "eager", "precision": "bf16"}
    return served(spec, CARD, common, TABLE, 8, ["memory", "memory"])


@pytest.mark.parametrize(
    ("latency", "status"),
    [(None, "fits"), ("25 ms", "fits"), ("22 ms", "uncertain"), ("18 ms", "uncertain"),
     ("15 ms", "too slow")],
)  # fmt: skip
def test_a_limit_is_held_at_both_ends_of_the_interval(latency: str | None, status: str) -> None:
    """With one sample in ten seconds, almost none waits: the latency is that of a step."""
    row = rows("0.1/s", latency, counts=[1])[-1]
    assert row.status == status
    assert row.latency_interval_s == pytest.approx((16e-3, 24e-3))
    assert bool(row.reason) == (status != "fits")
    assert row.memory_share == pytest.approx(0.25)


def test_cards_carry_the_rate_at_the_slow_end() -> None:
    # a card carries 333.3 of the 1,000 samples per second: more than 3 cards are needed, and 4 is
    # the next choice
    assert [(row.count, row.status) for row in rows("1000/s")] == [(4, "fits")]
    # two cards carry 666.7
    assert rows("660/s")[0].count == 2 and rows("670/s")[0].count == 4


def test_the_last_count_that_does_not_carry_the_rate_is_overloaded() -> None:
    (row,) = rows("1500/s")
    assert (row.count, row.status, row.binds) == (4, "overloaded", "capacity")
    assert row.reason == "carries 1,330 of 1,500 samples/s at the interval's slow end; 5 GPUs would"
