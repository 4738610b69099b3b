"""Separate prefill and decode: an independent simulator, hand-computed sums, and whole plans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator.errors import InputError
from simulator.planning.plan import plan
from simulator.planning.result import Plan
from simulator.planning.server.disaggregated import served, transferred
from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Pools, Rules, serve
from simulator.planning.server.steady import largest_rate, steady
from simulator.planning.spec_file import read
from tests.simulator.planning.steps import STEP

SECONDS_A_TOKEN = 2e-5


def load(count: int, rate: float, seed: int = 0) -> Requests:
    draw = np.random.default_rng(seed)
    return Requests(
        np.cumsum(draw.exponential(1 / rate, count)),
        draw.integers(150, 600, count),
        draw.integers(1, 80, count),
    )


def by_hand(requests: Requests, budget: int, most: int, room: int):
    """One prefill and one decode server, every token of every sequence: prompts in order of
    arrival, in chunks of the budget; a link that sends one cache at a time; then decoding."""
    jobs = [
        {"at": a, "prompt": int(p), "left": int(p), "out": int(o)}
        for a, p, o in zip(requests.arrival_s, requests.prompt, requests.output, strict=True)
    ]
    clock, queue = 0.0, list(jobs)
    while queue:
        clock = max(clock, queue[0]["at"])
        left, squares, done = budget, 0.0, []
        for job in [j for j in queue if j["at"] <= clock]:
            take, had = min(left, job["left"]), job["prompt"] - job["left"]
            squares += (had + take) ** 2 - had**2
            job["left"] -= take
            left -= take
            done += [job] * (not job["left"])
            if not left:
                break
        clock += STEP.mixed(budget - left, squares, 0, 0)
        for job in done:
            queue.remove(job)
            job["first"] = job["last"] = clock
    free = 0.0
    for job in sorted(jobs, key=lambda j: (j["first"], j["at"])):
        free = job["sent"] = max(free, job["first"]) + SECONDS_A_TOKEN * job["prompt"]
    clock, running, gaps = 0.0, [], []
    queue = sorted((j for j in jobs if j["out"] > 1), key=lambda j: j["sent"])
    while queue or running:
        clock = clock if running else max(clock, queue[0]["sent"])
        new, held = [], sum(j["prompt"] + j["out"] for j in running)
        while queue and queue[0]["sent"] <= clock and len(running) + len(new) < most:
            if held + queue[0]["prompt"] + queue[0]["out"] > room:
                break
            new.append(queue.pop(0))
            held += new[-1]["prompt"] + new[-1]["out"]
        squares = sum((j["prompt"] + 1) ** 2 - j["prompt"] ** 2 for j in new)
        cached = sum(j["prompt"] + j["made"] - 1 for j in running) + sum(j["prompt"] for j in new)
        took = STEP.mixed(len(new), squares, len(running), cached)
        clock += took
        gaps += [took] * len(running) + [clock - j["first"] for j in new]
        for job in new:
            job["made"] = 1
        running += new
        for job in list(running):
            job["made"] += 1
            if job["made"] == job["out"]:
                job["last"] = clock
                running.remove(job)
    first, last = (np.array([j[k] - j["at"] for j in jobs]) for k in ("first", "last"))
    return first, last, np.array(gaps)


@pytest.mark.parametrize("rate", [2.0, 15.0, 30.0])
@pytest.mark.parametrize("room", [100_000, 4000])
def test_the_servers_are_independent_ones(rate: float, room: int):
    requests = load(400, rate)
    rules = Rules(2048, 64, room, reserve=True, pools=Pools(1, 1, SECONDS_A_TOKEN))
    own = served(requests, STEP, rules)
    first, last, gaps = by_hand(requests, 2048, 64, room)
    both = np.concatenate([np.repeat(own.gap_s, own.decoded.astype(int)), own.handover_s])
    both = both[np.isfinite(both)]
    assert both.size == gaps.size == sum(requests.output - 1)
    for percent in (10, 50, 90, 99):
        for mine, theirs in ((own.first_s, first), (own.last_s, last), (both, gaps)):
            assert np.percentile(mine, percent) == pytest.approx(
                np.percentile(theirs, percent), rel=0.01
            )


def test_a_lone_request_pays_its_prompt_its_transfer_and_a_step_a_token():
    """A prompt of 100 tokens, an answer of 3: one prefill, 100 · 20 µs = 2 ms of transfer, then the
    first token's keys with 100 before them, and one decode at 101."""
    requests = Requests(np.array([1.0]), np.array([100]), np.array([3]))
    rules = Rules(2048, 64, 1000, pools=Pools(1, 1, SECONDS_A_TOKEN))
    own = served(requests, STEP, rules)
    prefill = STEP.mixed(100, 100.0**2, 0, 0)
    second = STEP.mixed(1, 101.0**2 - 100.0**2, 0, 100)
    assert own.first_s[0] == pytest.approx(prefill)
    assert own.handover_s[0] == pytest.approx(2e-3 + second)
    assert own.last_s[0] == pytest.approx(prefill + 2e-3 + second + STEP.decode(1, 101))


def test_a_link_sends_one_cache_at_a_time():
    """Three caches, ready at 3, 0 and 1 s, take 2 s each: they arrive at 2, then 4, then 6 s."""
    ends = transferred(np.array([3.0, 0.0, 1.0]), np.full(3, 2.0))
    assert ends.tolist() == [6.0, 2.0, 4.0]


