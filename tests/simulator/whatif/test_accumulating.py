"""Gradient accumulation against hand-computed sums."""

from __future__ import annotations

import pytest

from simulator.errors import InputError
from simulator.scenario.scenario import predict
from simulator.whatif import apply
from tests.simulator.whatif.conftest import small_scenario

BASE = small_scenario(
    "mlp-tiny", sizes=dict(depth=2, width=64), training=True, optimizer="sgd", batch=32
)


def test_kernels_flops_and_samples_add_up():
    one, three = predict(BASE), predict(apply(BASE, "accumulate", {"steps": 3}))
    assert three.trace.samples == 3 * 32
    phases = [
        {ph: sum(k.phase == ph for k in p.kernels) for ph in ("forward", "backward", "optimizer")}
        for p in (one, three)
    ]
    assert phases[1]["forward"] == 3 * phases[0]["forward"]
    assert phases[1]["optimizer"] == phases[0]["optimizer"]
    weights = 2 * 3  # the weight and the bias of each of three layers are added twice more
    adds = [sum(n == "aten.add_.Tensor" for n in p.trace.names()) for p in (one, three)]
    assert adds[1] - adds[0] == 2 * weights
    assert phases[1]["backward"] == 3 * phases[0]["backward"] + 2 * weights
    products = [sum(k.flops for k in p.kernels if k.family == "gemm") for p in (one, three)]
    assert products[1] == 3 * products[0]


def test_the_step_costs_less_than_as_many_steps():
    one, four = predict(BASE), predict(apply(BASE, "accumulate", {"steps": 4}))
    assert one.period_s < four.period_s < 4 * one.period_s


def test_activations_of_a_forward_are_gone_before_the_next():
    one, many = predict(BASE), predict(apply(BASE, "accumulate", {"steps": 8}))
    gradients = sum(s.nbytes for s in one.trace.storages if s.role == "gradient")
    assert many.peak_memory_bytes <= one.peak_memory_bytes + 2 * gradients
    last = len(many.trace.ops)
    assert all(0 <= (s.freed or 0) <= last for s in many.trace.storages)
    assert all(s.freed is None or s.born <= s.freed for s in many.trace.storages)


def test_inference_is_refused():
    with pytest.raises(InputError, match="accumulate: the step is inference: expected training"):
        apply(small_scenario("mlp-tiny"), "accumulate")
