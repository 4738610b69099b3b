"""Changes between scenarios in words: GPUs by name, and no step that sets what already holds."""

from __future__ import annotations

from dataclasses import replace

from app.answers.changed_labels import relabelled
from simulator.analysis.compare import waterfall
from simulator.scenario.scenario import Scenario

A = Scenario("mlp-tiny")


def labels(a: Scenario, b: Scenario) -> list[str]:
    fall = relabelled(waterfall(a, b), a, b)
    assert sum(s.change_s for s in fall.steps) == fall.b.period_s - fall.a.period_s
    return [step.label for step in fall.steps]


def test_gpus_have_names() -> None:
    assert labels(A, replace(A, gpu="a100_sxm_80")) == ["GPU H200 SXM → A100 SXM4"]
    memory = replace(A, gpu="a100_sxm_40"), replace(A, gpu="a100_sxm_80")
    assert labels(*memory) == ["GPU A100 SXM4 40GB → A100 SXM4 80GB"]


def test_the_default_written_out_is_no_step() -> None:
    assert labels(A, replace(A, batch=32)) == []
    assert labels(replace(A, batch=32), A) == []
    assert labels(A, replace(A, batch=4096)) == ["batch 32 → 4,096"]
