"""Measured products with odd sizes on an H200, and the concatenations that pad their operands."""

from __future__ import annotations

import gzip
import json
from statistics import median
from typing import Any

import pytest

from calibration.record.read import MEASUREMENTS
from simulator.fusion.lowering.library.padding import timer
from simulator.hardware.gpu import gpu
from simulator.records import Signature, Tensor, row_major
from simulator.timing.profile import profile

TIMER = timer(gpu("h200_sxm"), profile("h200"))


def microseconds(op: Signature) -> float:
    return TIMER([op])[0] * 1e6


def rows() -> list[dict[str, Any]]:
    with gzip.open(MEASUREMENTS / "h200_sxm" / "padded_products.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def matrix(rows: int, columns: int, dtype: str, turned: bool = False) -> Tensor:
    shape = rows, columns
    return Tensor(shape, dtype, (1, rows) if turned else row_major(shape))


def padding(row: dict[str, Any], turned: bool) -> Signature:
    """The concatenation of zeros behind the columns of the second operand."""
    k, n, dtype = row["k"], row["n"], row["dtype"]
    rest = -n % (16 // matrix(1, 1, dtype).itemsize)
    parts = matrix(k, n, dtype, turned), matrix(k, rest, dtype)
    out = matrix(k, n + rest, dtype)
    return Signature("aten.cat.default", parts, (out,), ("tensors",) * 2, {"dim": 1})


# two concatenations pad both dimensions of the weight of 511 rows; the last columns are aligned
ROWS = [row for row in rows() if row["n"] % 8 and row["k"] % 8 == 0 and row["cat_turned_us"] > 2]


def test_a_transposed_matrix_takes_as_long_as_measured() -> None:
    errors = {
        (row["dtype"], row["k"], row["n"]): microseconds(padding(row, True)) / row["cat_turned_us"]
        for row in ROWS
    }
    assert len(errors) == 26
    assert median(abs(error - 1) for error in errors.values()) < 0.05
    # in single precision, each column of 246,534 rows takes longer than its DRAM accesses
    slow = {size for size, error in errors.items() if abs(error - 1) > 0.21}
    assert slow == {("float32", 1280, 246534)}


@pytest.mark.parametrize("transposed", [True, False])
def test_products_with_odd_sizes_take_as_long_as_measured(transposed: bool) -> None:
    errors: list[float] = []
    for row in rows():
        m, k, n, dtype = row["m"], row["k"], row["n"], row["dtype"]
        operands = matrix(m, k, dtype), matrix(k, n, dtype, transposed)
        call = Signature("aten.mm.default", operands, (matrix(m, n, dtype),), ("self", "mat2"), {})
        measured_us = row["mm_us" if transposed else "mm_nn_us"]
        errors.append(abs(microseconds(call) / measured_us - 1))
    assert median(errors) < 0.12
    assert max(errors) < 0.38
