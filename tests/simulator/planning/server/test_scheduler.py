"""The simulated server against an independent simulation and queueing theory."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest

from simulator.caches.cancelling import checking
from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Rules, percentile, serve
from simulator.planning.server.steady import largest_rate, steady
from simulator.planning.step.step_time import StepTime, constant
from tests.simulator.planning.steps import STEP


def load(count: int, rate: float, seed: int = 0, prompt: int = 300, output: int = 40) -> Requests:
    draw = np.random.default_rng(seed)
    return Requests(
        np.cumsum(draw.exponential(1 / rate, count)),
        draw.integers(prompt // 2, prompt * 2, count),
        draw.integers(1, output * 2, count),
    )


def by_hand(requests: Requests, step: StepTime, budget: int, most: int, room: int):
    """Simulate every token of every sequence, iteration by iteration; a request enters when its
    whole length fits.
    """
    jobs = [
        {"at": a, "prompt": int(p), "left": int(p), "out": int(o), "made": 0, "first": 0.0}
        for a, p, o in zip(requests.arrival_s, requests.prompt, requests.output, strict=True)
    ]
    clock, coming, waiting, running = 0.0, 0, [], []
    gaps, weights = [], []
    while coming < len(jobs) or waiting or running:
        while coming < len(jobs) and jobs[coming]["at"] <= clock:
            waiting.append(jobs[coming])
            coming += 1
        if not waiting and not running:
            clock = jobs[coming]["at"]
            continue
        decoding = [j for j in running if not j["left"]]
        left, tokens, squares = budget - len(decoding), 0, 0.0
        cached = sum(j["prompt"] - j["left"] + max(j["made"] - 1, 0) for j in running)
        for job in [j for j in running if j["left"]] + waiting:
            if left <= 0:
                break
            if job in waiting:
                promised = sum(j["prompt"] + j["out"] for j in running)
                if len(running) >= most or promised + job["prompt"] + job["out"] > room:
                    break
                waiting.remove(job)
                running.append(job)
            take, had = min(left, job["left"]), job["prompt"] - job["left"]
            squares += (had + take) ** 2 - had**2
            job["left"] -= take
            left, tokens = left - take, tokens + take
        took = step.mixed(tokens, squares, len(decoding), cached)
        clock += took
        if decoding:
            gaps.append(took)
            weights.append(len(decoding))
        for job in list(running):
            if job["left"]:
                continue
            job["made"] += 1
            job["first"] = job["first"] or clock
            if job["made"] == job["out"]:
                job["last"] = clock
                running.remove(job)
    return (
        np.array([j["first"] - j["at"] for j in jobs]),
        np.array([j["last"] - j["at"] for j in jobs]),
        np.array(gaps),
        np.array(weights, float),
    )


@pytest.mark.parametrize("rate", [2.0, 15.0, 60.0])
@pytest.mark.parametrize("room", [100_000, 3000])
def test_the_server_is_an_independent_one(rate: float, room: int):
    requests = load(300, rate)
    served = serve(requests, STEP, Rules(2048, 64, room, reserve=True))
    first, last, gaps, weights = by_hand(requests, STEP, 2048, 64, room)
    for percent in (50, 90, 99):
        assert np.percentile(served.first_s, percent) == pytest.approx(
            np.percentile(first, percent), rel=0.01
        )
        assert np.percentile(served.last_s, percent) == pytest.approx(
            np.percentile(last, percent), rel=0.01
        )
        assert percentile(served.gap_s, served.decoded, percent) == pytest.approx(
            percentile(gaps, weights, percent), rel=0.01
        )
    assert served.decoded.sum() == sum(requests.output - 1)  # the prefill produces the first token


def test_one_request_at_a_time_waits_as_in_m_d_1():
    """Answers of one token on a machine with 0.7 s per iteration, one prompt in each, one request
    per second: W = s + ρ·s / (2·(1 − ρ)) = 0.7 + 0.7·0.7 / 0.6 = 1.517 s (Pollaczek-Khinchine)."""
    draw = np.random.default_rng(3)
    count = 400_000
    arrivals = np.cumsum(draw.exponential(1.0, count))
    requests = Requests(arrivals, np.full(count, 10), np.full(count, 1))
    served = serve(requests, constant(0.7, 1), Rules(10, 1, 1000))
    assert served.first_s.mean() == pytest.approx(0.7 + 0.49 / 0.6, rel=0.01)


def test_a_lone_request_takes_its_prefill_and_a_step_a_token():
    """A prompt of 100 tokens, an answer of 5: one iteration of 100 tokens, then 4 decodes at 100,
    101, 102, 103."""
    requests = Requests(np.array([0.0]), np.array([100]), np.array([5]))
    served = serve(requests, STEP, Rules(2048, 64, 1000))
    prefill = STEP.mixed(100, 100.0**2, 0, 0)
    assert served.first_s[0] == pytest.approx(prefill)
    decodes = sum(STEP.decode(1, cached) for cached in (100, 101, 102, 103))
    assert served.last_s[0] == pytest.approx(prefill + decodes)


def test_a_prompt_is_cut_by_the_budget_and_prefix_hits_spare_work():
    requests = Requests(np.array([0.0]), np.array([250]), np.array([1]))
    served = serve(requests, STEP, Rules(100, 64, 1000))
    cuts = [(100, 0), (100, 100), (50, 200)]
    expected = sum(STEP.mixed(p, (c + p) ** 2 - c**2, 0, 0) for p, c in cuts)
    assert served.first_s[0] == pytest.approx(expected)
    half = serve(requests, STEP, Rules(1000, 64, 1000, prefix_hit=0.5))
    assert half.first_s[0] == pytest.approx(STEP.mixed(125, 250**2 - 125**2, 0, 0))


def test_without_cache_the_last_to_come_starts_again_and_all_are_answered():
    requests = Requests(np.zeros(4), np.full(4, 100), np.full(4, 100))
    served = serve(requests, STEP, Rules(2048, 64, 450))
    assert served.preempted > 0
    assert not np.isnan(served.last_s).any()
    assert served.last_s[0] == min(served.last_s)


def test_a_request_longer_than_the_cache_is_never_answered():
    requests = Requests(np.array([0.0, 0.0]), np.array([500, 10]), np.array([10, 2]))
    served = serve(requests, STEP, Rules(2048, 64, 100))
    assert np.isnan(served.last_s).tolist() == [True, False]


def test_all_tokens_are_generated_whatever_the_rules():
    for room, budget, most in ((1500, 512, 8), (50_000, 128, 3), (700, 2048, 64)):
        requests = load(200, 30.0, seed=5, prompt=200, output=30)
        served = serve(requests, STEP, Rules(budget, most, room))
        assert not np.isnan(served.last_s).any()
        assert (served.last_s >= served.first_s).all()


def test_percentiles_weigh_each_iteration_by_its_tokens():
    """1 token at 1 s, 99 at 2 s: the first percentile is 1 s, all higher ones are 2 s."""
    values, weights = np.array([2.0, 1.0]), np.array([99.0, 1.0])
    assert percentile(values, weights, 1) == 1.0
    assert percentile(values, weights, 1.01) == 2.0
    assert percentile(values, None, 50) == 1.0


def test_the_closed_form_is_the_simulation_in_the_mean():
    count = 20_000
    draw = np.random.default_rng(1)
    requests = Requests(
        np.cumsum(draw.exponential(1 / 8.0, count)), np.full(count, 300), np.full(count, 40)
    )
    rules = Rules(2048, 64, 200_000)
    served = serve(requests, STEP, rules)
    state = steady(STEP, rules, 8.0, 300, 40)
    decoded = float(served.decoded.sum() / served.end_s)
    assert decoded == pytest.approx(8.0 * 39, rel=0.02)
    mean_gap = float(np.average(served.gap_s, weights=served.decoded))
    assert mean_gap == pytest.approx(state.iteration_s, rel=0.2)


def test_overload_is_at_the_largest_rate():
    rules = Rules(2048, 64, 200_000)
    most = largest_rate(STEP, rules, 300, 40)
    assert not steady(STEP, rules, 0.98 * most, 300, 40).binds
    assert steady(STEP, rules, 1.02 * most, 300, 40).binds
    assert steady(STEP, Rules(2048, 64, 100), 1.0, 300, 40).binds == "cache"
    crowded = serve(load(2000, 1.3 * most), STEP, rules)
    calm = serve(load(2000, 0.5 * most), STEP, rules)
    assert crowded.last_s[-100:].mean() > 5 * calm.last_s[-100:].mean()


def test_a_long_simulation_can_be_cancelled_within_200_ms_of_processor_time():
    times_s: list[float] = [time.thread_time()]
    requests = load(6000, 40.0)
    with checking(lambda: times_s.append(time.thread_time())):
        serve(requests, STEP, Rules(2048, 64, 20_000))
    times_s.append(time.thread_time())
    pauses = [after - before for before, after in pairwise(times_s)]
    assert len(pauses) >= 20 and max(pauses) <= 0.2  # 6,000 requests enter in as many iterations
