"""Scaling of a step over more GPUs whose scenario states no batch."""

import pytest

from simulator.cluster import cluster
from simulator.cluster.layout import layout
from simulator.cluster.step import NetworkStep
from simulator.parallel.whatifs import ClusterStep, scaling

BERT = NetworkStep("bert-base", dtype="fp32", training=False)


@pytest.mark.parametrize("strong", [False, True])
def test_a_step_without_a_batch_scales_with_the_batch_of_its_network(strong: bool):
    machine = cluster("2xh200")
    step = ClusterStep(BERT, layout("dp=2", machine), machine)
    points = scaling(step, strong)
    assert [point.gpus for point in points] == [1, 2]
    assert points[-1].prediction.period_s == step.predict().period_s
    # 16 sequences of 128 tokens a GPU; one sample takes less than half as long
    assert points[-1].prediction.period_s == pytest.approx(12.2e-3, rel=0.02)
    assert points[-1].prediction.regime == "compute"
