"""The texts that `validate` prints and writes."""

from __future__ import annotations

import pytest

from calibration.outcome import Outcome
from calibration.validate import batch_sweeps
from calibration.validate.batch_sweeps import Sweep, sweeps
from calibration.validate.report import PAGE, host_of
from calibration.validate.table.printed import (
    every_case,
    interval,
    interval_in_words,
    put,
    sweeps_in_words,
    worst_cases,
)
from tests.calibration.validate.known_traces import traced


def test_the_table_is_between_the_marks() -> None:
    text = "a\n<!-- accuracy -->\nold\n<!-- /accuracy -->\nb\n"
    assert put(text, "new") == "a\n<!-- accuracy -->\nnew\n<!-- /accuracy -->\nb\n"


def test_interval_is_of_measured_over_predicted() -> None:
    outcomes = [Outcome("", "", "period", r) for r in (0.5, 1.0, 2.0)]
    # 0.5, 1 and 2: the 10th percentile is 0.5 + 0.2·0.5, the 90th 1 + 0.8·1
    assert interval(outcomes) == (0.6, 1.8)


def test_an_overhead_bound_period_counts_once() -> None:
    rows = [Outcome("", "inference, eager", "period", r) for r in (0.5, 1.0, 2.0)]
    rows.append(Outcome("", "overhead-bound, eager", "period", 0.5))
    assert interval(rows) == (0.6, 1.8)
    assert " ".join(interval_in_words(rows).split()) == (
        "80% of the 3 periods of eager steps and CUDA graphs on the H200 are 0.6 to 1.8 times the "
        "prediction. This range shows how wide an 80% interval has to be; the last column of the "
        "table counts how often the stated interval holds."
    )


def test_the_twenty_worst_periods_are_printed() -> None:
    rows = [Outcome(f"step{i}", "inference, eager", "period", 1 + i / 100) for i in range(30)]
    rows += [Outcome("step29", "overhead-bound, eager", "period", 1.29)]
    rows += [Outcome("short", "training, eager", "period", 0.5)]
    rows += [Outcome("busy", "training, eager", "GPU busy", 9.0)]
    title, *lines = worst_cases(rows).splitlines()
    assert title == "The 20 worst periods, predicted / measured (--all prints every case):"
    assert lines[:2] == [
        "  0.50  period       training, eager   short",
        "  1.29  period       inference, eager  step29",
    ]
    assert [line.split()[-1] for line in lines] == ["short", *(f"step{29 - i}" for i in range(19))]


def test_every_case_is_printed() -> None:
    steps = [Outcome("a", "training, eager", "latency", 1.1)]
    calls = [Outcome("b", "single ops, warm", "gemm", 0.9)] * 2
    assert every_case(steps, calls, [_SWEEP]).splitlines() == [
        "predicted / measured, each case:",
        "  1.10  latency      training, eager  a",
        "single calls by operation (cases, median error, p90, bias):",
        "single ops, warm  gemm  2  10.0%  10.0%  -10.0%",
        "sweeps over the batch (measured / predicted):",
        "net                                        overhead ends at batch 2.0 / none",
    ]


_SWEEP = Sweep("net", (1, 2, 4), (1.0, 1.0, 2.0), (1.0, 1.0, 1.0))
"""Overhead ends in the middle of batch 1 to 4; the prediction never leaves it."""


def test_sweeps_in_words() -> None:
    agrees = Sweep("other", (1, 2, 4), (1.0, 1.0, 2.0), (1.0, 1.0, 2.0))
    assert " ".join(sweeps_in_words([_SWEEP, agrees]).split()) == (
        "In 2 sweeps over the batch, the regime by the cost of doubling the batch is predicted as "
        "measured in 3 of 4 doublings. The batch at which a network stops being overhead-bound is "
        "off by a factor of 1.00 in the median, 1.00 at most."
    )


def test_the_page_states_the_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_sweeps, "retrace", traced)
    words = sweeps_in_words(sweeps(host_of("batches")))
    assert words in PAGE.read_text("utf-8"), "run `ridgepoint validate --write`"
