"""Predictions of many scenarios at once equal those of each scenario alone."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from simulator.analysis.sweep import Points, Sweep, sweep, sweep_of
from simulator.hardware.gpu import GPU, gpu
from simulator.lowering import launches, lower
from simulator.records import Trace
from simulator.scenario.scenario import Scenario, predict
from simulator.simulate.step_columns import COLUMNS, step_row
from simulator.whatif import apply
from tests.simulator.whatif.conftest import small_scenario


def same(together: Sweep, alone: Sweep) -> None:
    assert list(together.scenarios) == list(alone.scenarios)
    assert list(together.points) == list(alone.points)
    assert together.refused == alone.refused
    for name in COLUMNS:
        one, other = together.columns[name], alone.columns[name]
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-6 if name in SHARES else 0)


def test_points_are_every_combination_with_the_last_axis_fastest() -> None:
    points = Points({"batch": range(1, 3), "mode": ["eager", "cuda_graph"], "gpu": ["h200"]})
    every = [
        {"batch": 1, "mode": "eager", "gpu": "h200"},
        {"batch": 1, "mode": "cuda_graph", "gpu": "h200"},
        {"batch": 2, "mode": "eager", "gpu": "h200"},
        {"batch": 2, "mode": "cuda_graph", "gpu": "h200"},
    ]
    assert len(points) == 4 and list(points) == every
    assert [points[row] for row in (0, 1, 2, -1)] == every
    assert points[1:3] == every[1:3]
    assert list(points[0]) == ["batch", "mode", "gpu"]  # as columns of a table
    with pytest.raises(IndexError):
        points[4]


SHARES = ("compute", "memory", "overhead")
CARDS = ["h200", "a100", "v100", "mi300x"]


@pytest.mark.layered(5)
@pytest.mark.parametrize(
    ("base", "cards"),
    [
        pytest.param(small_scenario("bert-base", seq=16), CARDS, marks=pytest.mark.slow),
        (small_scenario("mlp-tiny", training=True), CARDS),
        (
            small_scenario(
                "bert-base", seq=16, whatifs=apply(small_scenario(), "no_python").whatifs
            ),
            CARDS[1:3],
        ),
    ],
)
def test_a_sweep_equals_predictions_of_each_scenario(base: Scenario, cards: list[str]) -> None:
    axes: dict[str, list[Any]] = {
        "gpu": cards,
        "precision": ["fp32", "tf32", "fp16"],
        "batch": [1, 2, 7, 64],
        "mode": ["eager", "cuda_graph"],
    }
    together = sweep(base, axes)
    same(together, sweep(base, axes, lambda s: predict(s)))
    assert len(together) == len(cards) * 3 * 4 * 2
    # only cards without TF32 refuse the what-if
    refused = {together.points[row]["gpu"] for row in together.refused}
    assert refused == {c for c in cards if not gpu(c).peak("tensor", "tf32")}


def test_syncs_short_queues_and_kernels_sped_up() -> None:
    waiting = Scenario(
        "mixtral-small",
        batch=1,
        seq=64,
        dtype="bf16",
        sizes=dict(layers=1, width=64, heads=4, kv_heads=2, hidden=96, vocab=50),
    )
    scenarios = [waiting, apply(waiting, "no_syncs"), apply(waiting, "cuda_graph")]
    wide = small_scenario("mlp-tiny", sizes=dict(width=2048), batch=4096)
    scenarios += [apply(wide, "queue_depth", {"launches": n}) for n in (1, 2, 3, 8, 20, 1000)]
    scenarios += [
        apply(wide, "utilisation", {"family": "gemm", "times": 2.0}),
        apply(wide, "rate", {"of": "memory", "times": 3.0}),
        apply(wide, "launch_cost", {"times": 0.25}),
    ]
    together = sweep_of(scenarios)
    same(together, sweep_of(scenarios, lambda s: predict(s)))
    assert list(together.refused) == [2]
    assert "cannot capture" in together.refused[2]


def test_a_value_that_no_axis_has_is_refused_in_its_rows_alone() -> None:
    swept = sweep(small_scenario("bert-base", seq=16), {"seq": [16, 1000], "batch": [1, 2]})
    assert list(swept.refused) == [2, 3] and "512 positions" in swept.refused[2]
    assert swept.scenarios[2] == small_scenario("bert-base", seq=16)
    assert swept.regime(0) is not None and swept.regime(2) is None


def test_progress_is_counted() -> None:
    messages: list[int] = []
    sweep(
        small_scenario("mlp-tiny"),
        {"bandwidth": [1.0, 2.0], "batch": [1, 2]},
        counted=messages.append,
    )
    assert messages[-1] == 4


def test_compiled_steps_of_a_point_are_partitioned_once_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    partitioned: list[str] = []
    module = import_module("simulator.fusion.scheduling.partition")
    usual = module.partition

    def watched(trace: Trace, card: GPU, *rest: Any) -> Any:
        partitioned.append(card.id)
        return usual(trace, card, *rest)

    monkeypatch.setattr(module, "partition", watched)
    messages: list[int] = []
    base = small_scenario("bert-base", seq=16, mode="compiled")
    axes: dict[str, list[Any]] = {"batch": [3, 8], "gpu": ["h200", "a100"], "host_speed": [1, 2]}
    swept = sweep(base, axes, counted=messages.append)
    assert sorted(partitioned) == sorted(gpu(card).id for card in ("h200", "a100") * 2)
    # the caller can cancel before each of 2·2·2 steps is partitioned
    assert messages[:8] == [0] * 8 and messages[-1] == 8
    same(swept, sweep(base, axes, lambda s: predict(s)))


def test_a_row_is_a_predictions_figures() -> None:
    base = small_scenario("mlp-tiny")
    swept = sweep_of([base])
    row = [swept.columns[name][0] for name in COLUMNS]
    assert row == pytest.approx(step_row(predict(base)), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("name", ["mlp-tiny", "bert-base"])
@pytest.mark.parametrize("card", ["h200", "a100"])
def test_long_ops_are_cached_by_their_launches(name: str, card: str) -> None:
    more: dict[str, Any] = {"seq": 16} if name == "bert-base" else {}
    trace = predict(small_scenario(name, training=True, gpu=card, **more)).trace
    lowered = lower(trace, gpu(card))
    expected = [work for op in trace.ops for work in launches(op.signature, gpu(card)) or ()]
    assert [lowered.works[k] for k in lowered.work_of] == expected
