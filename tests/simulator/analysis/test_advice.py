"""Advice: its figures equal those of a fresh prediction."""

from __future__ import annotations

import pytest

from simulator.analysis.advice import advise, apply_all, sample_s
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario, predict
from simulator.scenario.text.command import as_command
from simulator.whatif import apply, parse
from tests.simulator.whatif.conftest import small_scenario

BASE = small_scenario("bert-base", seq=16)


def test_stated_gains_are_those_of_a_new_prediction():
    advised = advise(BASE)
    assert advised.advice
    before = predict(BASE)
    for a in advised.advice:
        again = predict(apply(BASE, *parse(a.command.split()[-1])))
        # works that are evaluated together round differently in the last bit
        assert again.period_s == pytest.approx(a.period_s, rel=1e-12)
        assert a.gain == pytest.approx(1 - sample_s(again) / sample_s(before), rel=1e-9)
        assert a.interval_s == pytest.approx(again.interval_s, rel=1e-12)
        assert a.cause and a.cause[0].islower()
    gains = [a.gain for a in advised.advice]
    assert gains == sorted(gains, reverse=True)


def test_advice_for_a_small_network_is_a_graph_and_not_hardware():
    advised = advise(BASE)
    names = [a.whatif for a in advised.advice]
    assert "+cuda_graph" in names[:4]
    assert "+bandwidth" not in names
    graph = next(a for a in advised.advice if a.whatif == "+cuda_graph")
    assert graph.cause.startswith("overhead is 100% of the step: ")
    assert "+recompute=**.#" not in names and "+recompute" in advised.refused


def test_a_warning_names_a_gain_that_the_host_hides():
    wide = small_scenario("mlp-tiny", sizes=dict(width=2048), dtype="fp16", batch=512)
    assert predict(wide).regime == "overhead"
    advice = advise(wide)
    hidden = {a.whatif: a for a in advice.hidden}
    assert "+tensor_peak=2" in hidden
    a = hidden["+tensor_peak=2"]
    assert a.local_gain > 0.02 and a.gain < 0.01
    assert "waits for the host; apply cuda_graph first" in a.warning


def test_memory_is_a_separate_goal():
    training = small_scenario("gpt2", training=True, seq=64, dtype="bf16")
    advised = advise(training, "memory")
    recompute = next(a for a in advised.advice if a.whatif == "+recompute")
    need = [
        p.peak_memory_bytes + p.workspace_bytes
        for p in (predict(training), predict(apply(training, "recompute")))
    ]
    assert recompute.gain == recompute.memory_gain == 1 - need[1] / need[0]
    held = predict(training).memory
    share = held.at_peak["activation"] / held.peak_bytes
    assert recompute.cause == (
        f"activations hold {share:.0%} of the peak: blocks that run again need not store "
        "their activations"
    )


def test_money_needs_a_price():
    with pytest.raises(InputError, match="has no price: expected USD an hour"):
        advise(small_scenario("mlp-tiny", gpu="h200"), "money")
    with pytest.raises(InputError, match="expected time, memory or money"):
        advise(BASE, "luck")  # pyright: ignore


def test_money_ranks_cards_by_the_cost_of_a_sample():
    base = Scenario("mlp-tiny", batch=4096, sizes=dict(width=2048), dtype="fp16")
    prices = {"h200_sxm": 4.0, "a100_sxm_80": 1.0, "t4": 0.3}
    advised = advise(base, "money", prices=prices)
    before = predict(base)
    assert advised.advice and [a.gain for a in advised.advice] == sorted(
        (a.gain for a in advised.advice), reverse=True
    )
    for a in advised.advice:
        again = predict(_applied(base, a.whatif))
        price = prices[again.gpu.id]
        assert a.gain == 1 - price * sample_s(again) / (4.0 * sample_s(before))
        assert a.usd_per_million == pytest.approx(price / 3600 * sample_s(again) * 1e6)
    assert "no price: expected an unchanged GPU" in advised.refused["+bandwidth=2"]
    assert advised.refused["+gpu=l40s"] == (
        "L40S has no price: expected USD an hour; give it as --price l40s=USD"
    )
    for a in advised.advice:
        if a.changes == "machine":  # the cause states the ratios of price and time
            price = prices[predict(_applied(base, a.whatif)).gpu.id] / 4.0
            assert f"an hour costs {1 - price:.0%} less, and a sample takes" in a.cause
    assert "+gpu=t4" not in advised.refused  # it has a price, so it is tried
    with pytest.raises(InputError, match="the price of t4 is -1: expected more than 0 USD an hour"):
        advise(base, "money", prices={"t4": -1.0})


