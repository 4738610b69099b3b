"""Chosen ops as one hand-written kernel: hand-computed bytes and arithmetic, and each refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from simulator.errors import InputError
from simulator.fusion.scheduling import by_hand
from simulator.fusion.scheduling.chosen import Chosen, Kernel
from simulator.tracing import trace
from tests.simulator.conftest import Calls
from tests.simulator.costs.conftest import sig


def chosen(function: Callable[..., Any], *args: Tensor, training: bool = False) -> Chosen:
    more = {"phase": "training", "optimizer": "sgd"} if training else {}
    return Chosen(trace(Calls(function), args, **more))  # pyright: ignore[reportArgumentType]


def kernel(at: Chosen, *names: str) -> Kernel:
    """The kernel of the first op of each name."""
    known = [op.name.split(".")[1] for op in at.trace.ops]
    return at.kernel([known.index(name) for name in names])


X = torch.zeros(32, 4)
ALL = 32 * 4 * 4  # bytes


def test_a_chain_reads_its_operands_and_writes_what_others_need() -> None:
    at = chosen(lambda m, x: [(x.exp() + m.b).tanh(), x.cos()], X)
    one = kernel(at, "exp", "add", "tanh")
    assert one.op.name == "fused.pointwise.default"
    # x and the bias, which has four numbers; and the result
    assert [t.nbytes for t in one.op.inputs] == [ALL, 16]
    assert [t.nbytes for t in one.op.outputs] == [ALL]
    assert len(one.inside) == 2  # the exponential and the sum
    assert not one.op.signature.args["generated"]
    # a value that another op also reads is stored as well
    again = chosen(lambda m, x: _twice(x.exp() + m.b), X)
    two = kernel(again, "exp", "add", "tanh")
    assert [t.nbytes for t in two.op.outputs] == [ALL, ALL] and len(two.inside) == 1


def _twice(y: Tensor) -> list[Tensor]:
    return [y.tanh(), y.cos()]


def test_a_row_is_reduced_in_the_kernel_of_its_loops() -> None:
    at = chosen(lambda m, x: torch.softmax(x * 2, -1), torch.zeros(512, 64))
    one = kernel(at, "mul", "_softmax")
    assert one.op.name == "fused.reduction.default"
    args = one.op.signature.args
    assert (args["rows"], args["cols"], args["elements"], args["sums"]) == (512, 64, 512 * 64, 2)
    assert (args["operands"], one.op.signature.read_bytes) == (2, 512 * 64 * 4)


def test_a_product_and_its_sum_are_contracted() -> None:
    at = chosen(lambda m, x: x * x + x, X)
    args = kernel(at, "mul", "add").op.signature.args
    # a multiply-add is 2 FLOPs and one instruction; 2 operands per element; 128 elements on 1,024
    # lanes
    assert (args["flops"], args["instructions"]) == (2 * 128, (1 + 2) * 1024)


def test_a_product_keeps_its_operands_and_takes_the_loops_over_its_result() -> None:
    at = chosen(lambda m, x, y: torch.relu(x @ m.w) + y, X, X.clone())
    one = kernel(at, "mm", "relu", "add")
    # x, w, and the other operand of the sum
    assert [t.nbytes for t in one.op.inputs] == [ALL, 64, ALL]
    assert [t.nbytes for t in one.op.outputs] == [ALL] and one.op.name == "fused.product.default"


@pytest.mark.parametrize(("function", "names", "text"), [
    (lambda m, x: x.exp().tanh(), ("exp",),
     "one op alone exp (op 0): expected two or more; choose others as well"),
    (lambda m, x: x.exp().view(-1).tanh(), ("view",),
     "no op that launches: expected two or more; choose others as well"),
    (lambda m, x: (x.exp() + (x.exp() @ m.w)).tanh(), ("exp", "mm"),
     "no chosen op reads the result of mm (op 2): expected a loop that reads it; choose such a "
     "loop too, or leave the product out"),
    (lambda m, x: (x.exp() @ m.w).tanh(), ("exp", "mm", "tanh"),
     "mm (op 1) reads the result of another chosen op: a library kernel takes its operands from "
     "memory; choose ops that follow it"),
    (lambda m, x: (x @ m.w).sum(-1), ("mm", "sum"),
     "sum (op 1) reduces 32 times 4 elements, mm (op 0) makes 128 elements: an epilogue loops over "
     "the product's elements; leave it out"),
    (lambda m, x: [x.sum(), x.exp(), x[:8].tanh()], ("exp", "tanh"),
     "different shapes: exp (op 1) loops over 128 elements, tanh (op 3) loops over 32 elements; "
     "leave one out"),
    (lambda m, x: x.cumsum(-1).sort(-1)[0].exp(), ("sort", "exp"), "sort (op 1) cannot be fused"),
])  # fmt: skip
def test_sets_that_cannot_be_one_kernel_are_refused_with_their_reason(
    function: Callable[..., Any], names: tuple[str, ...], text: str
) -> None:
    at = chosen(function, X)
    with pytest.raises(InputError) as refused:
        kernel(at, *names)
    assert str(refused.value).startswith(text)


def test_an_op_between_two_chosen_ones_makes_a_cycle() -> None:
    at = chosen(lambda m, x: _around(x.exp(), m.w), X)
    with pytest.raises(InputError) as refused:
        kernel(at, "exp", "add")
    assert str(refused.value) == (
        "a cycle: mm (op 1) is not chosen, but needs exp (op 0), and add (op 2) needs mm (op 1); "
        "choose mm (op 1) too, or a shorter chain"
    )


def _around(y: Tensor, w: Tensor) -> Tensor:
    return y + y @ w


def test_two_products_and_two_phases_are_refused() -> None:
    at = chosen(lambda m, x: ((x @ m.w) @ m.w).relu(), X)
    with pytest.raises(InputError, match=r"two library kernels, mm \(op 0\) and mm \(op 1\)"):
        at.kernel([0, 1, 2])
    trained = chosen(lambda m, x: (x * m.b).exp().mean(), X, training=True)
    phases = [op.phase for op in trained.trace.ops]
    with pytest.raises(InputError, match="the ops belong to backward and forward, with the loss"):
        trained.kernel([0, phases.index("backward")])


def test_a_sum_over_the_whole_gpu_is_refused() -> None:
    at = chosen(lambda m, x: (x * 2).sum(), torch.zeros(2048, 1024))
    with pytest.raises(
        InputError, match=r"the sums of sum \(op 1\) are split over the GPU's units"
    ):
        kernel(at, "mul", "sum")


@pytest.mark.parametrize(("name", "count"), [
    ("_softmax", 2), ("_log_softmax", 2), ("logsumexp", 2), ("native_layer_norm", 2), ("var", 2),
    ("sum", 1), ("amax", 1), ("mean", 1),
])  # fmt: skip
def test_serial_sums_of_a_row(name: str, count: int) -> None:
    """A maximum and a sum; a mean and the squares around it; and one of these alone."""
    x, row = ((4, 64), "float32"), ((4,), "float32")
    out: Any = (x, row, row) if "norm" in name else x if "softmax" in name else row
    overload = "dim_IntList" if name == "sum" else "dim" if name in ("mean", "var") else "default"
    args = {"normalized_shape": [64], "eps": 1e-5} if "norm" in name else {"dim": [-1]}
    args = {"dim": -1} if "softmax" in name else args
    inputs = {"input" if "norm" in name else "self": x}
    op = sig(f"aten.{name}.{overload}", out, None, args, **inputs)
    assert by_hand.sums([op, sig("aten.exp.default", x, self=x)]) == count
