"""A sweep predicts scenarios with equal GPUs and hosts together, whichever what-ifs produced
them."""

import numpy as np
import pytest

from simulator.analysis.sweep import sweep
from simulator.scenario import predict_many as many
from simulator.scenario.scenario import Scenario, predict

BERT = Scenario("bert-base", gpu="h200", dtype="bf16")
AXES = {
    "batch": (1, 8),
    "seq": (64, 128),
    "gpu": ("h100", "h200"),
    "mode": ("eager", "cuda_graph"),
    "host_speed": (0.5, 1.0),
    "bandwidth": (0.5, 1.0, 2.0),
}


def test_each_gpu_is_timed_once_for_all_batches_hosts_and_modes(monkeypatch: pytest.MonkeyPatch):
    points: list[tuple[int, int]] = []
    at_points = many.at_points

    def counted(family, batches, seqs, gpu, profile, drives):  # pyright: ignore
        points.append((len(batches), len(drives)))  # pyright: ignore
        return at_points(family, batches, seqs, gpu, profile, drives)  # pyright: ignore

    monkeypatch.setattr(many, "at_points", counted)
    swept = sweep(BERT, AXES)
    assert len(swept) == 96 and not swept.refused
    # 2 GPUs with 3 bandwidths; for each, 2 · 2 sizes on 2 hosts in 2 modes
    assert points == [(4, 4)] * 6


def test_rows_equal_predictions_one_by_one():
    swept = sweep(BERT, AXES)
    for row in (0, 17, 42, 95):
        p = predict(swept.scenarios[row])
        assert swept.columns["period_s"][row] == pytest.approx(p.period_s, rel=1e-12)
        assert swept.columns["gpu_busy_s"][row] == pytest.approx(p.gpu_busy_s, rel=1e-12)
        assert swept.regime(row) == p.regime
    points = [(p["host_speed"], p["mode"]) for p in swept.points]
    slow, fast = (
        swept.columns["host_s"][[place == (speed, "eager") for place in points]]
        for speed in (0.5, 1.0)
    )
    np.testing.assert_allclose(slow, 2 * fast, rtol=1e-12)


def test_gpus_that_differ_are_not_shared():
    times = sweep(BERT, {"bandwidth": (1.0, 1.0, 2.0), "batch": (64,)}).columns["gpu_busy_s"]
    assert times[0] == times[1] > times[2]