def _applied(base: Scenario, text: str) -> Scenario:
    """Apply the what-ifs of "+gpu=t4 +cuda_graph" one after the other."""
    for each in text.split():
        base = apply(base, *parse(each))
    return base


def test_money_crosses_a_machine_with_code_changes():
    """A small network waits for the host on every card. The cheap card with a CUDA graph is better
    than each of the two alone."""
    base = small_scenario("mlp-tiny", gpu="h200", batch=8, dtype="fp16")
    prices = {"h200_sxm": 4.0, "l40s": 1.0}
    advised = advise(base, "money", prices=prices)
    gains = {a.whatif: a.gain for a in advised.advice}
    both = next(a for a in advised.advice if a.whatif == "+gpu=l40s +cuda_graph")
    assert both.gain > max(gains["+gpu=l40s"], gains["+cuda_graph"])
    again = predict(_applied(base, both.whatif))
    assert both.gain == 1 - 1.0 * sample_s(again) / (4.0 * sample_s(predict(base)))
    faster = 1 - sample_s(again) / sample_s(predict(base))
    assert both.cause == f"an hour costs 75% less, and a sample takes {faster:.0%} less"
    assert both.changes == "machine"
    assert both.command.endswith(" +gpu=l40s +cuda_graph")
    assert advised.advice[0].whatif.startswith("+gpu=l40s +")
    assert all(" " not in a.whatif for a in advise(base, "time").advice)


def test_a_cause_names_the_relieved_regime():
    fp32 = small_scenario("mlp-tiny", sizes=dict(width=4096), batch=4096)
    causes = {a.whatif: a.cause for a in advise(fp32).advice}
    compute = predict(fp32).shares["compute"]
    # fp32 products run on vector units: 91.6 and 67 TFLOP/s in the data sheets
    assert causes["+gpu=l40s"] == (
        f"compute is {compute:.0%} of the step: L40S has 1.4× the vector peak in float32"
    )
    for a in advise(fp32).advice:  # a what-if that affects only a small share cannot gain much
        assert not a.cause.startswith("memory bandwidth is 0%")
    training = small_scenario("mlp-tiny", sizes=dict(width=8192), training=True, batch=256)
    sgd = next(a for a in advise(training).advice if a.whatif == "+optimizer=sgd")
    assert sgd.cause.startswith("memory bandwidth is ")
    assert sgd.cause.endswith(" of the step: SGD keeps and reads half of AdamW's state")


def test_the_command_says_it_all():
    asked_for = Scenario(
        "bert-base", gpu="a100", batch=8, dtype="fp16", training=True, sizes={"layers": 2}
    )
    scenario = apply(apply(asked_for, "cuda_graph"), "bandwidth", {"times": 1.5})
    assert as_command(scenario, "whatif") == (
        "ridgepoint whatif bert-base --gpu a100 --batch 8 --dtype fp16 --train --size layers=2 "
        "+cuda_graph +bandwidth=1.5"
    )


def test_advice_can_be_taken_together():
    advised = advise(BASE)
    chosen = [a for a in advised.advice if a.whatif in ("+cuda_graph", "+batch=8")]
    both = apply_all(BASE, chosen)
    assert len(both.whatifs) == 2
    assert sample_s(predict(both)) < min(a.sample_s for a in chosen)


def test_what_makes_a_step_fit_comes_before_what_is_faster():
    """2²³ rows need 16.0 GiB, the whole memory of a T4."""
    advised = advise(Scenario("mlp-tiny", gpu="t4", batch=2**23))
    assert not advised.baseline.fits
    fits = [a.fits for a in advised.advice]
    assert True in fits and False in fits and fits == sorted(fits, reverse=True)
    gains = [a.gain for a in advised.advice if a.fits]
    assert gains == sorted(gains, reverse=True)
    beyond = max(a.gain for a in advised.advice if not a.fits)
    assert beyond > min(gains)  # the order is not that of the gains alone
