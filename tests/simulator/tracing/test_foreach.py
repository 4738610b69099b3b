"""Updates of lists of tensors, which return nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from simulator.errors import InputError
from simulator.tracing import trace_call

UPDATES: dict[str, Callable[[Any, Any], None]] = {
    "aten._foreach_addcdiv_.ScalarList": lambda x, y: torch._foreach_addcdiv_(
        x, y, y, [1.0] * len(x)
    ),
    "aten._foreach_addcmul_.Scalar": lambda x, y: torch._foreach_addcmul_(x, y, y, value=2.0),
    "aten._foreach_lerp_.Scalar": lambda x, y: torch._foreach_lerp_(x, y, 0.5),
}


def floats(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [torch.randn(shape) for shape in shapes]


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("other", [((4, 3), (5,)), ((1, 3), (1,))])
def test_an_update_is_one_op_without_results(name: str, other: Any) -> None:
    def make() -> Callable[[], None]:
        x, y = floats((4, 3), (5,)), floats(*other)
        return lambda: UPDATES[name](x, y)

    (op,) = trace_call(make).ops
    assert (op.name, len(op.outputs)) == (name, 0)
    assert op.inputs[0].shape == (4, 3)


@pytest.mark.parametrize("name", UPDATES)
def test_lists_that_torch_refuses_raise_its_error(name: str) -> None:
    for x, y in ((floats((4, 3)), floats((2, 3))), (floats((4, 3), (5,)), floats((4, 3)))):
        with pytest.raises(RuntimeError) as real:
            UPDATES[name](x, y)
        with pytest.raises(InputError) as traced:
            trace_call(lambda x=x, y=y: lambda: UPDATES[name](x, y))
        assert f"RuntimeError: {real.value}: expected a call " in str(traced.value)
