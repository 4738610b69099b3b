"""Steps of a reduction against those of Inductor on an H200."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from simulator.fusion.lowering.reducing import _reads_across
from simulator.fusion.lowering.reductions import parts
from simulator.hardware.gpu import gpu
from simulator.records import Tensor


@pytest.mark.parametrize(
    ("rows", "cols", "inner", "expected"),
    [
        (768, 1024, False, 8),  # a part has 4 · 32 elements: 1024 / 128
        (3072, 2048, False, 16),
        (64, 1024, False, 8),
        # 1,056 blocks: 96 elements per thread; the nearest divisor is 98; 401,408 / (4·98) parts
        (64, 401_408, False, 1024),
        (512, 1568, False, 13),  # 1568 / 128 = 12.25
        (768, 100, False, 1),
        (1, 1024, True, 1),
        (1024, 50_257, True, 1),  # more results than two per multiprocessor
        (1, 1 << 20, True, 128),  # 1,048,576 / (32·256)
    ],
)
def test_parts(rows: int, cols: int, inner: bool, expected: int) -> None:
    assert parts(rows, cols, inner, gpu("h200")) == expected


X, Y = (0, 1), (0, 2)  # values: a storage and its version
ROWS, COLUMNS = (Tensor((8, 64), "float32", stride) for stride in ((64, 1), (1, 8)))


@pytest.mark.parametrize(("tensor", "stored", "last", "across"), [
    # a value that leaves the graph has the layout of eager mode
    (COLUMNS, True, False, True), (ROWS, True, False, False),
    # others have the order in which the compiler's loop writes them, which is that of the read
    (COLUMNS, False, False, False),
    # channels-last images are read in their own order
    (COLUMNS, True, True, False),
    # a single column or a single row is contiguous
    (Tensor((8, 1), "float32", (1, 8)), True, False, False),
    (Tensor((8,), "float32", (2,)), True, False, False),
])  # fmt: skip
def test_reads_across_memory_are_those_of_stored_layouts(
    tensor: Tensor, stored: bool, last: bool, across: bool
) -> None:
    lowering: Any = SimpleNamespace(
        computed={X: tensor},
        flow=SimpleNamespace(stored={X} if stored else {Y}),
        inductor=True,
        calls=SimpleNamespace(channels_last=last),
    )
    assert _reads_across(lowering, X) is across
    lowering.inductor = False
    assert _reads_across(lowering, X) is False
