"""Families on disk whose lines of code are renumbered."""

from __future__ import annotations

from pathlib import Path

import torch

from simulator.records import Trace
from simulator.symbols import Symbolic
from simulator.symbols.family_file import load, save, with_lines
from simulator.tracing import trace
from tests.simulator.conftest import Calls


def traced(batch: int, seq: int) -> Trace:
    network = Calls(lambda net, x: x @ net.w)
    return trace(network, (torch.empty(batch, seq, 4, device="meta"),))


def test_families_take_new_lines_of_code(tmp_path: Path) -> None:
    path = tmp_path / "calls.families"
    save(Symbolic.fit(traced, seq=16), path)
    before = load(path, traced).at(3, 5)
    (line,) = set(before.code.values())
    with_lines(path, {line: "calls.py, line 999", "calls.py, line 1": "calls.py, line 2"})
    after = load(path, traced).at(3, 5)
    assert set(after.code.values()) == {"calls.py, line 999"}
    assert (after.ops, after.storages) == (before.ops, before.storages)
