"""A prediction leaves no cycles of objects: in a window that predicts once a second, these would
hold its loop nests until Python looks for garbage, minutes later."""

import gc
from collections import Counter
from dataclasses import replace

import pytest

from simulator.modes import MODES
from simulator.scenario.predict import predict
from simulator.scenario.scenario import Scenario


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
