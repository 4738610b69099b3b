"""Every what-if that advice tries has its own sentence."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

import simulator.whatif
from app.answers.advice_words import _SENTENCES, GROUPS, group, sentence
from simulator.analysis.advice import Advice
from simulator.analysis.trials import TRIALS
from simulator.scenario.scenario import Applied, Scenario
from simulator.scenario.text.whatif import parse

assert simulator.whatif  # registers the what-ifs


def advice(text: str, changes: str = "code") -> Advice:
    scenario = Scenario("bert-base", whatifs=(Applied(*parse(text)),))
    return cast(Advice, cast(Any, SimpleNamespace(scenario=scenario, changes=changes)))


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.text)
def test_every_trial_has_a_sentence(trial: Any):
    tried = advice(trial.text, trial.changes)
    assert tried.scenario.whatifs[-1].name in _SENTENCES
    words = sentence(tried)
    assert words.endswith(".") and words[0].isupper() and "_" not in words and "None" not in words
    assert group(tried) == GROUPS[trial.changes == "machine"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("+cuda_graph", "Capture the step in a CUDA graph."),
        ("+fusion=compiled", "Compile with torch.compile."),
        ("+batch=256", "Use a batch of 256."),
        ("+fuse=add+native_layer_norm", "Fuse add and layer norm into one kernel."),
        ("+weights=int4", "Store weights as 4-bit integers."),
        ("+host_speed=2", "Use a host twice as fast."),
        ("+launch_cost=0.5", "Make launches cost half as much."),
        ("+sustained_clock=1.1", "Raise the clock to 1.1 times its value."),
        ("+gpu=b200_sxm", "Run on B200 SXM 180GB (HGX)."),
        ("+optimizer=adamw_fused", "Update weights with fused AdamW."),
    ],
)
def test_sentences(text: str, expected: str):
    assert sentence(advice(text)) == expected
