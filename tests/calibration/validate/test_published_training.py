"""Published training steps over several GPUs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calibration.validate.published_training import outcomes, rate


def row(**more: str) -> dict[str, str]:
    """MPT-125M on eight A100s: 156,468 tokens/s for each (llm-foundry, commit 8c8dd48f72)."""
    plain = {
        "model": "mpt-125m",
        "gpu": "a100_80gb",
        "n_gpus": "8",
        "mbs": "64",
        "seq_len": "1024",
        "ga": "2",
        "options": "Activation Checkpointing=False",
        "tokens_per_s_per_gpu": "156468",
    }
    return plain | more


def test_only_the_optimizer_runs_once_for_all_micro_batches() -> None:
    kernels = [SimpleNamespace(phase=phase, duration_s=0.25) for phase in
               ("forward", "optimizer", "optimizer")]  # fmt: skip
    prediction: Any = SimpleNamespace(period_s=2.0, ranks=[SimpleNamespace(kernels=kernels)])
    four = row(mbs="2", seq_len="100", ga="4")
    # 2 · 100 · 4 tokens in four times 1.5 s and one update of 0.5 s
    assert rate(prediction, four) == pytest.approx(800 / 6.5)
    assert rate(prediction, row(mbs="2", seq_len="100", ga="")) == pytest.approx(100)


def test_a_published_row_lies_in_the_interval(tmp_path: Path) -> None:
    (outcome,) = outcomes([row()], tmp_path)
    assert outcome.covered
    assert outcome.ratio == pytest.approx(1, abs=0.1)


def test_a_row_that_cannot_be_predicted_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [*outcomes([row(mbs="-1")], tmp_path)] == []
    assert capsys.readouterr().out.startswith("left out: mpt-125m on 8: ")
