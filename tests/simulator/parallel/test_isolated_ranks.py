"""The ranks of a user's network, traced in a child process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from simulator.cluster import cluster
from simulator.cluster.layout import layout
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.isolated import ISOLATION
from simulator.parallel.rank_0 import rank_0, trace_rank_0
from simulator.records import Op

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
NETS = """
import ctypes, torch
from torch import nn

class Net(nn.Sequential):
    def __init__(self, width: int = 8):
        super().__init__(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
        self.width = width
    def example_inputs(self, batch=2):
        return (torch.empty(batch, self.width),)

class Crashes(Net):
    def forward(self, x): ctypes.string_at(0)
"""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NetworkStep]:
    nets: Path = tmp_path_factory.mktemp("nets") / "nets.py"
    nets.write_text(NETS, "utf-8")
    ISOLATION.begin()
    yield NetworkStep(f"{nets}:Net", batch=2, training=True, sizes={"width": 16})
    ISOLATION.end()


@pytest.mark.parametrize("text", ["dp=2 ddp", "dp=2 fsdp"])
def test_the_trace_of_a_rank_is_that_of_this_process(step: NetworkStep, text: str) -> None:
    machine = cluster("2xh200")
    question = step, layout(text, machine), machine, 1
    trace = rank_0(*question)
    own, _ = trace_rank_0(*question)
    assert trace.storages == own.storages
    assert any(op.collective for op in trace.ops) and any(op.stream for op in trace.ops)
    assert [_without_line(op) for op in trace.ops] == [_without_line(op) for op in own.ops]


def _without_line(op: Op) -> Op:
    """The op without the line that called it, which is in this file here."""
    if op.collective is None:
        return op
    return structs.replace(op, collective=structs.replace(op.collective, where=""))


def test_a_crash_ends_the_child_alone(step: NetworkStep) -> None:
    machine = cluster("2xh200")
    crashes = replace(step, network=step.network.replace(":Net", ":Crashes"))
    with pytest.raises(InputError) as caught:
        rank_0(crashes, layout("dp=2 ddp", machine), machine, 1)
    assert str(caught.value) == (
        "the process that traced nets.py:Crashes crashed with SIGSEGV at nets.py:13: expected code "
        "that returns; correct the network, or run it with --no-sandbox, where a debugger can "
        "follow it"
    )
