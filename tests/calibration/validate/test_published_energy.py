"""Published energies: one run computed by hand, and the summary."""

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from calibration.validate import published_energy
from calibration.validate.published_energy import Compared, predicted, runs, summary
from simulator.planning.step.step_time import constant
from simulator.planning.step.tables import Machine

ROW = {
    "task": "gpqa",
    "gpu_model": "H100",
    "model_id": "openai/gpt-oss-120b",
    "num_gpus": "2",
    "weight_precision": "mxfp4",
    "max_num_seqs": "4",
    "median_itl_ms": "20",
    "output_throughput_tokens_per_sec": "200",
    "avg_power_watts": "1000",
    "energy_per_token_joules": "5",
    "avg_output_len": "100",
}


def replica() -> Machine:
    """Two GPUs of 500 W in decodes and 700 W in prompts; each iteration takes 10 ms."""
    decode_w, prefill_w = np.full(5, 500.0), np.full(300, 700.0)
    step = constant(10e-3, 4)
    return Machine(step, 1e9, 1e9, 1e3, {}, "bf16", decode_w, prefill_w, split=2)


def of_any_row(*_: object) -> Machine:
    return replica()


def test_a_run_without_waiting_draws_the_power_of_decodes() -> None:
    """4 sequences with 100 tokens each, in 100 iterations of 10 ms: 400 tokens/s from two GPUs of
    500 W, 2.5 J per token; prompts add nothing to an iteration."""
    token_s, rate, watts, joules = predicted(replica(), "h100_sxm", 4, 100)
    assert token_s == pytest.approx(10e-3)
    assert (rate, watts) == (pytest.approx(400), pytest.approx(1000))
    assert joules == pytest.approx(2.5)


def test_only_rows_of_networks_of_the_catalogue_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "energy.csv.gz"
    with gzip.open(path, "wt", newline="") as file:
        writer = csv.DictWriter(file, ROW)
        writer.writeheader()
        unknown = {"model_id": "x/y"}, {"task": "image-chat"}, {"max_num_seqs": "2048"}
        writer.writerows([ROW, *(ROW | each for each in unknown)])
    monkeypatch.setattr(published_energy, "server", of_any_row)
    (row,) = runs(path)
    assert (row.group, row.sequences) == ("gpt-oss-120b, H100 × 2", 4)
    assert row.ratios == pytest.approx((0.5, 2.0, 1.0, 0.5))


def test_errors_are_those_of_the_ratios() -> None:
    """Ratios of 1.1 and 0.7: errors of 10% and 30%, a bias of -10%."""
    rows = [Compared("a", 8, (1.1,) * 4), Compared("a", 16, (0.7,) * 4)]
    lines = list(summary(rows))
    assert lines[2] == ("| a | 2 | time per token | 20% | 28% | -10% | 0.70 at 16 sequences |")
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["a"] * 4 + ["all"] * 4
