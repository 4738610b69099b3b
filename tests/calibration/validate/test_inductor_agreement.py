"""The fast partition against stored results of Inductor's own scheduler for the same networks."""

from __future__ import annotations

import pytest

from calibration.record.inductor_schedules import cases
from calibration.validate.inductor_agreement import Agreement, agreement, matched, stored

ROWS = {row.case.name: row for row in stored()}


def agreement_of(name: str) -> Agreement:
    row = ROWS[name]
    assert row.schedule is not None
    return agreement(row.case, row.schedule)


@pytest.mark.layered(5, daily=["dlrm/bf16/inference"])
@pytest.mark.parametrize(
    "name",
    ["mlp-wide/bf16/inference", "bert-base/bf16/inference", "gpt2/bf16/inference",
     "llama3-1b/bf16/inference", "dlrm/bf16/inference", "vit-b16/bf16/inference",
     "resnet18/bf16/inference", "convnext-t/bf16/inference", "dit-xl/bf16/inference"],
)  # fmt: skip
def test_networks_that_agree_completely(name: str) -> None:
    both = agreement_of(name)
    assert both.same == both.ops
    assert len(both.rules.ops) == len(both.real.ops)
    assert both.bytes_ratio == pytest.approx(1, abs=0.03)


@pytest.mark.layered(5)
@pytest.mark.parametrize(
    ("name", "share", "launches"),
    [("swin-t/bf16/inference", 0.93, 0.01), ("vit-b16/bf16/training", 1.0, 0.01),
     ("gpt2/bf16/training", 0.98, 0.01), ("bert-base/bf16/training", 0.97, 0.01),
     ("mlp-tiny/autocast/training", 1.0, 0.0), ("convnet-tiny/bf16/training", 1.0, 0.0)],
)  # fmt: skip
def test_networks_that_agree_in_part(name: str, share: float, launches: float) -> None:
    """At least this share of ops is in the same launch, and at most this share of launches is
    missing or surplus."""
    both = agreement_of(name)
    assert both.share >= share
    assert len(both.rules.ops) == pytest.approx(len(both.real.ops), rel=launches)
    assert both.bytes_ratio == pytest.approx(1, abs=0.03)


def test_launches_are_matched_by_the_share_of_ops_they_have_in_common() -> None:
    real = [frozenset({1, 2, 3}), frozenset({4}), frozenset({5, 6})]
    rules = [frozenset({1, 2}), frozenset({3, 4}), frozenset({5, 6})]
    assert matched(real, rules) == {2: 2, 0: 0, 1: 1}  # 2/2, then 2/3, then 1/2


def test_stored_cases_are_in_the_catalogue() -> None:
    assert set(ROWS) <= {case.name for case in cases()}
    assert sum(row.schedule is not None for row in ROWS.values()) >= 28
