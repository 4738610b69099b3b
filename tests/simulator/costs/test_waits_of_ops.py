"""Ops in which the host waits: for indices, for a value, for a copy."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs.indexing.host_reads import indexes_by_data
from simulator.costs.registry import WAITS, describe
from simulator.hardware.waits import syncs
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


@pytest.mark.parametrize("name", ["add.Tensor", "mm.default", "zeros_like.default"])
def test_the_host_waits_for_no_op_that_does_not_say_so(name: str) -> None:
    assert not syncs(sig(f"aten.{name}", X, None, {}, self=X, other=X))


def test_the_host_waits_for_a_count_of_elements_on_the_gpu() -> None:
    for device, waits in (("cuda", True), ("cpu", False)):
        x = Tensor((100,), "float32", (1,), device)
        assert syncs(sig("aten.nonzero.default", ROWS, None, {}, self=x)) is waits


def test_an_op_that_is_described_does_not_wait_by_default() -> None:
    describe("aten.of_this_test.default")
    assert "aten.of_this_test.default" not in WAITS


def test_the_host_waits_for_the_value_of_a_masked_fill_on_the_gpu() -> None:
    x, mask = ((4, 6), "float32"), ((4, 6), "bool")
    for name in ("masked_fill", "masked_fill_"):
        for more, waits in (({"value": ONE}, True), ({"value": ONE_ON_HOST}, False), ({}, False)):
            op = sig(f"aten.{name}.Tensor", x, None, {}, self=x, mask=mask, **more)
            assert syncs(op) is waits


@pytest.mark.parametrize(
    ("name", "source", "target", "args", "waits"),
    [
        ("_to_copy", "cuda", "cpu", {}, True),
        ("_to_copy", "cpu", "cuda", {}, True),
        ("_to_copy", "cuda", "cuda", {}, False),
        ("_to_copy", "cuda", "cpu", {"non_blocking": True}, False),  # the new tensor is pinned
        ("_to_copy", "cpu", "cuda", {"non_blocking": True}, False),
        ("copy_", "cuda", "cpu", {}, True),
        ("copy_", "cuda", "cpu", {"non_blocking": True}, True),  # memory that is not pinned
        ("copy_", "cpu", "cuda", {"non_blocking": True}, False),
        ("copy_", "cpu", "cuda", {"non_blocking": False}, True),
    ],
)
def test_the_host_waits_for_copies_over_the_bus(
    name: str, source: str, target: str, args: dict[str, Any], waits: bool
) -> None:
    for size in (5, 0):
        before, after = (Tensor((size,), "float32", (1,), device) for device in (source, target))
        inputs = {"self": after, "src": before} if name == "copy_" else {"self": before}
        op = sig(f"aten.{name}.default", after, None, args, **inputs)
        assert syncs(op) is (waits and size > 0)  # an empty tensor has no data
