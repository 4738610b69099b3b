"""The parts of the measurement of all-reduces that need no GPU."""

from __future__ import annotations

import gzip
import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
import torch

from calibration.cases.steps.parallel import STEPS
from calibration.measure import exchange_calls
from calibration.measure.exchange_calls import RUNS, SMALL, Process, Run, append, blocks, settings
from calibration.measure.instruments.awake_processors import awake
from calibration.measure.instruments.thread_usage import (
    counters,
    difference,
    processor,
    read_text,
    threads_ticks,
)
from calibration.measure.programs.exchanges import Timed, spun


def test_every_run_has_eager_steps_with_tensor_parallelism() -> None:
    names = [run.name for run in RUNS]
    assert len(set(names)) == len(names)
    each = [STEPS[place] for run in RUNS for place in run.steps]
    assert {(step.how, step.graph) for step in each} == {("tensor", False)}


def test_the_profiled_step_is_the_last_of_its_run() -> None:
    """The profiler slows later launches of its process."""
    assert RUNS[0].name == "plain"
    assert RUNS[0].steps[-1] == SMALL


def test_a_run_restores_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCL_PROTO", "LL")
    monkeypatch.delenv("TORCH_FR_BUFFER_SIZE", raising=False)
    run = Run("two", environment={"NCCL_PROTO": "Simple", "TORCH_FR_BUFFER_SIZE": "0"})
    with pytest.raises(KeyError), settings(run):
        assert os.environ["NCCL_PROTO"] == "Simple"
        assert os.environ["TORCH_FR_BUFFER_SIZE"] == "0"
        raise KeyError
    assert os.environ["NCCL_PROTO"] == "LL"
    assert "TORCH_FR_BUFFER_SIZE" not in os.environ


def test_processors_are_kept_awake_by_one_process_each(monkeypatch: pytest.MonkeyPatch) -> None:
    started = MagicMock()
    monkeypatch.setattr("subprocess.Popen", started)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    with awake(False):
        assert not started.called
    with awake():
        assert started.call_count == 3
        assert not started.return_value.kill.called
    assert started.return_value.kill.call_count == 3


def test_rank_0_appends_the_figures_of_all_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_two(value: object) -> list[object]:
        return [value, value]

    monkeypatch.setattr(exchange_calls, "of_each", of_two)
    path = str(tmp_path / "calls.jsonl.gz")
    append(path, {"machine": "M"})
    for rank in (0, 1):
        process = Process(rank, 2, Run("plain"), path, 0.0)
        process.write({"part": "step"}, {"issued_s": [0.5]}, {"adds": [1.0]})
    with gzip.open(path, "rt", encoding="utf-8") as file:
        first, second = map(json.loads, file)
    assert first == {"machine": "M"}
    assert second == {
        "run": "plain",
        "ranks": 2,
        "part": "step",
        "probes": [{"adds": [1.0]}] * 2,
        "each": [{"issued_s": [0.5]}] * 2,
    }


def test_blocks_hold_the_calls_of_the_last_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "Event", MagicMock())
    monkeypatch.setattr(exchange_calls, "dist", SimpleNamespace(barrier=lambda: None))
    monkeypatch.setattr(exchange_calls, "agreed", float)
    timed = Timed(lambda x: spun(2_000_000))
    calls = [0]

    def step() -> None:
        calls[0] += 1
        for _ in range(2):
            timed(torch.empty(0))

    monkeypatch.setattr(exchange_calls, "BLOCK_S", 0.0)
    figures = blocks(step, timed)
    # three steps to warm up, one to time, and three blocks of four, the minimum
    assert (figures["steps"], calls[0]) == (4, 3 + 1 + 3 * 4)
    assert len(figures["begun_ns"]) == len(figures["host_ns"]) == 2 * 4
    assert min(figures["host_ns"]) >= 2_000_000
    assert figures["begun_ns"] == sorted(figures["begun_ns"])
    assert not figures["gpu_ns"]
    # two calls of 2 ms in a step
    assert len(figures["issued_s"]) == len(figures["done_s"]) == 3
    assert min(figures["issued_s"]) >= 0.004
    assert max(figures["done_s"]) >= max(figures["issued_s"])


def test_events_are_recorded_before_and_after_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "Event", MagicMock())
    timed = Timed(lambda x: None, on_gpu=True)
    for _ in range(3):
        timed(torch.empty(0))
    assert len(timed.spans) == 3
    assert len(timed.events) == 6
    timed.clear()
    assert not timed.spans
    assert not timed.events


def test_the_system_counts_the_work_and_the_sleeps_of_a_thread() -> None:
    before = counters()
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    time.sleep(0.001)
    spent = difference(counters(), before)
    assert spent["user_s"] + spent["system_s"] >= 0.04
    assert spent["sleeps"] >= 1
    assert min(spent.values()) >= 0
    assert processor() in range(os.cpu_count() or 1)
    assert sum(threads_ticks().values()) > 0  # loading torch takes more than 1/100 s


def test_a_missing_file_of_the_system_reads_as_empty(tmp_path: Path) -> None:
    assert read_text(str(tmp_path / "absent")) == ""
