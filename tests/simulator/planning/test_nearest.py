"""The message for a load that no candidate carries: the limit that fails, by how much, and the
nearest candidate."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from simulator import plan
from simulator.planning.nearest import Shortage, nothing_carries
from simulator.planning.result import Plan, Row
from simulator.planning.spec_file import read

SERVE: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-1b", "prompt": 512, "output": 100},
    "load": {"rate": "10/s"},
    "limits": {"per_token": "40 ms", "first_token": "1 s", "cost": "10 USD/h"},
    "candidates": {"gpus": ["h200"], "counts": [1, 2], "splits": [1]},
    "simulation": {"requests": 300},
}


def row(gpu: str, status: Any, count: int = 1, **figures: Any) -> Row:
    return Row(gpu, gpu, count, "vllm", "bf16", status, **figures)


def message(*rows: Row, shortages: dict[str, Shortage] | None = None) -> str:
    return nothing_carries(read(SERVE), rows, {}, shortages or {})


def test_the_nearest_exceeds_its_limits_by_the_smallest_factor() -> None:
    """`b` exceeds its limit by a factor of 60 / 40 = 1.5. `a` has a shorter time per token, but
    exceeds the limit of the first token by a factor of 5 / 1."""
    a = row("a", "too slow", per_token_s=0.05, first_token_s=5.0, reason="a is late")
    b = row("b", "too slow", per_token_s=0.06, first_token_s=0.5, reason="b is late")
    assert message(a, b) == (
        "No candidate meets every limit. The nearest is 1 × b, vllm, bf16: b is late, 1.5 times "
        "the limit; raise limits.per_token, or add faster GPUs, a lower precision or larger splits."
    )


def test_a_cost_above_the_limit_names_its_key() -> None:
    expensive = row(
        "a", "too expensive", usd_per_h=25.0, reason="costs 25 USD an hour, above 10 USD"
    )
    assert message(expensive) == (
        "No candidate meets every limit. The nearest is 1 × a, vllm, bf16: costs 25 USD an hour, "
        "above 10 USD, 2.5 times the limit; raise limits.cost, or add cheaper GPUs."
    )


def test_fewer_gpus_of_a_kind_that_carries_the_load_are_not_the_nearest() -> None:
    """Two of `a` carry the load, so a smaller number of them is not the nearest miss."""
    one = row("a", "overloaded", largest_rate_per_s=9.0, reason="carries 9 of 10")
    two = row("a", "too slow", 2, per_token_s=0.08, reason="a is late")
    assert message(one, two).startswith("No candidate meets every limit. The nearest is 2 × a")
    assert message(one) == (
        "No candidate carries the load. The nearest is 1 × a, vllm, bf16: carries 9 of 10; raise "
        "candidates.counts, or lower load.rate."
    )


def test_a_candidate_without_memory_is_farther_than_one_that_is_too_slow() -> None:
    full = row("a", "no memory", memory_share=1.1, reason="one request needs more")
    late = row("b", "too slow", per_token_s=0.4, reason="b is late")
    assert "The nearest is 1 × b" in message(full, late)
    assert message(full).startswith("No candidate can run this. The nearest is 1 × a")


def test_bounds_say_by_how_much_the_nearest_fails() -> None:
    """16 GB at 3.35 TB/s are 4.5 ms, on an A100 at 2.04 TB/s 7.4 ms; both are above 2 ms."""
    slow = deepcopy(SERVE)
    slow["workload"] |= {"network": "llama3-8b"}
    slow["limits"] = {"per_token": "2 ms"}
    slow["candidates"] = {"gpus": ["a100", "h100"], "counts": [1]}
    answer = plan(slow)
    assert not answer.rows and not answer.carried
    assert answer.verdict == (
        "No candidate meets every limit. The nearest is H100 SXM5 80GB, bf16: reading the weights "
        "once takes 4.48 ms, above the 2 ms of limits.per_token, 2.24 times the limit; raise "
        "limits.per_token, or add faster GPUs, a lower precision or larger splits."
    )


def test_a_run_that_takes_too_long_names_the_deadline() -> None:
    spec = {
        "workload": {"kind": "training", "network": "resnet18", "samples": "1B", "batch": 8},
        "candidates": {"gpus": ["h200"], "counts": [1, 2], "engines": ["eager"]},
        "limits": {"deadline": "1 h"},
    }
    answer = plan(spec)
    nearest = max(answer.rows, key=lambda row: row.count)
    assert nearest.duration_s is not None
    assert f"The nearest is {nearest.configuration}: takes " in answer.verdict
    times = nearest.duration_s / 3600
    assert f", above 1 h, {times:.0f} times the limit; raise limits.deadline" in answer.verdict


@pytest.mark.parametrize(("status", "carried"), [
    ("fits", True), ("uncertain", True), ("too slow", False), ("overloaded", False),
])  # fmt: skip
def test_an_uncertain_candidate_may_carry_the_load(status: str, carried: bool) -> None:
    assert Plan("serving", "", "", (row("a", status),), ()).carried is carried
