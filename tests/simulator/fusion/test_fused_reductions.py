"""Steps of a reduction against those of Inductor on an H200, and against its heuristic."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
import torch
from torch._inductor import choices

from simulator.fusion.lowering.reductions import parts
from simulator.hardware.gpu import gpu


@pytest.mark.parametrize(
    ("rows", "cols", "inner", "found"),
    [
        (768, 1024, False, 8),  # a part has 4 · 32 elements: 1024 / 128
        (3072, 2048, False, 16),
        (64, 1024, False, 8),
        (64, 401_408, False, 1024),  # 1,056 blocks: 96 per thread, 98 divides; 401,408 / (4·98)
        (512, 1568, False, 13),  # 1568 / 128 = 12.25
        (768, 100, False, 1),
        (1, 1024, True, 1),
        (1024, 50_257, True, 1),  # more results than two per unit
        (1, 1 << 20, True, 128),  # 1,048,576 / (32·256)
    ],
)
def test_parts(rows: int, cols: int, inner: bool, found: int) -> None:
    assert parts(rows, cols, inner, gpu("h200")) == found


@pytest.mark.parametrize("inner", [True, False])
def test_parts_are_those_of_inductors_heuristic(
    monkeypatch: pytest.MonkeyPatch, inner: bool
) -> None:
    h200 = SimpleNamespace(
        multi_processor_count=132, warp_size_or_default=32, max_threads_per_multi_processor=2048,
        major=9,
    )  # fmt: skip
    monkeypatch.setattr("torch._inductor.choices.DeviceProperties.create", lambda device: h200)
    card, device, drawn = gpu("h200"), torch.device("cpu"), random.Random(7)
    sizes = [
        (round(2 ** drawn.uniform(1, 13)), round(2 ** drawn.uniform(5.1, 21))) for _ in range(300)
    ]
    # the sizes lie on both sides of the heuristic's limits, 32 and 512 elements per resident thread
    assert min(rows * cols for rows, cols in sizes) < 32 * 132 * 2048
    assert max(rows * cols for rows, cols in sizes) > 512 * 132 * 2048
    for rows, cols in sizes:
        expected = choices.InductorChoices.reduction_split_factor(device, cols, rows, inner)
        assert parts(rows, cols, inner, card) == expected, (rows, cols)
