"""Large sweeps are predicted in chunks, which bound the memory and change no figure."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.analysis.sweep import sweep
from simulator.scenario import predict_many
from simulator.scenario.scenario import Scenario
from simulator.simulate.step_columns import COLUMNS
from simulator.timing import local_experts
from simulator.whatif import apply

BERT = Scenario("bert-base", batch=8, seq=128, dtype="fp16")
AXES = {"mode": ("eager", "cuda_graph"), "batch": range(1, 24, 2), "seq": (16, 100, 512, 513)}


def test_points_in_chunks_are_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sweep(BERT, AXES)
    monkeypatch.setattr(predict_many, "_POINTS_AT_ONCE", 5)
    monkeypatch.setattr(local_experts, "_AT_ONCE", 2000)
    parts = sweep(BERT, AXES)
    # a sequence longer than the table of positions is refused in its own rows only
    assert dict(parts.refused) == dict(whole.refused)
    assert sorted(whole.refused) == list(range(3, 96, 4))
    for name in COLUMNS:
        share = name in ("compute", "memory", "overhead")
        np.testing.assert_allclose(
            parts.columns[name], whole.columns[name], rtol=1e-12, atol=1e-7 if share else 0
        )


def test_the_scenarios_of_a_sweep_are_those_of_its_points() -> None:
    swept = sweep(apply(BERT, "host_speed", {"times": 2}), AXES)
    assert len(swept.scenarios) == 96
    for row in (0, 5, 53):
        expected = apply(BERT, "host_speed", {"times": 2})
        for name, value in swept.points[row].items():
            whatif = {"mode": "to", "batch": "samples", "seq": "tokens"}[name]
            expected = apply(expected, name, {whatif: value})
        assert swept.scenarios[row] == expected
    # the base scenario, which is refused
    assert swept.scenarios[3] == apply(BERT, "host_speed", {"times": 2})
    assert list(swept.scenarios[50:52]) == [swept.scenarios[50], swept.scenarios[51]]
