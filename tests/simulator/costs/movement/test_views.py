"""Views and allocations launch nothing."""

from __future__ import annotations

import pytest

from simulator.costs import works
from tests.simulator.costs.conftest import sig


@pytest.mark.parametrize(
    "name",
    ["view.default", "t.default", "transpose.int", "expand.default", "split.Tensor",
     "unbind.int", "detach.default", "empty.memory_format", "as_strided.default", "set_.default"],
)  # fmt: skip
def test_no_launch(name: str) -> None:
    assert works(sig(f"aten.{name}", ((6, 4), "float32"), self=((4, 6), "float32"))) == ()


def test_an_unknown_op_is_not_free() -> None:
    assert works(sig("aten.no_such_op.default", ((1,), "float32"))) is None
