"""Loops that share a reduction's kernel, the order of their dimensions, and the work that products
leave to loops.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import trace
from simulator.fusion import fused
from simulator.fusion.lowering.access import Part, reordered
from simulator.fusion.node import Node
from simulator.fusion.scheduling.scheduling import groups
from simulator.hardware.gpu import gpu
from simulator.timing.profile import learned

H200 = gpu("h200")
ROWS, COLS = 16, 64
ALL = ROWS * COLS


def names(module: nn.Module, *args: Tensor) -> list[str]:
    return [op.name.split(".")[1] for op in fused(trace(module, args), H200).trace.ops]


def loop(rows: int, reads: dict[object, int], writes: object) -> Node:
    return Node("pointwise", rows, reads=dict(reads), writes={writes: rows * 4}, ops=(0,))


def test_loops_over_elements_and_over_results_share_a_reduction() -> None:
    before = loop(ALL, {"x": ALL * 4}, "y")
    sums = Node("reduction", ROWS, COLS, reads={"y": ALL * 4}, writes={"s": ROWS * 4}, ops=(0,))
    after = loop(ROWS, {"s": ROWS * 4}, "t")
    again = loop(ALL, {"y": ALL * 4, "t": ROWS * 4}, "z")
    (group,) = groups([before, sums, after, again], ["forward"])
    assert group.nodes == [before, sums, after, again]
    alone = groups([before, loop(ROWS, {"y": ALL * 4}, "t")], ["forward"])
    assert len(alone) == 2  # without a reduction they are two kernels


def test_a_value_written_in_pieces_is_written_by_one_kernel() -> None:
    fill = loop(32, {"x": 128}, "w")
    apart = Node("pointwise", 32, reads={"x": 128}, writes={"u": 128}, ops=(0,), atomic=True)
    assert len(groups([fill, apart], ["forward"])) == 1  # they share a read, and no piece
    onto = Node("pointwise", 32, reads={"x": 128}, writes={"w": 128}, ops=(0,), atomic=True)
    assert len(groups([fill, onto], ["forward"])) == 2
    assert len(groups([onto, loop(32, {"w": 128}, "z")], ["forward"])) == 2
    # without separate pieces, two loops over the same elements write them one after the other
    assert len(groups([fill, loop(32, {"x": 128}, "w")], ["forward"])) == 1


def test_a_read_in_another_order_of_dimensions() -> None:
    turned = Part(5, 0, 0, ((4, 8), (8, 1), 0, (8, 4), (4, 1)))
    crosswise = Part(5, 0, 0, ((8, 1), (4, 8)))
    assert reordered(crosswise, 32) == ((5, 0), ((8, 1), (4, 8)))
    assert reordered(crosswise, 64) == (crosswise, ())  # another loop reads it twice
    assert reordered(turned, 32)[0] == (5, 0)
    slice_of = Part(5, 0, 3, ((4, 16), (8, 1)))
    assert reordered(slice_of, 32) == (slice_of, ())  # with gaps
    assert reordered((5, 0), 32) == ((5, 0), ())


def test_a_loop_is_turned_to_join_the_one_that_makes_what_it_reads() -> None:
    first = loop(32, {(1, 0): 128}, (5, 0))
    read = loop(32, {Part(5, 0, 0, ((8, 1), (4, 8))): 128}, (6, 0))
    gaps = loop(32, {Part(5, 0, 3, ((4, 16), (8, 1))): 128}, (7, 0))
    assert len(groups([first, read], ["forward"])) == 1
    assert len(groups([first, gaps], ["forward"])) == 2
    both = loop(32, {(5, 0): 128, Part(5, 0, 0, ((8, 1), (4, 8))): 128}, (8, 0))
    assert len(groups([first, both], ["forward"])) == 2  # no order suits both reads


class Activated(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.linear, self.how = nn.Linear(64, 64), how

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        return torch.softmax(y, -1) if self.how == "softmax" else torch.relu(y)


@pytest.mark.parametrize(("how", "product"), [("relu", "mm"), ("softmax", "addmm")])
def test_a_bias_goes_to_loops_and_not_to_sums(how: str, product: str) -> None:
    assert names(Activated(how), torch.zeros(32, 64))[0] == product


class Kept(Activated):
    """A module in which the backward pass reads the product."""

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.linear(x)).mean()


def test_a_product_that_leaves_the_graph_keeps_its_bias() -> None:
    step = trace(Kept("gelu"), (torch.zeros(32, 64),), phase="training", optimizer=None)
    assert fused(step, H200).trace.ops[0].name == "aten.addmm.default"
    assert names(Kept("gelu"), torch.zeros(32, 64))[0] == "mm"


class Padded(nn.Module):
    """A product with 4,099 columns, which no fast kernel can load, and gradients of the same
    width."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(1024, 4099, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.head(x)).float().pow(2).mean()


def test_the_operand_of_two_padded_products_is_written_with_zeros() -> None:
    x = torch.zeros(4096, 1024).bfloat16().requires_grad_()
    step = trace(Padded().bfloat16(), (x,), phase="training", optimizer=None)
    compiled = fused(step, H200, profile=learned("h200")).trace
    backward = [op for op in compiled.ops if op.phase == "backward"]
    gradient, wide = 4096 * 4099 * 2, 4096 * 4104 * 2
    (kernel,) = [op for op in backward if "tanh_backward" in op.signature.args.get("ops", "")]
    # one loop computes the gradients of x and of the weight; no kernel copies them
    assert [t.nbytes for t in kernel.outputs] == [gradient, gradient]
    zeros = [op for op in backward if not op.inputs and op.name == "fused.pointwise.default"]
    assert [op.outputs[0].nbytes for op in zeros] == [wide - gradient] * 2  # 5 columns each
    products = [op for op in backward if op.name == "aten.mm.default"]
    assert all(wide in [t.nbytes for t in op.inputs] for op in products)
