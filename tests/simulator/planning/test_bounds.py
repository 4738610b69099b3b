"""The candidates that data sheets exclude before a step is predicted."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from simulator import plan
from simulator.hardware.gpu import gpu
from simulator.planning import serve_search
from simulator.planning.bounds import prompt_bound
from simulator.planning.spec_file import read
from simulator.planning.step.traced_step import NetworkSize

SERVE: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 1024, "output": 300},
    "load": {"rate": "20/s"},
    "limits": {"per_token": "50 ms"},
    "candidates": {"gpus": ["a40"], "counts": [4, 8], "engines": ["vllm"]},
    "simulation": {"requests": 300},
}
SIZE = NetworkSize(8.03e9, 8.03e9 - 128256 * 4096)


def spec(*, load: str = "20/s", workload: dict[str, Any] | None = None, **limits: Any) -> Any:
    table = deepcopy(SERVE)
    table["load"] = {"rate": load}
    table["workload"] |= workload or {}
    table["limits"] |= limits
    return read(table)


def test_a_prompt_that_alone_takes_too_long_makes_tokens_late() -> None:
    """The prompt takes 2 · (8.03e9 − 2 · 128256 · 4096) · 1024 / 149.7e12 = 95.5 ms; an iteration
    takes 8.03e9 · 2 / 696e9 + 1 ms = 24.1 ms, and at 20 / 8 requests per second 1 − exp(−0.060) =
    5.8% of the iterations read a prompt."""
    reason = prompt_bound(spec(), gpu("a40"), "bf16", SIZE)
    assert reason == (
        "the products of a prompt alone take 95.5 ms at its peak, above the time per token, and "
        "more tokens wait for a prompt than the percentile allows"
    )


def test_a_prompt_bounds_nothing_where_few_wait_or_its_length_varies() -> None:
    card = gpu("a40")
    assert prompt_bound(spec(per_token="100 ms"), card, "bf16", SIZE) is None
    assert prompt_bound(spec(percentile=90), card, "bf16", SIZE) is None  # 5.8% < 1.2 · 10%
    assert prompt_bound(spec(load="4/s"), card, "bf16", SIZE) is None  # exactly the limit of 1.2%
    varied = {"prompt": {"low": 512, "high": 1536}}
    assert prompt_bound(spec(workload=varied), card, "bf16", SIZE) is None
    pieces = {"token_budget": 2047}
    assert prompt_bound(spec(workload=pieces), card, "bf16", SIZE) is None
    assert prompt_bound(spec(), card, "bf16", SIZE, 2) is None  # 47.8 ms on two GPUs


def test_late_candidates_are_planned_where_nothing_else_holds() -> None:
    """They are planned if no other candidate fits; otherwise they are skipped with the reason."""
    alone = plan(SERVE)
    assert [(row.count, row.status) for row in alone.rows] == [(8, "too slow"), (4, "overloaded")]
    assert alone.verdict.startswith("No candidate meets every limit. The nearest is 8 × A40, vllm")
    assert not alone.pruned
    table = deepcopy(SERVE)
    table["candidates"]["gpus"] = ["a40", "h200"]
    both = plan(table)
    assert {row.gpu for row in both.rows} == {"h200_sxm"}
    assert list(both.pruned) == ["A40, bf16"]


def test_a_late_candidate_that_is_planned_is_not_pruned_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serve_search, "prompt_bound", lambda *candidate: "late")
    table = deepcopy(SERVE)
    table["candidates"]["gpus"] = ["h200"]
    late = plan(table)
    assert [row.status for row in late.rows] == ["fits", "fits"]
    assert not late.pruned
