"""Served loads: the rules of the loop, the forward pass of a mixed iteration, and the script."""

import gc
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from calibration.cases.steps import serving as cases
from calibration.cases.steps.serving import TINY, Load, poisson
from calibration.measure import serving as measuring
from calibration.measure.programs.batching import Chunk, Run, run
from calibration.measure.programs.server import LlamaServer
from simulator.networks.catalogue import build
from simulator.networks.sequences.llama import Llama
from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Rules, serve
from simulator.planning.step.step_time import constant


class Virtual:
    """A clock, and a server whose iterations take 10 ms each."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.seen: list[tuple[int, int, list[Chunk]]] = []

    def now(self) -> float:
        return self.now_s

    def wait(self, until_s: float) -> None:
        self.now_s = until_s

    def iterate(self, batch: int, cached: int, chunks: list[Chunk]) -> None:
        self.seen.append((batch, cached, chunks))
        self.now_s += 0.01


def served(load: Load, slots: int, budget: int) -> tuple[Run, Virtual]:
    virtual = Virtual()
    return run(virtual, load, slots, budget, virtual), virtual


@pytest.mark.parametrize("rate", [4.0, 30.0, 120.0])
def test_the_loop_keeps_the_rules_of_the_simulated_server(rate: float) -> None:
    load = poisson(rate, 6.0)
    measured, _ = served(load, 16, 2048)
    requests = Requests(np.array(load.arrival_s), np.array(load.prompt), np.array(load.output))
    simulated = serve(requests, constant(0.01, 16), Rules(2048, 16, 16 * 1152))
    assert np.subtract(measured.first_s, load.arrival_s) == pytest.approx(simulated.first_s)
    assert np.subtract(measured.last_s, load.arrival_s) == pytest.approx(simulated.last_s)


def test_a_prompt_is_cut_where_the_budget_ends() -> None:
    """With a budget of 100 tokens, prompts of 60 each take 60 + 40; then one decode, 20 and 60."""
    served_load, virtual = served(Load([0.0, 0.0, 0.0], [60, 60, 60], [3, 2, 2]), 4, 100)
    assert virtual.seen[0] == (0, 0, [Chunk(0, 0, 60, True), Chunk(1, 0, 40, False)])
    assert virtual.seen[1] == (1, 60, [Chunk(1, 40, 20, True), Chunk(2, 0, 60, True)])
    assert virtual.seen[2] == (3, 61 + 60 + 60, [])
    assert served_load.first_s == pytest.approx([0.01, 0.02, 0.02])
    assert served_load.last_s == pytest.approx([0.03, 0.03, 0.03])


def test_unanswered_requests_keep_nan() -> None:
    virtual = Virtual()
    served_load = run(virtual, Load([0.0, 9.0], [5, 5], [2, 2]), 1, 10, virtual, until_s=5.0)
    assert served_load.last_s[0] == pytest.approx(0.02) and np.isnan(served_load.last_s[1])


def test_a_mixed_iteration_is_the_networks_own_forward() -> None:
    torch.manual_seed(0)
    module: Any = build(cases.NETWORK, **TINY.sizes).eval()
    server = LlamaServer(module, 2, 48, (1, 2), (16,), False)
    with torch.no_grad():
        logits = server.mixed(0, 0, [Chunk(0, 0, 8, True), Chunk(1, 0, 8, True)])
        alone = Llama.forward(module, server.prompt[:, :8])
    assert isinstance(alone, torch.Tensor)
    assert logits.shape == (1, 2, 100)
    assert torch.allclose(logits[0, 0], alone[0, -1], atol=1e-5)


def test_a_piece_attends_to_what_the_cache_has() -> None:
    """The last 4 of 12 tokens, after 8 cached ones: only the queries are rotated, by their
    positions within the chunk."""
    module: Any = build(cases.NETWORK, **TINY.sizes).eval()
    server = LlamaServer(module, 1, 48, (1,), (16,), False)
    with torch.no_grad():
        first = server.mixed(0, 0, [Chunk(0, 8, 4, True)])
        server.cache[0][:, :, :8] += 1.0
        second = server.mixed(0, 0, [Chunk(0, 8, 4, True)])
        server.cache[0][:, :, 12:] += 1.0
        third = server.mixed(0, 0, [Chunk(0, 8, 4, True)])
    assert not torch.allclose(first, second) and torch.equal(second, third)


def test_the_script_runs_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.freeze()  # the script collects garbage: leave out the objects of other tests
    file = tmp_path / "serving.jsonl"
    monkeypatch.setattr(measuring, "SHARES", (0.5,))
    monkeypatch.setattr(measuring, "STEP_S", 0.02)
    monkeypatch.setattr(sys, "argv", ["serving", str(file), "--seconds", "60", "--dry"])
    measuring.main()
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert "machine" in rows[0] and "ended" in rows[-1]
    assert [row["part"] for row in rows[1:-1]] == [
        "step", "step", "serving", "serving", "static", "energy", "serving", "serving",
    ]  # fmt: skip
    assert not [row["failed"] for row in rows if "failed" in row]
    assert rows[3]["answered"] == TINY.burst and len(rows[5]["seconds"]) == TINY.static[2]
