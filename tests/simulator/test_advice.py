"""Advice: what it states is what a fresh prediction says."""

from __future__ import annotations

import pytest

from simulator.advice import advise, command, sample_s, together
from simulator.errors import InputError
from simulator.scenario import Scenario, predict
from simulator.whatif import apply, parse
from tests.simulator.whatif.conftest import asked

BASE = asked("bert-base", seq=16)


def test_stated_gains_are_those_of_a_new_prediction():
    found = advise(BASE)
    assert found.advice
    before = predict(BASE)
    for a in found.advice:
        again = predict(apply(BASE, *parse(a.command.split()[-1])))
        assert again.period_s == a.period_s
        assert a.gain == 1 - sample_s(again) / sample_s(before)
        assert a.interval_s == again.interval_s
        assert a.cause and a.cause[0].islower()
    gains = [a.gain for a in found.advice]
    assert gains == sorted(gains, reverse=True)


def test_a_small_network_is_told_to_use_a_graph_and_hardware_is_said_to_do_nothing():
    found = advise(BASE)
    names = [a.whatif for a in found.advice]
    assert "+cuda_graph" in names[:4]
    assert "+bandwidth" not in names
    graph = next(a for a in found.advice if a.whatif == "+cuda_graph")
    assert graph.cause.startswith("overhead is 100% of the step: ")
    assert "+recompute=**.#" not in names and "+recompute" in found.refused


def test_a_gain_that_the_host_hides_is_warned_of():
    wide = asked("mlp-tiny", sizes=dict(width=1536), dtype="fp16", batch=256)
    assert predict(wide).regime == "overhead"
    found = advise(wide)
    hidden = {a.whatif: a for a in found.hidden}
    assert "+tensor_peak=2" in hidden
    a = hidden["+tensor_peak=2"]
    assert a.local_gain > 0.02 and a.gain < 0.01
    assert "waits for the host; apply cuda_graph first" in a.warning


def test_memory_is_a_goal_of_its_own():
    training = asked("gpt2", training=True, seq=64, dtype="bf16")
    found = advise(training, "memory")
    recompute = next(a for a in found.advice if a.whatif == "+recompute")
    need = [
        p.peak_memory_bytes + p.workspace_bytes
        for p in (predict(training), predict(apply(training, "recompute")))
    ]
    assert recompute.gain == recompute.memory_gain == 1 - need[1] / need[0]
    assert recompute.cause.startswith("most of the peak is ")


def test_money_needs_a_price():
    with pytest.raises(InputError, match="has no price: expected price_usd"):
        advise(asked("mlp-tiny", gpu="h200"), "money")
    with pytest.raises(InputError, match="expected time, memory or money"):
        advise(BASE, "luck")  # pyright: ignore


def test_the_command_says_it_all():
    asked_for = Scenario("bert-base", gpu="a100", batch=8, dtype="fp16", training=True,
                         sizes={"layers": 2})  # fmt: skip
    scenario = apply(apply(asked_for, "cuda_graph"), "bandwidth", {"times": 1.5})
    assert command(scenario) == (
        "ridgepoint whatif bert-base --gpu a100 --batch 8 --dtype fp16 --train --size layers=2 "
        "+cuda_graph +bandwidth=1.5"
    )


def test_advice_can_be_taken_together():
    found = advise(BASE)
    chosen = [a for a in found.advice if a.whatif in ("+cuda_graph", "+batch=8")]
    both = together(BASE, chosen)
    assert len(both.whatifs) == 2
    assert sample_s(predict(both)) < min(a.sample_s for a in chosen)
