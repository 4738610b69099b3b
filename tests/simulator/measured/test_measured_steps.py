"""The measured steps that a scenario is compared with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.hardware.gpu import gpu
from simulator.measured.steps import alike, steps
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

GPT = Scenario("gpt2", batch=3, seq=7, dtype="bf16")


def test_steps_that_differ_only_in_batch_and_sequence_are_similar() -> None:
    periods = {(step.batch, step.seq): step.period_s for step in alike(GPT)}
    assert periods[1, 256] == 2.2842e-3 and periods[32, 256] == 10.225e-3
    assert (8, 256) in periods and (16, 128) in periods
    eager = [
        step
        for step in steps("h200_sxm")
        if step.network == "gpt2"
        and step.dtype == "bf16"
        and not step.training
        and step.mode == "eager"
    ]
    assert len(periods) == len({(step.batch, step.seq) for step in eager})


def test_a_training_step_is_like_those_of_its_optimizer() -> None:
    train = replace(GPT, training=True)
    assert {step.optimizer for step in alike(train)} == {"adamw"}
    assert not alike(replace(train, optimizer="sgd"))
    assert all(step.training for step in alike(train))


@pytest.mark.parametrize("other", [
    replace(GPT, gpu="h100"), replace(GPT, sizes={"layers": 2}), replace(GPT, host_speed=2.0),
    apply(GPT, "bandwidth"), apply(GPT, "remove", {"op": "gelu"}), apply(GPT, "rate"),
    apply(GPT, "precision", {"dtype": "fp32", "modules": "layers.#"}),
])  # fmt: skip
def test_a_changed_scenario_has_no_similar_step(other: Scenario) -> None:
    assert alike(GPT) and not alike(other)


def test_modes_are_distinguished() -> None:
    graphs = alike(apply(GPT, "cuda_graph"))
    assert graphs and {step.mode for step in graphs} == {"cuda_graph"}
    assert {step.mode for step in alike(replace(GPT, mode="compiled"))} == {"compiled"}


def test_other_gpus_have_no_timings() -> None:
    assert steps("l40s") == () and steps(gpu("h200").id)
