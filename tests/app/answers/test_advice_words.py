"""Every what-if that advice tries has its own sentence, from its definition."""

from types import SimpleNamespace
from typing import Annotated, Any, Literal, cast

import pytest

import simulator.whatif
from app.answers.advice_words import GROUPS, group, sentence
from simulator.analysis.advice import Advice
from simulator.analysis.trials import TRIALS
from simulator.scenario.parameters import Range, Unit
from simulator.scenario.registry import _WHATIFS
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.scenario import Applied, Scenario
from simulator.scenario.text.whatif import parse
from simulator.whatif import whatif

assert simulator.whatif  # registers the what-ifs


def advice(text: str, changes: str = "code") -> Advice:
    scenario = Scenario("bert-base", whatifs=(Applied(*parse(text)),))
    return cast(Advice, cast(Any, SimpleNamespace(scenario=scenario, changes=changes)))


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.text)
def test_every_trial_has_a_sentence(trial: Any):
    tried = advice(trial.text, trial.changes)
    words = sentence(tried)
    assert "{" not in words
    assert words.endswith(".") and words[0].isupper() and "_" not in words and "None" not in words
    assert group(tried) == GROUPS[trial.changes == "machine"]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("+cuda_graph", "Capture the step in a CUDA graph."),
        ("+fusion=compiled", "Compile with torch.compile."),
        ("+batch=256", "Use a batch of 256."),
        ("+fuse=add+native_layer_norm", "Fuse add and layer norm into one kernel."),
        ("+fuse=_to_copy+_log_softmax", "Fuse to copy and log softmax into one kernel."),
        ("+weights=int4", "Store weights as 4-bit integers."),
        ("+host_speed=2", "Use a host twice as fast."),
        ("+launch_cost=0.5", "Make launches cost half as much."),
        ("+sustained_clock=1.1", "Raise the clock to 1.1 times its value."),
        ("+gpu=b200_sxm", "Run on B200 SXM 180GB (HGX)."),
        ("+optimizer=adamw_fused", "Update weights with fused AdamW."),
        ("+fusion=pointwise+reductions", "Fuse loops: pointwise and reductions."),
        ("+launch_latency=0.5", "Start kernels 0.5 µs after launch."),
        ("+queue_depth=4096", "Queue up to 4,096 launches."),
        ("+kv_cache=bf16", "Store keys and values in bf16."),
        ("+compiled_optimizer", "Compiled optimizer."),
    ],
)
def test_sentences(text: str, expected: str):
    assert sentence(advice(text)) == expected


def test_the_definition_of_a_what_if_is_enough_for_its_sentence():
    @whatif("launch", sentence="Launch {count} kernels {times} as fast by {way}")
    def of_this_test(
        resolved: ResolvedScenario,
        times: Annotated[float, Range(0.1, 10), Unit("×")] = 0.5,
        count: Annotated[int, Range(1, 9999)] = 2048,
        way: Literal["one", "both"] = "both",
    ) -> ResolvedScenario:
        """Do nothing."""
        return resolved

    try:
        words = sentence(advice("+of_this_test=1.5,way=one"))
        assert words == "Launch 2,048 kernels 1.5 times as fast by one."
        assert sentence(advice("+of_this_test")) == "Launch 2,048 kernels half as fast by both."
    finally:
        del _WHATIFS["of_this_test"]
