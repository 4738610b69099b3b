"""Properties that hold under all what-ifs."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from simulator.errors import InputError
from simulator.prediction import Prediction
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario, predict
from simulator.schedule.launch_plan import issued
from simulator.timing.profile import learned
from simulator.timing.rates import l2_kept_bytes, peak_flops_per_s
from simulator.whatif import apply
from tests.simulator.whatif.conftest import small_scenario

BASES = [
    small_scenario("bert-base", dtype="fp16", seq=16, sizes=dict(layers=1)),
    small_scenario("mlp-tiny", sizes=dict(width=256), training=True),
    small_scenario("mlp-tiny", dtype="bf16", sizes=dict(depth=4), mode="cuda_graph"),
]
MANY = int(os.environ.get("PROPERTY_EXAMPLES", "2000"))
"""Number of examples, which take 1 ms each: steps of few kernels, traced once. `run.py test --all`
sets 50,000."""
BATCHES = [1, 2, 3, 7, 8, 16, 33, 100, 256, 1000, 3000]


scales = st.floats(0.2, 5)
bases = st.sampled_from(BASES)


def times(name: str, **more: Any) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return scales.map(lambda value: (name, {**more, "times": value}))


applied = st.one_of(
    times("bandwidth"), times("tensor_peak"), times("vector_peak"), times("l2"),
    times("l2_bandwidth"), times("host_speed"), times("utilisation", family="gemm"),
    times("rate", of="memory"),
    st.integers(1, 4096).map(lambda n: ("queue_depth", {"launches": n})),
    st.sampled_from([
        ("cuda_graph", {}), ("no_syncs", {}), ("precision", {"dtype": "bf16"}),
        ("remove", {"op": "addmm"}), ("remove", {"op": "mm"}), ("remove", {"op": "relu"}),
    ]),
)  # fmt: skip


UNCHANGED = [
    "bandwidth", "tensor_peak", "vector_peak", "l2", "memory", "l2_bandwidth", "sustained_clock",
    "host_speed", "rate", "launch_cost",
]  # fmt: skip


@given(bases, st.lists(applied, max_size=4), st.sampled_from(UNCHANGED), scales)
@settings(max_examples=MANY, deadline=None)
def test_any_whatifs(base: Scenario, chosen: list[tuple[str, dict[str, Any]]], name: str, k: float):
    """Each property holds for all examples; one test, because most of the time goes into drawing
    and predicting them."""
    states = [base]
    for each, arguments in chosen:
        states.append(apply(states[-1], each, arguments))
    undoing_restores_equality(states)
    a_whatif_without_a_change_is_the_identity(states[-1], name)
    try:
        p = predict(states[-1])
    except InputError as error:
        assert "remove" in str(error) or "utilisation" in str(error)  # the kernel no longer exists
        reject()  # and draw another example
    shares_sum_to_one_and_the_interval_holds_the_point(p)
    every_rate_times_k_divides_the_time_by_k(states[-1], p, k)


def undoing_restores_equality(states: list[Scenario]) -> None:
    for before, after in zip(reversed(states[:-1]), reversed(states[1:]), strict=True):
        assert (after if after == before else after.undo()) == before
    assert states[-1].baseline == states[0]


def a_whatif_without_a_change_is_the_identity(scenario: Scenario, name: str) -> None:
    assert apply(scenario, name, {"times": 1.0}) is scenario
    for twice in ("cuda_graph", "no_syncs"):  # a second application changes nothing
        once = apply(scenario, twice)
        assert apply(once, twice) is once


def shares_sum_to_one_and_the_interval_holds_the_point(p: Prediction) -> None:
    assert sum(p.shares.values()) == pytest.approx(1.0)
    low, high = p.interval_s
    assert low <= p.period_s <= high


def every_rate_times_k_divides_the_time_by_k(
    scenario: Scenario, before: Prediction, k: float
) -> None:
    after = predict(apply(scenario, "rate", {"of": "all", "times": k}))
    assert after.period_s == pytest.approx(before.period_s / k, rel=1e-9)
    assert after.latency_s == pytest.approx(before.latency_s / k, rel=1e-9)
    assert after.gpu_busy_s == pytest.approx(before.gpu_busy_s / k, rel=1e-9)
    assert after.host_s == pytest.approx(before.host_s / k, rel=1e-9)


@given(bases, applied, applied)
@settings(max_examples=MANY, deadline=None)
def test_the_order_of_independent_whatifs_does_not_matter(base: Scenario, a: Any, b: Any):
    if a[0] == b[0] or {a[0], b[0]} & {"remove"}:
        # a what-if is not independent of itself; some ops exist in one of the two orders only
        return
    one, other = apply(apply(base, *a), *b), apply(apply(base, *b), *a)
    first, second = resolve(one), resolve(other)
    assert first.edits == second.edits
    if first != second:  # otherwise their predictions cannot differ
        assert predict(one).period_s == pytest.approx(predict(other).period_s, rel=1e-9)


STEPS = MANY // 32
"""Factors between 1 and 2 that make a card faster for the comparison; each is predicted once."""


@cache
def period_s(base: int, name: str, step: int) -> float:
    """The period of one of `BASES` on a card with one figure multiplied by 1 + step / STEPS."""
    return predict(apply(BASES[base], name, {"times": 1 + step / STEPS})).period_s


@given(
    st.integers(0, len(BASES) - 1),
    st.sampled_from(
        ["bandwidth", "tensor_peak", "vector_peak", "l2", "l2_bandwidth", "sustained_clock"]
    ),
    st.integers(0, STEPS),
    st.integers(0, STEPS),
)
@settings(max_examples=MANY, deadline=None)
def test_a_faster_card_of_the_same_kind_is_never_slower(base: int, name: str, some: int, more: int):
    slow, fast = (period_s(base, name, step) for step in sorted((some, more)))
    assert fast <= slow * (1 + 1e-12)


@pytest.mark.parametrize("base", BASES, ids=lambda s: s.network)
@pytest.mark.parametrize("rate", ["compute", "memory", "overhead"])
def test_shares_are_the_elasticities_of_the_rates(base: Scenario, rate: str):
    p = predict(base)
    nudge = 1e-5  # −∂ ln T / ∂ ln r, by a finite difference
    up = predict(apply(base, "rate", {"of": rate, "times": 1 + nudge})).period_s
    down = predict(apply(base, "rate", {"of": rate, "times": 1 - nudge})).period_s
    assert (down - up) / (2 * nudge * p.period_s) == pytest.approx(p.shares[rate], abs=2e-3)  # pyright: ignore


@given(bases, st.sampled_from(BATCHES), scales, scales, scales)
@settings(max_examples=MANY, deadline=None)
def test_no_step_is_faster_than_its_arithmetic_or_its_traffic(
    base: Scenario, batch: int, bandwidth: float, peak: float, l2: float
):
    for name, factor in (("bandwidth", bandwidth), ("tensor_peak", peak), ("l2", l2)):
        base = apply(base, name, {"times": factor})
    p = predict(apply(base, "batch", {"samples": batch}))
    launched = np.bincount(p.columns.work_of, minlength=len(p.works)).tolist()
    arithmetic = sum(
        count * w.flops * w.dims.get("fraction", 1.0) / peak_flops_per_s(p.gpu, w.engine, w.dtype)
        for w, count in zip(p.works, launched, strict=True)
    )
    assert p.gpu_busy_s >= arithmetic * (1 - 1e-9)
    hot = issued(p.trace, p.gpu).hot_share(l2_kept_bytes(p.gpu, learned(p.gpu.id)))
    bytes_ = np.array([w.bytes for w in p.works])[p.columns.work_of]
    traffic = float((bytes_ * (1 - hot)).sum()) / p.gpu.bandwidth_bytes_per_s
    assert p.gpu_busy_s >= traffic * (1 - 1e-9)
    assert p.period_s >= max(p.gpu_busy_s, p.host_s) * (1 - 1e-9)
    assert p.latency_s >= p.gpu_busy_s * (1 - 1e-9)


NOTHING = [
    ("bandwidth", {"times": 1.0}), ("tensor_peak", {"times": 1.0}), ("vector_peak", {"times": 1}),
    ("l2", {"times": 1.0}), ("memory", {"times": 1.0}), ("sustained_clock", {"times": 1.0}),
    ("l2_bandwidth", {"times": 1.0}), ("host_speed", {"times": 1.0}), ("rate", {"times": 1.0}),
    ("launch_cost", {"times": 1.0}), ("launch_latency", {"microseconds": 5.0}),
    ("queue_depth", {"launches": 1024}), ("host", {"to": "xeon-h200"}), ("mode", {"to": "eager"}),
    ("gpu", {"to": "H200 SXM"}), ("figure", {"of": "units", "value": 132}),
    ("precision", {"dtype": "fp16"}), ("kv_cache", {"dtype": "fp16"}), ("batch", {"samples": 4}),
    ("seq", {"tokens": 16}), ("size", {"parameter": "layers", "value": 1}),
    ("network", {"to": "bert-base"}), ("sdpa", {"backend": "usual"}),
    ("utilisation", {"family": "gemm", "times": 1.0}), ("training", {"on": False}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments"), NOTHING)
def test_a_whatif_without_a_change_is_the_identity(name: str, arguments: dict[str, Any]):
    base = BASES[0]
    assert apply(base, name, arguments) is base


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("accumulate", {"steps": 1}), ("optimizer", {"to": "adamw"}), ("training", {"on": True})],
)
def test_a_training_whatif_without_a_change_is_the_identity(name: str, arguments: dict[str, Any]):
    assert apply(BASES[1], name, arguments) is BASES[1]
