"""The values that a generated kernel recomputes where it reads them, instruction by instruction."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from simulator.fusion import fused
from simulator.fusion.lowering.arithmetic import in_registers
from simulator.fusion.lowering.recompute import _spread, instructions
from simulator.fusion.node import Node, Recomputed
from simulator.hardware.gpu import gpu
from simulator.records import Signature
from simulator.tracing import trace_call

CARD = gpu("h200")


def _signature(function: Callable[..., Tensor], *operands: Tensor) -> Signature:
    """The signature of the only generated kernel of a compiled function."""
    trace = trace_call(lambda: lambda: function(*operands))
    (op,) = fused(trace, CARD).trace.ops
    return op.signature


def test_a_bias_computed_in_place_is_computed_for_every_batch() -> None:
    def biased(scores: Tensor, distance: Tensor) -> Tensor:
        return scores + torch.exp(distance)

    with torch.device("meta"):
        op = _signature(biased, torch.empty(10, 8, 8), torch.empty(8, 8))
    # 9 instructions for an exponential, 1 for a sum, two loads and a store, for 10·8·8 elements
    assert op.args["instructions"] == (9 + 1 + 3) * 640


def test_a_part_computes_only_its_own_elements() -> None:
    def first(x: Tensor) -> Tensor:
        return torch.exp(x)[:2] + 1

    with torch.device("meta"):
        op = _signature(first, torch.empty(8, 64))
    # 9 instructions for the exponential, 1 for the sum, a load and a store, for two rows of 64
    assert op.args["instructions"] == (9 + 1 + 2) * 128


def test_what_two_joined_parts_share_is_computed_for_each_of_them() -> None:
    def turned(x: Tensor, angle: Tensor) -> Tensor:
        cos = torch.cos(angle)
        return torch.cat([x * cos, x - cos], 1)

    with torch.device("meta"):
        op = _signature(turned, torch.empty(64, 8), torch.empty(64, 8))
    # 29 instructions for a cosine and 1 for a product or a difference, in both parts, 1 to select a
    # part, two loads and a store, for 64 · 16 elements
    assert op.args["instructions"] == (2 * (29 + 1) + 1 + 3) * 1024


def test_rows_in_registers_are_computed_once_and_others_twice() -> None:
    value = {7: Recomputed(3 * 4096, (4, 1024))}
    for looped, times in ((False, 1), (True, 2)):
        sums = Node("reduction", 4, 1024, instructions=100, recomputed=value, looped=looped)
        after = Node("pointwise", 4096, instructions=50, recomputed=value)
        # each node's own instructions, and 3 to recompute each element
        assert instructions([sums, after]) == 100 + 50 + times * 3 * 4096


def test_values_that_are_equal_along_a_row_are_computed_once_per_row() -> None:
    sums = Node("reduction", 64, 256)
    for shape, slots in (((64, 1), 8 * 64), ((256,), 8 * 256), ((1,), 8 * 64), ((16, 256), 131072)):
        value = {0: Recomputed(8 * torch.Size(shape).numel(), shape)}
        after = Node("pointwise", 64 * 256, recomputed=value)
        assert instructions([sums, after]) == slots
    # outside a reduction's kernel, it is computed for each element: 8 · 64 · 256
    assert (
        instructions([Node("pointwise", 64 * 256, recomputed={0: Recomputed(8 * 64, (64, 1))})])
        == 131072
    )


def test_long_rows_are_walked_along_where_they_are_read_apart() -> None:
    units = 132
    assert in_registers(64 * units, True, units) == 64
    assert in_registers(64 * units - 1, True, units) == 1024
    assert in_registers(64 * units, False, units) == 1024


def test_rows_looked_up_are_walked_along() -> None:
    def looked_up(index: Tensor, table: Tensor, w: Tensor) -> Tensor:
        return F.layer_norm(F.embedding(index, table), (256,), w)

    for rows, looped in ((8448, True), (8000, False)):
        with torch.device("meta"):
            index = torch.empty(rows, dtype=torch.int64)
            op = _signature(looked_up, index, torch.empty(999, 256), torch.empty(256))
        assert op.args["looped"] == looped


def test_a_division_by_a_constant_is_a_product() -> None:
    def third(x: Tensor) -> Tensor:
        return x / 3.0

    with torch.device("meta"):
        x = torch.empty(64, 64)
        constant, tensor = _signature(third, x), _signature(torch.div, x, torch.empty(64, 64))
    assert constant.args["instructions"] == (1 + 2) * 4096
    assert tensor.args["instructions"] == (8 + 3) * 4096


def test_a_value_next_to_a_reduction_is_computed_once_per_distinct_value() -> None:
    rows = Node("reduction", 100, 8)
    # 2 instructions for each of 100 rows, and 1 for each of 8 columns
    assert _spread(Recomputed(200, (100,)), 800, rows) == 200
    assert _spread(Recomputed(200, (100, 1)), 800, rows) == 200
    assert _spread(Recomputed(8, (8,)), 800, rows) == 8
    # the elements of the loop are not those of the reduction
    assert _spread(Recomputed(8, (8,)), 400, rows) == 400
    # rows of one element do not count as rows: the value is computed for each element
    assert _spread(Recomputed(7, ()), 100, Node("reduction", 100, 1)) == 700
