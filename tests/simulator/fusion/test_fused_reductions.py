"""Steps of a reduction against those of Inductor on an H200."""

from __future__ import annotations

import pytest

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