def test_answers_of_one_token_need_no_decode_server():
    requests = Requests(np.arange(5.0), np.full(5, 100), np.ones(5, dtype=int))
    own = served(requests, STEP, Rules(2048, 64, 1000, pools=Pools(1, 2, SECONDS_A_TOKEN)))
    assert own.last_s.tolist() == own.first_s.tolist()
    assert not own.gap_s.size and np.isnan(own.handover_s).all()


def test_a_request_longer_than_the_cache_is_never_answered():
    requests = Requests(np.zeros(2), np.array([500, 10]), np.array([10, 2]))
    own = served(requests, STEP, Rules(2048, 64, 100, pools=Pools(1, 1, SECONDS_A_TOKEN)))
    assert np.isnan(own.last_s).tolist() == [True, False]


def test_tokens_do_not_wait_for_prompts():
    """Long prompts at a high rate: on shared servers 1% of the tokens wait for them, on separate
    servers no token does."""
    requests = load(2000, 12.0)
    requests = replace(requests, prompt=np.full(2000, 2000), output=np.full(2000, 20))
    rules = Rules(2048, 64, 200_000)
    together = serve(requests, STEP, rules)
    apart = served(requests, STEP, replace(rules, pools=Pools(2, 2, 1e-7)))
    assert np.percentile(together.gap_s, 99) > 0.05
    assert np.percentile(apart.gap_s, 99) < 0.02


@pytest.mark.parametrize(
    ("pools", "binds"),
    [
        (Pools(1, 4, 1e-7), "prefill tokens"),
        (Pools(4, 1, 1e-7), "sequences"),
        (Pools(3, 4, 1.0), "link"),
    ],
)
def test_overloaded_pools_are_refused(pools: Pools, binds: str):
    rules = Rules(2048, 8, 200_000, pools=pools)
    assert steady(STEP, rules, 40.0, 1000, 40).binds == binds


def test_the_largest_rate_is_that_of_the_smaller_pool():
    """Twice as many decode servers carry twice the load, until the single prefill server is the
    limit."""
    rules = Rules(2048, 16, 200_000)
    rates = [
        largest_rate(STEP, replace(rules, pools=Pools(1, n, 1e-7)), 500, 100) for n in (1, 2, 64)
    ]
    assert rates[1] == pytest.approx(2 * rates[0], rel=0.01)
    prefill_alone = largest_rate(STEP, rules, 500, 1)
    assert rates[2] == pytest.approx(prefill_alone, rel=0.01)


SPEC: dict[str, Any] = {
    "workload": {
        "kind": "serving",
        "network": "llama3-8b",
        "prompt": 4096,
        "output": 200,
        "kv_link": "400 Gb/s",
    },
    "load": {"rate": "6/s"},
    "limits": {"per_token": "50 ms"},
    "candidates": {"gpus": ["h100"], "counts": [2, 4], "disaggregated": ["1:1", "1:2"]},
    "simulation": {"requests": 200},
}


@pytest.fixture(scope="module")
def answer() -> Plan:
    return plan(SPEC)


def test_a_plan_compares_separate_pools_with_servers_that_do_both(answer: Plan):
    apart = [row for row in answer.rows if row.pools]
    assert [row.count for row in apart] == [2, 4]
    row = apart[1]
    assert row.configuration == (
        "4 × H100 SXM5 80GB as 2 replicas of 1 prefill and 1 decode servers, vllm, bf16"
    )
    assert row.replicas == 2
    beside = next(r for r in answer.rows if not r.pools and r.count == 4)
    assert row.per_token_s is not None and beside.per_token_s is not None
    assert row.per_token_s < beside.per_token_s


def test_a_count_of_partial_replicas_is_left_out(answer: Plan):
    assert answer.pruned["H100 SXM5 80GB, 1:2, vllm, bf16"] == "no count of 2, 4 is a multiple of 3"


def test_a_slow_link_binds():
    few = {**SPEC["candidates"], "counts": [2], "disaggregated": ["1:1"]}
    slow = {**SPEC, "workload": {**SPEC["workload"], "kv_link": "1 Gb/s"}, "candidates": few}
    rows = [row for row in plan(slow).rows if row.pools]
    assert {row.status for row in rows} == {"overloaded"}
    assert "the link between its servers is full" in rows[0].reason


@pytest.mark.parametrize(("section", "key", "value", "text"), [
    ("candidates", "disaggregated", ["1"],
     "candidates.disaggregated = '1': expected numbers of prefill and decode servers, such as "
     '"1:3"; write ["1:1", "1:3"]'),
    ("candidates", "disaggregated", ["0:1"],
     "candidates.disaggregated = '0:1': expected numbers of prefill and decode servers, such as "
     '"1:3"; write ["1:1", "1:3"]'),
    ("workload", "kv_link", 50,
     'workload.kv_link = 50: expected a bandwidth above 0, such as "50 GB/s" or "400 Gb/s"; '
     "correct it"),
    ("workload", "kv_link", "50 GB",
     "workload.kv_link = '50 GB': unknown unit 'GB': expected a bandwidth above 0, such as "
     '"50 GB/s" or "400 Gb/s"; known are MB/s, GB/s, TB/s, Gb/s, Tb/s'),
])  # fmt: skip
def test_invalid_pools_and_links_are_refused(section: str, key: str, value: object, text: str):
    with pytest.raises(InputError) as error:
        read({**SPEC, section: {**SPEC[section], key: value}})
    assert str(error.value) == text
