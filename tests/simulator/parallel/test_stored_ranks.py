"""The traces of ranks on disk: stored under their inputs, read without tracing, replaced if
damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulator.cluster import cluster
from simulator.cluster.layout import Layout, layout
from simulator.cluster.step import NetworkStep
from simulator.formats.trace_folder import TRACE_FOLDER
from simulator.parallel import rank_0 as traced
from simulator.parallel.rank_0 import rank_0
from simulator.records import Trace

MACHINE = cluster("2xh200")
STEP = NetworkStep("mlp-tiny", batch=4, training=True)
NETS = """
import time, torch
from torch import nn

class Net(nn.Linear):
    def __init__(self): super().__init__(8, 8)
    def example_inputs(self, batch=2): return (torch.empty(batch, 8),)

class Clock(Net):
    def forward(self, x):
        for _ in range(time.perf_counter_ns() % 97 + 1): x = x + 1
        return super().forward(x)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    before, TRACE_FOLDER.path = TRACE_FOLDER.path, tmp_path / "traces"
    yield tmp_path / "traces"
    TRACE_FOLDER.path = before
    TRACE_FOLDER.left_out()


def trace(step: NetworkStep, spread: Layout) -> Trace:
    return rank_0(step, spread, MACHINE, 1)


def refuse(*_: Any) -> Any:
    raise AssertionError("traced again")


@pytest.mark.parametrize("text", ["dp=2 fsdp", "dp=2 ddp"])
def test_a_stored_trace_is_read_and_equal(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spread = layout(text, MACHINE)
    first = trace(STEP, spread)
    assert any(op.collective and op.stream for op in first.ops)
    monkeypatch.setattr(traced, "trace_rank_0", refuse)
    second = trace(STEP, spread)
    assert second == first and second is not first


def test_each_input_of_a_trace_has_its_own_file(folder: Path) -> None:
    spread = layout("dp=2 fsdp", MACHINE)
    trace(STEP, spread)
    trace(replace(STEP, batch=8), spread)
    trace(replace(STEP, sizes={"width": 128}), spread)
    trace(STEP, replace(spread, reshard=False))
    assert len([*folder.glob("*.rank")]) == 4
    trace(STEP, replace(spread, bucket_bytes=1, schedule="gpipe"))  # added to the trace later
    assert len([*folder.glob("*.rank")]) == 4


def test_a_damaged_trace_is_reported_and_replaced(folder: Path) -> None:
    spread = layout("dp=2 ddp", MACHINE)
    first = trace(STEP, spread)
    (file,) = folder.glob("*.rank")
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert trace(STEP, spread) == first
    assert TRACE_FOLDER.reported() == [file] and file.read_bytes() == whole


def test_a_users_file_is_stored_if_two_traces_agree(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS, "utf-8")
    spread = layout("dp=2 ddp", MACHINE)
    trace(NetworkStep(f"{tmp_path / 'nets.py'}:Net"), spread)
    assert len([*folder.glob("*.rank")]) == 1
    clock = f"{tmp_path / 'nets.py'}:Clock"
    trace(NetworkStep(clock), spread)
    assert len([*folder.glob("*.rank")]) == 1 and [*TRACE_FOLDER.left_out()] == [clock]
