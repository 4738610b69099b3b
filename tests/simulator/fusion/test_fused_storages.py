"""Lifetimes of the storages of a fused step: from the first op that touches one to the last."""

from __future__ import annotations

import pytest

from simulator import predict_trace
from tests.simulator.fusion.test_compiled import network


@pytest.mark.parametrize("training", [False, True])
def test_storages_live_while_ops_touch_them(training: bool) -> None:
    step = predict_trace(network("mlp-tiny", training=training), mode="compiled").trace
    touched: dict[int, list[int]] = {}
    for place, op in enumerate(step.ops):
        for storage in op.storages:
            touched.setdefault(storage, []).append(place)
    for number, storage in enumerate(step.storages):
        places = touched.get(number)
        if places is None:
            assert storage.born < 0 or storage.nbytes == 0
            continue
        assert storage.born == (places[0] if storage.born >= 0 else -1)
        assert storage.freed in (None, places[-1] + 1)
    within = {number: step.storages[number] for number in touched}
    assert any(s.born >= 0 and s.freed is not None for s in within.values())
    sizes = dict.fromkeys(touched, 0)
    for op in step.ops:
        for number, tensor in zip(op.storages, (*op.inputs, *op.outputs), strict=True):
            sizes[number] = max(sizes[number], tensor.nbytes)
    # a storage that the step creates is as large as the largest tensor in it
    assert {n: s.nbytes for n, s in within.items() if s.born >= 0} == {
        n: sizes[n] for n, s in within.items() if s.born >= 0
    }
