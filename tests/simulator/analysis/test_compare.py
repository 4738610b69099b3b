"""Waterfalls add up; changed kernels and changed regimes are named."""

from __future__ import annotations

import tomllib
from math import fsum

import pytest

from simulator.analysis.compare import compare, comparison_predictions, waterfall
from simulator.errors import InputError
from simulator.hardware.gpu import PACKAGED
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply
from tests.simulator.whatif.conftest import small_scenario

A = small_scenario("bert-base", dtype="fp16", seq=16)
B = apply(apply(apply(A, "cuda_graph"), "batch", {"samples": 256}), "bandwidth")


def test_changes_add_up_and_are_shown_alone():
    fall = waterfall(A, B)
    assert [s.label for s in fall.steps] == ["+cuda_graph", "+batch=256", "+bandwidth=2"]
    assert fsum(s.change_s for s in fall.steps) == pytest.approx(fall.total_s, rel=1e-12)
    alone = predict(apply(A, "batch", {"samples": 256})).period_s - predict(A).period_s
    assert fall.steps[1].alone_s == alone
    assert fall.steps[0].change_s == fall.steps[0].alone_s
    assert fall.steps[-1].period_s == predict(B).period_s
    reached = predict(apply(apply(A, "cuda_graph"), "batch", {"samples": 256}))
    assert fall.steps[1].interval_s == reached.interval_s
    assert fall.steps[-1].interval_s == predict(B).interval_s


def test_fields_that_differ_are_changes_too_and_whatifs_of_a_are_undone():
    one = apply(A, "host_speed")
    other = apply(small_scenario("bert-base", dtype="bf16", seq=16, gpu="a100"), "no_python")
    fall = waterfall(one, other)
    assert [s.label for s in fall.steps] == [
        "without +host_speed=2",
        "dtype fp16 → bf16",
        "gpu h200 → a100",
        "+no_python",
    ]
    assert fsum(s.change_s for s in fall.steps) == pytest.approx(fall.total_s, rel=1e-12)


def test_the_predictions_of_a_comparison_are_counted_before():
    one = apply(A, "host_speed")
    other = apply(small_scenario("bert-base", dtype="bf16", seq=16, gpu="a100"), "no_python")
    sides, calls = (one, other, A, one), list[object]()

    def counted(scenario: Scenario) -> Prediction:
        calls.append(scenario)
        return predict(scenario)

    compare(sides, counted)
    # predictions: the 4 sides; 4 changes, in 3 combinations and each alone (7); 1 change alone;
    # none
    assert comparison_predictions(sides) == len(calls) == 4 + 7 + 1


def test_equal_scenarios_have_no_steps():
    fall = waterfall(A, A)
    assert (fall.steps, fall.moved, fall.flipped, fall.total_s) == ((), (), (), 0)


def test_kernels_that_moved_are_counted_and_timed():
    fall = waterfall(A, apply(A, "remove", {"op": "gelu"}))
    gone = next(m for m in fall.moved if m.op == "gelu.default")
    assert gone.count == (3, 0)  # two layers and the head's transform
    assert gone.seconds[1] == 0 and gone.change_s == -gone.seconds[0]
    assert gone.regimes == ("overhead", None)  # 16 tokens: a kernel's start and end dominate
    gelu = [k for k in predict(A).kernels if k.name == "gelu.default"]
    assert gone.seconds[0] == pytest.approx(fsum(k.duration_s for k in gelu), rel=1e-12)


def test_a_regime_that_flips_is_named():
    busy = waterfall(A, apply(apply(A, "batch", {"samples": 8192}), "cuda_graph"))
    step = next(f for f in busy.flipped if f.part == "step")
    assert step.before == "overhead" != step.after
    assert step.seconds == (busy.a.period_s, busy.b.period_s)
    assert set(busy.flipped) == {part for part in busy.parts if part.before != part.after}
    families = [part for part in busy.parts if part.part.startswith("family ")]
    own = busy.a.columns.duration_s.sum() + busy.a.schedule.idle_s.sum()
    assert fsum(part.seconds[0] for part in families) == pytest.approx(own, rel=1e-9)


def test_two_to_four_scenarios_are_compared():
    fidelity = compare([A, B, apply(A, "no_python")])
    assert len(fidelity.predictions) == 3 and len(fidelity.waterfalls) == 2
    with pytest.raises(InputError, match="1 scenarios: expected 2 to 4"):
        compare([A])
    with pytest.raises(InputError, match="5 scenarios: expected 2 to 4"):
        compare([Scenario("mlp-tiny")] * 5)


def test_an_own_gpu_is_named_by_its_name():
    keys = tomllib.loads((PACKAGED / "h200_sxm.toml").read_text("utf-8"))
    own = {**keys, "name": "My H200", "aliases": []}
    fall = waterfall(Scenario("mlp-tiny"), Scenario("mlp-tiny", gpu=own))
    assert [step.label for step in fall.steps] == ["gpu h200 → My H200"]
