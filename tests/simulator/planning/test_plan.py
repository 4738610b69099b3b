"""Plans from the spec to the verdict, over packaged families of traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import InputError, plan
from simulator.hardware.gpu import gpu
from simulator.planning.money import bill
from simulator.planning.power import mean_power
from simulator.planning.result import Row
from simulator.planning.row_scenario import scenario_of
from simulator.planning.server.queue_detail import queue_of
from simulator.planning.server.replica import factor
from simulator.planning.server.scheduler import percentile
from simulator.planning.spec import Lengths, Prices, Workload
from simulator.planning.spec_file import read
from simulator.planning.step.scenarios import weight_only
from simulator.planning.step.step_time import constant
from simulator.planning.step.tables import machine
from simulator.planning.verdict import front, ranked
from simulator.scenario.scenario import Scenario, predict
from simulator.timing.power import supply

SERVE: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 512, "output": 100},
    "load": {"rate": "10/s"},
    "limits": {"per_token": "60 ms", "first_token": "1 s"},
    "candidates": {"gpus": ["h200", "t4", "rtx4060ti_8"], "counts": [1, 2], "splits": [1]},
    "simulation": {"requests": 600},
}


COUNTS = {"counts": [4]}


def named(rows: Sequence[Row]) -> list[tuple[str, int]]:
    return [(row.gpu, row.count) for row in rows]


@pytest.fixture(scope="module")
def served():
    return plan(SERVE)


def test_a_served_network_has_a_verdict(served: Any):
    best = served.best
    assert best is not None
    assert (best.gpu, best.count) == ("h200_sxm", 1)
    assert served.verdict.startswith("1 × H200 SXM 141GB, vllm, bf16 serves 10 requests/s with 99%")
    assert best.per_token_s <= 0.06
    low, high = best.per_token_interval_s
    assert low <= best.per_token_s <= high
    assert best.largest_rate_per_s > 10
    assert best.usd_per_h == 3.5


def test_skipped_candidates_have_reasons(served: Any):
    assert served.pruned["T4, fp16"].startswith(
        "weights of 15.0 GiB do not fit in 14.4 GiB (90% of the memory); "
    )
    assert "do not fit" in served.pruned["GeForce RTX 4060 Ti 8GB, bf16"]


def test_assumptions_are_listed_by_how_much_they_matter(served: Any):
    swings = [a.swing for a in served.assumptions if a.low is not None]
    assert len(swings) >= 8
    assert swings == sorted(swings, reverse=True)
    named = [a.name for a in served.assumptions]
    assert {"step time", "arrivals", "price", "power", "not modelled"} <= set(named)


def test_a_plan_is_data(served: Any):
    held = json.loads(served.to_json())
    assert held["format"] == "ridgepoint-plan"
    assert held["rows"][0]["gpu"] == "h200_sxm"
    assert isinstance(held["rows"][0]["per_token_s"], float)


def test_a_load_that_no_candidate_carries_is_reported_first():
    heavy = SERVE | {"load": {"rate": "5000/s"}, "candidates": {"gpus": ["h200"], "counts": [1]}}
    spec = heavy | {"limits": {}}
    answer = plan(spec)
    assert answer.verdict.startswith("No candidate carries the load. The nearest is H200 SXM 141GB")
    assert "cards at their peak, and 1 at most are tried" in answer.verdict
    crowded = plan(spec | {"load": {"rate": "90/s"}})
    assert crowded.verdict.startswith("No candidate carries the load. The nearest is 1 × H200")
    assert crowded.rows[0].status == "overloaded"


def test_more_replicas_wait_less_and_cost_more():
    spec = SERVE | {"candidates": {"gpus": ["h200"], "counts": [1, 2]}, "load": {"rate": "25/s"}}
    rows: dict[int, Any] = {row.count: row for row in plan(spec).rows}
    assert rows[2].per_token_s < rows[1].per_token_s
    assert rows[2].usd_per_h == 2 * rows[1].usd_per_h
    assert rows[2].largest_rate_per_s == pytest.approx(2 * rows[1].largest_rate_per_s)


def test_candidates_are_seen_while_they_are_tried_and_an_error_ends_the_plan():
    seen: list[list[tuple[str, int]]] = []
    own = SERVE["candidates"] | {"gpus": ["h200", "t4", "h100"], "per_gpu": {"h100": COUNTS}}
    answer = plan(SERVE | {"candidates": own}, so_far=lambda rows: seen.append(named(rows)))
    assert seen[0] == [("h200_sxm", 1), ("h200_sxm", 2)]
    # an H100 shares the traces of an H200, a T4 does not
    assert seen[1] == [*seen[0], ("h100_sxm", 4)]
    assert seen[2] == seen[1]
    assert sorted(named(answer.rows)) == sorted(seen[-1])

    def stop(rows: Any) -> None:
        raise InputError("stopped")

    with pytest.raises(InputError, match="stopped"):
        plan(SERVE, so_far=stop)


def test_the_current_work_is_reported_before_its_candidates():
    calls: list[str] = []
    plan(SERVE, progress=calls.append, so_far=lambda rows: calls.append("rows"))
    first = calls.index("rows")
    assert calls[first - 1] == (
        "planned 1 of 3; best so far 1 × H200 SXM 141GB, vllm, bf16, 3.50 USD an hour"
    )


def test_the_queue_of_a_candidate_is_the_one_that_was_simulated(served: Any):
    spec, best = read(SERVE), served.best
    queue = queue_of(spec, best)
    assert percentile(queue.token_s, queue.tokens, 99) == pytest.approx(best.per_token_s)
    assert percentile(queue.first_s, None, 99) == pytest.approx(best.first_token_s)
    assert queue.first_s.size == 540  # 600 requests without the first tenth
    assert queue.batch == pytest.approx(best.batch, rel=1e-6)
    assert queue.prompt_share == pytest.approx(10 * queue.prompt_s)  # 10 requests a second
    assert (queue.replicas, queue.slots, queue.budget) == (1, 256, 8192)


def test_a_candidate_opens_as_the_step_that_it_runs(served: Any):
    spec = read(SERVE)
    row = replace(served.best, precision="fp8", batch=3.4)
    opened = scenario_of(spec, row)
    # prompts of 512 tokens, and half of an answer of 100
    assert (opened.network, opened.batch, opened.seq) == ("llama3-8b-decode", 3, 562)
    assert (opened.gpu, opened.mode) == ("h200_sxm", "cuda_graph")
    assert [each.name for each in opened.whatifs] == ["fp8"]


def test_a_network_without_a_decode_step_cannot_be_served():
    wrong = SERVE | {"workload": SERVE["workload"] | {"network": "resnet50"}}
    with pytest.raises(
        InputError, match=r"workload.network = 'resnet50' cannot be served: expected"
    ):
        plan(wrong)


def test_low_precision_holds_more_cache():
    work, card = read(SERVE).workload, gpu("h200")
    plain = machine(work, card, "bf16", "vllm")
    small = machine(work, card, "int4", "vllm")
    # 8.03·10⁹ parameters of 2 bytes; the cache of a token has 32 layers · 2 · 8 heads · 128 · 2
    # bytes
    assert plain.weight_bytes == pytest.approx(2 * 8.03e9, rel=0.001)
    assert plain.cache_bytes_per_token == 32 * 2 * 8 * 128 * 2
    assert small.cache_tokens(card, 0.9) > plain.cache_tokens(card, 0.9)
    assert small.step.decode(1, 100) < plain.step.decode(1, 100)
    # the share of the head: 4096·128256 of 6.98·10⁹ + 4096·128256 products per token
    assert plain.step.head == pytest.approx(0.0700, abs=0.001)


def test_a_step_of_the_table_is_a_prediction():
    """At a grid point of the table: 16 sequences with 1024 cached tokens."""
    spec = read(SERVE | {"candidates": {"gpus": ["h200"], "engines": ["eager"]}})
    one = machine(spec.workload, gpu("h200"), "bf16", "eager")
    p = predict(Scenario("llama3-8b-decode", gpu="h200", dtype="bf16", batch=16, seq=1024))
    took = one.step.decode(16, 16 * 1024) - one.step.host_s
    assert took == pytest.approx(p.period_s, rel=0.02)


def test_the_interval_of_steps_is_met_at_its_quantiles():
    low, high = np.array([0.9, 0.9, 0.8]), np.array([1.1, 1.1, 1.5])
    step = replace(constant(1.0, 4), low=low, high=high)
    assert factor(step, 0.5, 2) == pytest.approx(1.0)
    assert factor(step, 0.1, 2) == pytest.approx(0.8)
    assert factor(step, 0.9, 2) == pytest.approx(1.5)
    assert factor(step, 0.9, 1.2) == pytest.approx(1.1)
    assert factor(step, 0.9, 300) == pytest.approx(1.5)  # the factor of the largest batch


def test_the_requests_of_a_trace_are_varied(tmp_path: Path):
    lines = [f"{at / 5},{64 + at % 7},{20 + at % 5}" for at in range(120)]
    text = "\n".join(["arrival_s,prompt_tokens,output_tokens", *lines])
    (tmp_path / "day.csv").write_text(text, "utf-8")
    work = {"kind": "serving", "network": "llama3-8b", "requests_csv": str(tmp_path / "day.csv")}
    answer = plan({"workload": work, "candidates": {"gpus": ["h200"], "counts": [1]}})
    varied = {a.name: a for a in answer.assumptions if a.low is not None}
    assert {"requests a second", "prompt tokens", "output tokens"} <= set(varied)
    assert varied["requests a second"].value == "from the trace"


def test_energy_is_paid_in_addition_to_the_rent():
    """2 cards of 350 W each, PUE 1.2: 840 W; 2·3 USD + 0.84 kWh · 0.1 USD."""
    prices = Prices(
        hourly_usd={"h100_sxm": 3.0}, energy_usd_per_kwh=0.1, pue=1.2, co2_g_per_kwh=400.0
    )
    paid = bill(gpu("h100"), 2, 350.0, prices)
    assert paid.watts == pytest.approx(840)
    assert paid.usd_per_h == pytest.approx(6.084)
    assert paid.co2_g_per_h == pytest.approx(336)
    written_off = Prices(purchase_usd={"h100_sxm": 26298.0}, utilisation=0.5)  # 3 years: 26,298 h
    assert bill(gpu("h100"), 1, None, written_off).usd_per_h == pytest.approx(2.0)
    assert bill(gpu("l4"), 1, 72.0, Prices()).usd_per_h is None


def test_power_is_that_of_the_steps_and_idle_between():
    """H200: 500 W for 1/4 of the time, otherwise idle at the high clock of a running process. If
    the step is unknown, the power limit is the bound."""
    card = gpu("h200")
    power_supply = supply(card)
    assert power_supply is not None
    idle = power_supply.known.idle_w
    assert 60 < idle < 100  # public listings: 74 to 76 W
    modelled = mean_power(card, 500.0, 0.25)
    waiting = idle + power_supply.known.clocked_w
    assert modelled.watts == pytest.approx(125 + 0.75 * waiting)
    assert modelled.source.startswith("the power model")
    bounded = mean_power(card, float("nan"), 0.25)
    assert bounded.watts == pytest.approx(700 / 4)
    assert bounded.source.endswith("its power was not measured")


def test_a_server_draws_less_than_its_limit(served: Any):
    """A decode waits for DRAM: its power is above idle and well below 700 W."""
    best = served.best
    assert 150 < best.watts < 650
    per_token = best.watts / (10 * 100)  # 10 requests/s of 100 tokens
    assert best.joules_per_unit == pytest.approx(per_token)
    power = next(a for a in served.assumptions if a.name == "power")
    assert power.value == f"{best.watts:.0f} W for all GPUs, PUE 1 included"
    assert power.source.startswith("the power model")


def _row(name: str, **figures: Any) -> Row:
    return Row(gpu=name, name=name, count=1, engine="vllm", precision="bf16", **figures)


def test_the_front_and_the_ranking():
    cheap = _row("a", status="fits", usd_per_h=1.0, per_token_s=0.04)
    fast = _row("b", status="fits", usd_per_h=2.0, per_token_s=0.02)
    beaten = _row("c", status="fits", usd_per_h=2.5, per_token_s=0.03)
    slow = _row("d", status="too slow", usd_per_h=0.5, per_token_s=0.9)
    assert [row.gpu for row in front([cheap, fast, beaten, slow]) if row.front] == ["a", "b"]
    assert [row.gpu for row in ranked([slow, beaten, fast, cheap])] == ["a", "b", "c", "d"]


def test_nvfp4_is_planned_on_cards_with_it_and_as_weights_alone_elsewhere():
    """Llama 3 8B: 7.505e9 values of 4.5 bits, 0.525e9 of the embedding of 16 bits, and the
    norms."""
    lengths = Lengths("fixed", 512)
    work = Workload("serving", "llama3-8b", prompt=lengths, output=lengths)
    for name, alone in (("b200", False), ("h100", True)):
        card = gpu(name)
        one = machine(work, card, "nvfp4", "vllm")
        assert one.weight_bytes == pytest.approx(7.505e9 * 4.5 / 8 + 0.525e9 * 2, rel=2e-3)
        assert weight_only(card, "nvfp4") is alone
    large = machine(work, gpu("b200"), "fp8", "vllm").step.forward_s[-1]
    assert machine(work, gpu("b200"), "nvfp4", "vllm").step.forward_s[-1] < large
