from __future__ import annotations

import pytest
import torch

from simulator.costs.compiled_traits import TRAITS, Traits, traits
from simulator.fusion.lowering.arithmetic import ROWS, SLOTS
from simulator.kernel_source.element import RULES


@pytest.mark.parametrize("name", TRAITS)
def test_every_row_is_an_op_of_torch(name: str) -> None:
    packet, _, overload = name.partition(".")
    op = getattr(torch.ops.aten, packet)
    assert not overload or overload in op.overloads()


def test_the_rows_of_three_ops() -> None:
    assert TRAITS["exp"] == Traits(
        slots=9, triton="tl.exp({self})", recompute="listed", autocast="float32"
    )
    assert TRAITS["mm"] == Traits(recompute="intensive", autocast="low")
    assert TRAITS["native_layer_norm"] == Traits(row_slots=(9, 24), autocast="float32")


def test_a_row_is_found_by_the_overload_that_it_names() -> None:
    assert traits("aten.cumsum.default") is TRAITS["cumsum"]
    assert traits("aten.sum.dim_IntList") is TRAITS["sum.dim_IntList"]
    assert traits("aten.cumsum.out") is None


def test_each_table_of_compiled_mode_comes_from_the_rows() -> None:
    assert (SLOTS["tanh"], ROWS["_softmax"]) == (30, (20, 50))
    assert {name for name, row in TRAITS.items() if row.triton} <= RULES.keys()
