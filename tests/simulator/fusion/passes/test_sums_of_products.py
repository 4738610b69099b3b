"""Products as sums of products have the results of the products."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from simulator.fusion.passes.dot_products import dot_products
from simulator.fusion.passes.joint_graph import JointGraph
from simulator.records import Tensor as Record
from simulator.tracing import trace

SHAPES = {
    "row": ((1, 5), (5, 3)),
    "column": ((4, 5), (5, 1)),
    "row of a batch": ((2, 1, 5), (2, 5, 3)),
    "column of a batch": ((2, 4, 5), (2, 5, 1)),
}


class Product(nn.Module):
    """A product whose second operand is column-major if it is given transposed."""

    def __init__(self, transposed: bool) -> None:
        super().__init__()
        self.transposed = transposed

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return a @ (b.mT if self.transposed else b)


def as_recorded(values: Tensor, record: Record) -> Tensor:
    """The elements of a tensor's memory as an op sees them."""
    return values.as_strided(record.shape, record.stride)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_the_sum_of_the_products_is_the_product(name: str, transposed: bool) -> None:
    of_a, of_b = SHAPES[name]
    a, b = torch.rand(of_a), torch.rand(of_b)
    b = b.mT.contiguous() if transposed else b
    traced = trace(Product(transposed), (a, b), phase="inference")
    (at,) = [
        i for i, op in enumerate(traced.ops) if op.name in ("aten.mm.default", "aten.bmm.default")
    ]
    after = dot_products(JointGraph(traced))
    multiply, total = after.trace.ops[at : at + 2]
    assert (multiply.name, total.name) == ("aten.mul.Tensor", "aten.sum.dim_IntList")
    left, right = (as_recorded(v, t) for v, t in zip((a, b), multiply.inputs, strict=True))
    products = left * right
    assert products.shape == multiply.outputs[0].shape == total.inputs[0].shape
    expected = a @ (b.mT if transposed else b)
    assert torch.allclose(products.sum(total.signature.args["dim"]), expected, atol=1e-6)
    # the columns of a column-major operand are summed along memory
    along = traced.ops[at].inputs[1].stride[-2] == 1
    assert total.signature.args["dim"] == [products.dim() - (1 if along else 2)]
    # the products lie between the two ops alone
    between = after.trace.storages[multiply.storages[-1]]
    assert between.nbytes == 4 * products.numel()
    assert (between.born, between.freed) == (at, at + 2)
    assert list(after.source) == [*range(at + 1), *range(at, len(traced.ops))]
    assert total.outputs[0] == traced.ops[at].outputs[0]


def test_products_of_two_rows_and_columns_remain() -> None:
    traced = trace(Product(False), (torch.rand(2, 5), torch.rand(5, 2)), phase="inference")
    joint = JointGraph(traced)
    assert dot_products(joint) is joint
