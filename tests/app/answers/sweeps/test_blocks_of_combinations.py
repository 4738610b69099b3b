"""Combinations predicted block by block equal a single sweep; finished blocks are cached."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.answers.sweeps import combinations
from app.answers.sweeps.combinations import Combined, Known, combine
from app.time_left import RUNNING, Running
from simulator.analysis.sweep import sweep
from simulator.scenario.scenario import Scenario

SMALL = {"layers": 2, "width": 256, "heads": 4}
GPT = Scenario("gpt2", batch=2, seq=32, dtype="bf16", sizes=SMALL)
COMPILED = replace(GPT, mode="compiled")
BERT = Scenario("bert-base", gpu="h200", dtype="bf16")
SEVEN = (1, 2, 4, 8, 16, 32, 64)
WIDE = {
    "batch": SEVEN,
    "seq": (64, 128, 256, 4096),  # the network has 512 positions
    "gpu": ("h100", "h200", "a100"),
    "mode": ("eager", "cuda_graph"),
    "host_speed": (0.5, 1.0, 2.0),
    "bandwidth": (0.5, 1.0, 2.0),
}
"""7 · 4 · 3 · 2 · 3 · 3 = 1,512 combinations."""


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch):
    """The number of rows of each sweep."""
    rows: list[int] = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        result = sweep(*args, **kwargs)
        rows.append(len(result))
        return result

    monkeypatch.setattr(combinations, "sweep", counted)
    return rows


def nothing() -> None:
    """Never cancels."""


def test_blocks_equal_a_single_sweep(swept: list[int]):
    parts: list[Combined] = []
    report = Running()
    token = RUNNING.set(report)
    try:
        whole = combine(BERT, WIDE, nothing, parts.append)
    finally:
        RUNNING.reset(token)
    assert report.text == "1,512 of 1,512 points"
    assert swept == [504] * 3  # one block for each GPU
    assert [(p.rows.size, p.refused, p.missing) for p in parts] == [
        (378, 126, 1008),
        (756, 252, 504),
    ]
    at_once = sweep(BERT, WIDE)
    assert whole.missing == 0 and whole.refused == len(at_once.refused) == 378
    rows = [row for row in range(1512) if row not in at_once.refused]
    assert whole.rows.tolist() == rows
    for name, column in whole.columns.items():
        rtol = 1e-6 if name in ("compute", "memory", "overhead") else 1e-12
        np.testing.assert_allclose(column, at_once.columns[name][rows], rtol=rtol, atol=1e-9)
    for part in parts:  # combinations keep the figures of earlier parts
        places = np.searchsorted(whole.rows, part.rows)
        np.testing.assert_array_equal(part.columns["period_s"], whole.columns["period_s"][places])


def test_a_cancelled_call_keeps_its_blocks(swept: list[int]):
    known: Known = {}
    stopped = False

    def cancelled() -> None:
        if stopped:
            raise InterruptedError

    def so_far(part: Combined) -> None:
        nonlocal stopped
        stopped = True

    with pytest.raises(InterruptedError):
        combine(BERT, WIDE, cancelled, so_far, known)
    assert swept == [504]
    parts: list[Combined] = []
    whole = combine(BERT, WIDE, nothing, parts.append, known)
    assert swept == [504, 504, 504]  # the first block was not predicted again
    # the cached block is shown at once, then the second one
    assert [p.missing for p in parts] == [1008, 504]
    assert whole.missing == 0
    combine(BERT, WIDE, nothing, parts.append, known)
    assert len(swept) == 3 and len(parts) == 2


def test_compiled_steps_come_point_by_point(swept: list[int]):
    axes = {"gpu": ("h100", "h200"), "batch": (1, 2), "seq": (32, 64), "bandwidth": (0.5, 1.0, 2.0)}
    axes = {**axes, "host_speed": (0.5, 1.0, 2.0)}
    parts: list[Combined] = []
    whole = combine(COMPILED, axes, nothing, parts.append)
    assert swept == [18] * 4  # 2 GPUs, 3 bandwidths and 3 hosts for each batch and sequence
    assert [p.rows.size for p in parts] == [18, 36, 54] and whole.rows.size == 72
    at_once = sweep(COMPILED, axes)
    np.testing.assert_allclose(whole.columns["period_s"], at_once.columns["period_s"], rtol=1e-12)


def test_each_dtype_is_its_own_block(swept: list[int]):
    axes = {"precision": ("bf16", "fp32"), "batch": SEVEN, "gpu": ("h100", "v100")}
    whole = combine(BERT, axes, nothing)
    assert swept == [14, 14]
    at_once = sweep(BERT, axes)
    assert whole.refused == len(at_once.refused) == 0
    np.testing.assert_allclose(whole.columns["period_s"], at_once.columns["period_s"], rtol=1e-12)
