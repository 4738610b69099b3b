"""Static batches against queueing theory and a simulation token by token, and blocks of the
cache."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator import plan
from simulator.errors import InputError
from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Longest, Rules, percentile, serve
from simulator.planning.server.static import longest, serve_static
from simulator.planning.server.steady import largest_rate, steady
from simulator.planning.spec_file import read
from simulator.planning.step.step_time import StepTime, constant
from tests.simulator.planning.steps import STEP


def load(count: int, rate: float) -> Requests:
    draw = np.random.default_rng(5)
    return Requests(
        np.cumsum(draw.exponential(1 / rate, count)),
        draw.integers(100, 500, count),
        draw.integers(1, 60, count),
    )


def by_hand(requests: Requests, step: StepTime, most: int, room: int):
    """The seconds to the first and last token of each request, and to each token after the first,
    simulated one token at a time."""
    first, last = np.zeros(len(requests)), np.zeros(len(requests))
    gaps: list[float] = []
    clock, queue = 0.0, list(range(len(requests)))
    while queue:
        clock = max(clock, requests.arrival_s[queue[0]])
        here = [r for r in queue if requests.arrival_s[r] <= clock]
        taken: list[int] = []
        for r in here:
            tried = [*taken, r]
            tallest = max(requests.prompt[tried]) + max(requests.output[tried])
            if len(tried) > most or len(tried) * tallest > room:
                break
            taken = tried
        queue = [r for r in queue if r not in taken]
        width, length = int(max(requests.prompt[taken])), int(max(requests.output[taken]))
        clock += step.mixed(len(taken) * width, len(taken) * float(width) ** 2, 0, 0.0)
        for token in range(1, length + 1):
            if token > 1:
                took = step.decode(len(taken), len(taken) * (width + token - 2))
                clock += took
                gaps += [took] * sum(int(requests.output[r]) >= token for r in taken)
            for r in taken:
                first[r] = first[r] or clock - requests.arrival_s[r]
                if requests.output[r] == token:
                    last[r] = clock - requests.arrival_s[r]
    return first, last, np.array(gaps)


@pytest.mark.parametrize(("rate", "room"), [(3.0, 100_000), (40.0, 100_000), (40.0, 4000)])
def test_static_batches_are_those_of_an_independent_simulation(rate: float, room: int):
    requests = load(300, rate)
    served = serve_static(requests, STEP, Rules(2048, 16, room))
    first, last, gaps = by_hand(requests, STEP, 16, room)
    np.testing.assert_allclose(served.first_s, first, rtol=1e-9)
    np.testing.assert_allclose(served.last_s, last, rtol=1e-9)
    for percent in (50, 90, 99):
        assert percentile(served.gap_s, served.decoded, percent) == pytest.approx(
            percentile(gaps, None, percent), rel=0.01
        )
    assert served.decoded.sum() == sum(requests.output - 1)


def test_one_at_a_time_is_an_m_d_1_queue():
    """Answers of three tokens on a machine with 0.2 s per step: s = 0.6, and at one request per
    second W = s + ρ·s / (2·(1 − ρ)) = 0.6 + 0.36 / 0.8 = 1.05 s (Pollaczek-Khinchine)."""
    gaps = np.random.default_rng(3).exponential(1.0, 60_000)
    waited = [0.0]
    # Lindley's recursion: a request waits for the remaining time of the previous one
    for gap in gaps[1:]:
        waited.append(max(0.0, waited[-1] + 0.6 - gap))
    assert np.mean(waited) + 0.6 == pytest.approx(1.05, rel=0.01)
    count = 6_000
    requests = Requests(np.cumsum(gaps[:count]), np.full(count, 10), np.full(count, 3))
    served = serve_static(requests, constant(0.2, 1), Rules(4096, 1, 1000))
    assert served.last_s == pytest.approx(np.array(waited[:count]) + 0.6, abs=1e-6)


def test_the_largest_rate_of_static_batches_is_where_their_queue_begins_to_grow():
    """Batches of 8, with one step of 0.1 s for the prompts and 9 for the tokens: 8 requests per
    second."""
    rules = Rules(4096, 8, 10**6, static=Longest((100.0,) * 5, (10.0,) * 5))
    step = constant(0.1, 8)
    assert largest_rate(step, rules, 100, 10) == pytest.approx(8.0, rel=0.01)
    assert steady(step, rules, 8.5, 100, 10).binds == "sequences"
    assert steady(step, replace(rules, cache_tokens=450), 4.5, 100, 10).binds == "cache"
    busy = steady(step, rules, 4.5, 100, 10)  # 4.5 requests arrive within 1 s: batches of five
    assert (busy.batch, busy.iteration_s) == (5.0, pytest.approx(0.1))
    assert busy.prompt_share == pytest.approx(0.1)


def test_the_closed_form_is_near_the_simulation_of_answers_of_many_lengths():
    """A batch holds the requests that arrive while the previous one runs: at half of the largest
    rate, the queue of the simulated server does not grow; at 1.3 times the largest rate, it
    does."""
    draw = np.random.default_rng(1)
    count = 20_000
    prompts, outputs = draw.integers(100, 500, count), draw.lognormal(3, 1, count).astype(int) + 1
    drawn = Requests(np.cumsum(draw.exponential(1.0, count)), prompts, outputs)
    rules = Rules(4096, 64, 10**6, static=longest(drawn))
    most = largest_rate(STEP, rules, 0, 0)
    calm, crowded = (serve_static(drawn.times(rate=r * most), STEP, rules) for r in (0.5, 1.3))
    for served, grows in ((calm, False), (crowded, True)):
        early, late = (served.first_s[n : n + 5000].mean() for n in (5000, 15_000))
        assert (late > 1.5 * early) == grows


def test_a_longer_answer_holds_up_its_batch():
    """The longest of nine draws is at the quantile 0.9."""
    few = Requests(np.arange(11.0), np.arange(11), np.arange(11) * 2)
    assert longest(few).of(9) == pytest.approx((9.0, 18.0))


def test_blocks_of_the_cache_are_never_filled_by_the_last_tokens():
    """Blocks of 64 tokens: on average 31.5 tokens of each of 10 sequences' last block are empty, so
    that 5,000 tokens hold what 5,000 − 315 would hold without blocks."""
    requests = Requests(np.zeros(40), np.full(40, 400), np.full(40, 50))
    whole = serve(requests, STEP, Rules(8192, 64, 4685))
    blocks = serve(requests, STEP, Rules(8192, 64, 5000, cache_block=64))
    plain = serve(requests, STEP, Rules(8192, 64, 5000))
    assert blocks.cached_tokens < 0.99 * plain.cached_tokens
    assert blocks.cached_tokens == pytest.approx(whole.cached_tokens, rel=0.01)
    reserved = Rules(8192, 64, 5000, reserve=True, cache_block=64)
    held = serve(requests, STEP, reserved).decoded.max()
    assert held == 5000 // (8 * 64)  # 450 tokens take 8 blocks, so 9 sequences fit
    assert serve(requests, STEP, replace(reserved, cache_block=1)).decoded.max() == 5000 // 450


def test_a_request_that_fits_without_its_last_block_is_never_answered():
    requests = Requests(np.zeros(1), np.array([990]), np.array([10]))
    assert serve(requests, STEP, Rules(2048, 4, 1000)).last_s[0] > 0
    assert np.isnan(serve(requests, STEP, Rules(2048, 4, 1000, cache_block=16)).last_s[0])


def test_a_plan_with_static_batches_serves_less():
    work: dict[str, Any] = {"kind": "serving", "network": "llama3-1b", "prompt": 512}
    work["output"] = {"mean": 100, "sigma": 1.0}
    spec = {
        "workload": work,
        "load": {"rate": "6/s"},
        "candidates": {"gpus": ["l40s"], "counts": [1]},
        "simulation": {"requests": 500},
    }
    usual, static = plan(spec), plan(spec | {"workload": work | {"batching": "static"}})
    assert static.best and usual.best
    assert static.best.largest_rate_per_s and usual.best.largest_rate_per_s
    assert static.best.largest_rate_per_s < 0.5 * usual.best.largest_rate_per_s
    assert static.best.first_token_s and usual.best.first_token_s
    assert static.best.first_token_s > 3 * usual.best.first_token_s
    assert "static" in [a.value for a in static.assumptions if a.name == "batches"]
    apart = spec | {"workload": work | {"batching": "static"}}
    apart["candidates"] = {"gpus": ["l40s"], "disaggregated": ["1:1"]}
    with pytest.raises(InputError, match="separate decode servers batch continuously; remove one"):
        read(apart)
