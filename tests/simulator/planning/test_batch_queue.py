"""The queue of a GPU that batches samples as they arrive."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np
import pytest

from simulator import plan
from simulator.errors import InputError
from simulator.planning.batches.queue import BatchServer, arrivals, serve_batches
from simulator.planning.batches.served import HIGH, LOW, BatchTable, largest_batch
from simulator.planning.spec_file import read

SERVICE: dict[str, Any] = {
    "workload": {"kind": "inference", "network": "resnet50"},
    "load": {"rate": "600/s"},
    "limits": {"latency": "500 ms"},
    "candidates": {"gpus": ["t4"], "engines": ["eager"], "precisions": ["fp16"]},
}


def test_a_single_sample_at_a_time_waits_as_in_an_m_d_1_queue():
    """At half of the load with 10 ms per sample, the mean wait is 0.5 · 10 / (2 · (1 − 0.5)) = 5
    ms."""
    load = serve_batches(arrivals(50.0, 400_000, 0), BatchServer(np.array([0.01])))
    assert load.latency_s.mean() == pytest.approx(0.015, rel=0.01)
    assert load.utilisation == pytest.approx(0.5, rel=0.01)
    assert load.mean_batch == 1


def test_batches_without_a_limit_of_their_size_wait_for_the_one_before():
    """Each batch takes d = 10 ms, in which a = 3 samples arrive on average; with probability
    exp(−3) none arrives, and then the next sample starts at once. A cycle has a + exp(−a) samples,
    a of which wait for half of a batch on average: d + a · d/2 / (a + exp(−a)). The waits of these
    are uniform, so that 99% of the samples end within d + d · (1 − 0.01 · (a + exp(−a)) / a)."""
    a, d = 3.0, 0.01
    server = BatchServer(np.full(1000, d))
    load = serve_batches(arrivals(a / d, 400_000, 0), server)
    samples = a + exp(-a)
    assert load.latency_s.mean() == pytest.approx(d + a * d / 2 / samples, rel=0.01)
    assert load.percentile_s(99) == pytest.approx(d + d * (1 - 0.01 * samples / a), rel=0.01)
    assert load.mean_batch == pytest.approx(samples, rel=0.01)


def test_the_queue_agrees_with_a_simulation_in_small_steps():
    """The simulation has a clock of 10 µs and the same samples: every sample ends within two
    ticks."""
    tick, most, window = 1e-5, 4, 0.002
    took = np.array([0.003, 0.0035, 0.0045, 0.005])
    arrival = arrivals(500.0, 300, 1)
    waiting: list[int] = []
    ends = np.zeros(arrival.size)
    free, coming, now = 0.0, 0, 0.0
    while coming < arrival.size or waiting:
        while coming < arrival.size and arrival[coming] <= now:
            waiting.append(coming)
            coming += 1
        due = bool(waiting) and (len(waiting) >= most or now - arrival[waiting[0]] >= window)
        if now >= free and due:
            batch, waiting = waiting[:most], waiting[most:]
            free = now + took[len(batch) - 1]
            ends[batch] = free
        now += tick
    load = serve_batches(arrival, BatchServer(took, window))
    assert load.sizes.sum() == arrival.size and load.sizes.max() == most
    errors = np.abs(load.latency_s - (ends - arrival))
    assert np.quantile(errors, 0.9) < 1e-4  # a time step can move a sample into the next batch
    assert load.latency_s.mean() == pytest.approx((ends - arrival).mean(), rel=0.01)


def test_a_window_waits_for_a_full_batch_but_no_longer():
    """Two samples arrive at 0 and 1 ms, and a batch takes 2 ms. Without a window they take 2 ms and
    3 ms (the second waits for the first); with a window of 5 ms both start at 1 ms; a third sample
    at 10 ms waits for its own window."""
    took = np.array([0.002, 0.002])
    first = np.array([0.0, 0.001])
    assert serve_batches(first, BatchServer(took)).latency_s == pytest.approx([0.002, 0.003])
    waits = BatchServer(took, 0.005)
    assert serve_batches(first, waits).latency_s == pytest.approx([0.003, 0.002])
    late = serve_batches(np.array([0.0, 0.001, 0.01]), waits)
    assert late.latency_s == pytest.approx([0.003, 0.002, 0.007])
    assert late.sizes.tolist() == [2, 1]


def test_a_service_is_planned_with_its_queue():
    answer = plan(SERVICE)
    row: Any = answer.rows[0]
    assert row.status == "fits" and 1 <= row.batch <= row.largest_batch
    low, high = row.latency_interval_s
    assert low < row.latency_s < high <= 0.5
    assert row.utilisation < 1 and row.largest_rate_per_s > 600
    assert "99% of samples within 500 ms" in answer.question
    assert "samples/s with 99% of them within" in answer.verdict
    assert f"at most {row.largest_batch}" in answer.verdict
    varied = {a.name: a for a in answer.assumptions if a.low is not None}
    assert set(varied) == {
        "step time",
        "samples a second",
        "largest batch",
        "longest wait for a full batch",
    }
    load: Any = varied["samples a second"]
    assert load.low < row.latency_s < load.high
    window: Any = varied["longest wait for a full batch"]
    assert window.low == pytest.approx(row.latency_s) and window.high > window.low


def test_more_cards_are_taken_until_the_latency_at_the_percentile_fits():
    """At the limit of a single batch, a queue needs more cards than the rate alone."""
    one: Any = plan(SERVICE | {"load": {"rate": "200/s"}, "limits": {}}).rows[0]
    rate = 0.9 * one.largest_rate_interval_per_s[0]
    spec = SERVICE | {
        "workload": SERVICE["workload"] | {"batch": one.largest_batch},
        "load": {"rate": f"{rate:.0f}/s"},
    }
    lone: Any = plan(spec | {"limits": {}}).rows[0]
    assert lone.count == 1
    limit_ms = 0.9 * lone.latency_s * 1e3
    rows: Any = plan(spec | {"limits": {"latency": f"{limit_ms:.2f} ms"}}).rows
    assert rows[0].status == "fits" and rows[0].count > 1
    assert next(row for row in rows if row.count == 1).binds == "queueing"


def test_an_overloaded_service_names_the_cards_that_it_needs():
    spec = SERVICE | {"load": {"rate": "1000000/s"}}
    spec["candidates"] = SERVICE["candidates"] | {"counts": [1, 2]}
    row: Any = plan(spec).rows[0]
    assert (row.status, row.count) == ("overloaded", 2)
    needed = int(row.reason.split("; ")[1].split()[0].replace(",", ""))
    surely = row.largest_rate_interval_per_s[0] / row.count
    assert (needed - 1) * surely <= 1_000_000 < needed * surely


@pytest.mark.parametrize(("changed", "message"), [
    ({"load": {}}, "workload.batch_window has no effect without load.rate, since batches are then "
     "always full: expected both keys or neither; add load.rate, or remove workload.batch_window"),
    ({"workload": {"kind": "serving", "network": "llama3-8b", "batch_window": "1 ms"}},
     "workload.batch_window does not apply to serving: expected no such key; remove it"),
])  # fmt: skip
def test_a_window_without_a_queue_is_refused(changed: dict[str, Any], message: str):
    own = {"workload": SERVICE["workload"] | {"batch_window": "5 ms"}}
    with pytest.raises(InputError) as error:
        read(SERVICE | own | changed)
    assert str(error.value) == message


def test_the_largest_batch_has_the_least_latency_and_carries_the_most_of_those():
    """Batches of 1, 2, 4 and 8 take 10, 11, 13 and 60 ms: 100, 182, 308 and 133 samples per second.
    At 150 per second, batches of one are overloaded, those of two queue, and those of eight are
    slow. At 5 per second all have the latency of one sample, and four carry the most."""
    took = np.array([0.010, 0.011, 0.013, 0.060])
    columns = {"latency_s": took, "period_s": took, "low_s": took, "high_s": took}
    table = BatchTable(np.array([1.0, 2.0, 4.0, 8.0]), columns)
    for rate in (5, 150):
        spec = read(SERVICE | {"load": {"rate": f"{rate}/s"}})
        assert largest_batch(spec, table, 1) == 4
    assert largest_batch(read(SERVICE | {"load": {"rate": "2000/s"}}), table, 1) == 4
    own = read(SERVICE | {"load": {"rate": "900/s"}})
    assert largest_batch(own, table, 4) == largest_batch(own, table, 3) == 4
    tight = read(SERVICE | {"load": {"rate": "5/s"}, "limits": {"latency": "12 ms"}})
    assert largest_batch(tight, table, 1) == 2  # a batch of four takes 13 ms


def test_each_batch_has_the_interval_of_its_own_step():
    """A host-bound batch of 1 takes 10 to 20 ms, one of 3 takes 20 to 22 ms: at the slow end, one
    of 2 takes 21 ms."""
    columns = {
        "latency_s": np.array([0.010, 0.020]),
        "period_s": np.array([0.010, 0.020]),
        "low_s": np.array([0.009, 0.019]),
        "high_s": np.array([0.020, 0.022]),
    }
    table = BatchTable(np.array([1.0, 3.0]), columns)
    assert table.server(3, 0.0, HIGH).batch_s == pytest.approx([0.020, 0.021, 0.022])
    assert table.server(3, 0.0, LOW).batch_s == pytest.approx([0.009, 0.014, 0.019])
    assert table.server(3, 0.0).batch_s == pytest.approx([0.010, 0.015, 0.020])
