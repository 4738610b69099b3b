"""Labels of fields that change: batch and sequence as numbers, also if the network changes them."""

from __future__ import annotations

from dataclasses import replace
from math import fsum

import pytest

from simulator.analysis.compare import waterfall
from simulator.analysis.field_labels import field_label
from simulator.scenario.scenario import Scenario

GPT2 = Scenario("gpt2")  # 8 × 1,024 by default
LLAMA = Scenario("llama3-8b")  # 1 × 2,048 by default


def test_defaults_are_written_as_numbers() -> None:
    one = replace(GPT2, batch=1, seq=128)
    assert field_label("batch", one, replace(one, batch=None)) == "batch 1 → 8"
    assert field_label("seq", one, replace(one, seq=None)) == "seq 128 → 1,024"
    assert field_label("batch", GPT2, replace(GPT2, batch=4096)) == "batch 8 → 4,096"


def test_a_default_that_is_written_out_is_named() -> None:
    assert field_label("batch", GPT2, replace(GPT2, batch=8)) == "batch default → 8"


def test_a_network_with_other_sizes_states_them() -> None:
    """Regression: a comparison of two networks hid that one has eight times the samples."""
    both = "network llama3-8b, 1 × 2,048 → gpt2, 8 × 1,024"
    assert field_label("network", LLAMA, GPT2) == both
    image = "network gpt2, 8 × 1,024 → resnet50, 32"
    assert field_label("network", GPT2, Scenario("resnet50")) == image
    equal = replace(LLAMA, batch=8, seq=1024)
    assert field_label("network", equal, replace(GPT2, batch=8, seq=1024)) == (
        "network llama3-8b → gpt2"
    )


def test_other_fields_are_written_as_they_are() -> None:
    assert field_label("gpu", GPT2, replace(GPT2, gpu="b200")) == "gpu h200 → b200"
    assert field_label("dtype", GPT2, replace(GPT2, dtype="bf16")) == "dtype default → bf16"
    assert field_label("host", GPT2, replace(GPT2, host="h" * 50)) == f"host default → {'h' * 39}…"


def test_the_changes_per_sample_add_up() -> None:
    a, b = Scenario("mlp-tiny", batch=4), Scenario("mlp-tiny", batch=64, mode="compiled")
    fall = waterfall(a, b)
    assert [step.label for step in fall.steps] == ["batch 4 → 64", "mode eager → compiled"]
    total_s = fall.b.period_s / 64 - fall.a.period_s / 4
    assert fsum(step.sample_change_s for step in fall.steps) == pytest.approx(total_s, rel=1e-12)
    assert [step.switches_compiler for step in fall.steps] == [False, True]
