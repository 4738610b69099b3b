"""Indexing ops in which the host waits for its indices."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs.indexing.host_reads import indexes_by_data
from simulator.records import Tensor
from tests.simulator.costs.conftest import sig

X, ROWS, MASK = ((100, 6), "float32"), ((20,), "int64"), ((100,), "bool")
BYTES = ((100,), "uint8")
HOST = Tensor((20,), "int64", (1,), "cpu")
ONE, ONE_ON_HOST = Tensor((), "float32", ()), Tensor((), "float32", (), "cpu")
SEVERAL_ON_HOST = Tensor((6,), "float32", (1,), "cpu")


@pytest.mark.parametrize(
    ("indices", "values", "waits"),
    [
        ([ROWS], None, False),
        ([ROWS, ROWS], None, False),
        ([MASK], None, True),
        ([BYTES], None, True),
        ([ROWS, MASK], None, True),
        ([HOST], None, True),
        ([ROWS, HOST], None, True),
        # one number under a mask is a fill, unless it lies on the GPU
        ([MASK], ONE_ON_HOST, False),
        ([MASK], ONE, True),
        ([MASK], SEVERAL_ON_HOST, True),
        ([ROWS, MASK], ONE_ON_HOST, True),
        ([HOST], ONE_ON_HOST, True),
        ([ROWS], ONE_ON_HOST, False),
    ],
)
def test_the_host_counts_masks_and_copies_its_indices(
    indices: list[Any], values: Tensor | None, waits: bool
) -> None:
    more: dict[str, Any] = {} if values is None else {"values": values}
    name = "aten.index.Tensor" if values is None else "aten.index_put_.default"
    assert indexes_by_data(sig(name, X, None, {}, self=X, indices=indices, **more)) is waits
