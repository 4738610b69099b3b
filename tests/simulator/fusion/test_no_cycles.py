"""A prediction leaves no cycles of objects: in a window that predicts once a second, these would
hold its loop nests until Python looks for garbage, minutes later."""

import gc
from collections import Counter
from dataclasses import replace
from weakref import ref

import msgspec
import pytest

from simulator.fusion import fused
from simulator.fusion.host.replays import replayed
from simulator.hardware.gpu import gpu
from simulator.modes import MODES
from simulator.scenario.predict import predict
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import trace_resolved


@pytest.mark.layered(5, daily=["resnet18-True"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ["bert-base", "resnet18"])
def test_predictions_end_with_their_last_reference(name: str, training: bool) -> None:
    scenarios = [Scenario(name, mode=mode, batch=3, training=training) for mode in MODES]
    for scenario in scenarios:
        predict(scenario)  # imports and caches
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        for scenario in scenarios:
            predict(replace(scenario, batch=7))
        gc.collect()
        left = Counter(type(each).__name__ for each in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left


@pytest.mark.parametrize("training", [False, True])
def test_the_fused_steps_of_a_trace_end_with_it(training: bool) -> None:
    traced = trace_resolved(resolve(Scenario("bert-base", batch=2, training=training)))
    step = msgspec.structs.replace(traced)
    fusion, loops = fused(step, gpu("h200")), fused(step, gpu("h200"), "pointwise")
    alive = [ref(each) for each in (fusion, loops, replayed(fusion))]
    assert fused(step, gpu("h200")) is fusion
    assert fusion.origin.ops is step.ops and fusion.origin.storages is step.storages
    gc.disable()
    try:
        del fusion, loops
        assert all(each() is not None for each in alive)  # the trace keeps them
        del step
        assert not any(each() is not None for each in alive)
    finally:
        gc.enable()
