"""Ops of a decomposed training step: their names, operands and storages, against hand-computed
ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.fusion.passes.functional import functional
from simulator.fusion.passes.joint_decompositions import decompose
from simulator.records import Op
from simulator.records import Tensor as Shape
from simulator.tracing import trace

F32, BF16 = torch.float32, torch.bfloat16


class After(nn.Module):
    """A function of a product [4, 8]."""

    def __init__(self, function: Callable[[Tensor], Tensor], dtype: torch.dtype) -> None:
        super().__init__()
        self.function, self.w = function, nn.Parameter(torch.zeros(8, 8, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x @ self.w)


class Part(NamedTuple):
    """An op: its name; for each operand, the op before the one that wrote it ("x" if it is older
    than the decomposed op); dtype and size of the result."""

    name: str
    reads: tuple[str, ...]
    dtype: str
    numel: int


def parts(function: Callable[[Tensor], Tensor], phase: str, dtype: torch.dtype) -> list[Part]:
    """The parts of the ops that are decomposed in a phase."""
    x = torch.zeros(4, 8, dtype=dtype)
    before = functional(trace(After(function, dtype), (x,), phase="training", optimizer=None))
    after = decompose(before)
    assert len(after.source) == len(after.trace.ops)
    changed = {id(op.signature) for op in before.ops}
    decomposed: list[Op] = [
        op for op in after.trace.ops if id(op.signature) not in changed and op.phase == phase
    ]
    maker = {op.storages[-1]: op.name.split(".")[1] for op in decomposed}
    # each fresh storage lives from the op that writes it to the last that reads it
    for number in range(len(before.storages), len(after.trace.storages)):
        touching = [i for i, op in enumerate(after.trace.ops) if number in op.storages]
        storage = after.trace.storages[number]
        assert (storage.born, storage.freed) == (touching[0], touching[-1] + 1)
        assert storage.nbytes == _of(after.trace.ops[touching[0]], number).nbytes
    return [
        Part(
            op.name.split(".")[1],
            tuple(maker.get(s, "x") for s in op.storages[: len(op.inputs)]),
            op.outputs[0].dtype,
            op.outputs[0].numel,
        )
        for op in decomposed
    ]


def _of(op: Op, storage: int) -> Shape:
    return (*op.inputs, *op.outputs)[op.storages.index(storage)]


@pytest.mark.parametrize(("dim", "rows"), [(-1, 4), (1, 4), (0, 8)])
def test_a_softmax_is_a_maximum_a_sum_and_loops(dim: int, rows: int) -> None:
    assert parts(lambda y: F.softmax(y, dim), "forward", F32) == [
        Part("amax", ("x",), "float32", rows),
        Part("sub", ("x", "amax"), "float32", 32),
        Part("exp", ("sub",), "float32", 32),
        Part("sum", ("exp",), "float32", rows),
        Part("div", ("exp", "sum"), "float32", 32),
    ]


def test_the_result_of_a_softmax_has_the_storage_that_it_had() -> None:
    row = trace(After(lambda y: F.softmax(y, -1), F32), (torch.zeros(4, 8),), phase="training")
    (result,) = (op.storages[-1] for op in row.ops if op.name == "aten._softmax.default")
    (divided,) = (op for op in decompose(row).trace.ops if op.name == "aten.div.Tensor")
    assert divided.storages[-1] == result


def test_a_logarithm_of_a_softmax_in_half_precision_is_computed_in_full_and_cast() -> None:
    out = [
        Part("amax", ("x",), "float32", 8),
        Part("sub", ("x", "amax"), "float32", 32),
        Part("exp", ("sub",), "float32", 32),
        Part("sum", ("exp",), "float32", 8),
        Part("log", ("sum",), "float32", 8),
        Part("sub", ("sub", "log"), "float32", 32),
        Part("_to_copy", ("sub",), "bfloat16", 32),
    ]
    assert parts(lambda y: F.log_softmax(y, 0), "forward", BF16) == out


def test_a_relu_leaves_a_mask_of_a_byte_per_element() -> None:
    def function(y: Tensor) -> Tensor:
        return F.relu(y) * 1.5

    assert parts(function, "forward", BF16) == [Part("le", ("x",), "bool", 32)]
    # the parts are the gradient and the mask, which the forward pass computed
    assert parts(function, "backward", BF16) == [Part("masked_fill", ("x", "x"), "bfloat16", 32)]


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_a_clamp_compares_its_input_with_both_bounds(dtype: torch.dtype) -> None:
    name = str(dtype).removeprefix("torch.")
    cast = [Part("_to_copy", ("x",), "float32", 32)] if dtype == BF16 else []
    compared = "_to_copy" if dtype == BF16 else "x"
    assert parts(lambda y: F.hardtanh(y, -2.0, 3.0), "backward", dtype) == [
        *cast,
        Part("le", (compared,), "bool", 32),
        Part("ge", (compared,), "bool", 32),
        Part("bitwise_or", ("le", "ge"), "bool", 32),
        Part("masked_fill", ("x", "bitwise_or"), name, 32),
    ]


@pytest.mark.parametrize(("window", "dilation", "dtype"), [
    (2, 1, "int8"), (5, 1, "int8"), (6, 1, "int64"),  # windows of 25 elements, and of 36
    ((5, 5), 1, "int8"), ((2, 13), 1, "int64"), ((1, 25), 1, "int8"),
    (2, 2, "int64"), (2, (1, 2), "int64"),
])  # fmt: skip
def test_places_of_maxima_are_bytes_within_windows_of_25(
    window: int | tuple[int, int], dilation: int | tuple[int, int], dtype: str
) -> None:
    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.zeros(32))

        def forward(self, x: Tensor) -> Tensor:
            return F.max_pool2d(x * self.w, window, dilation=dilation)

    x = torch.zeros(2, 4, 32, 32)
    row = decompose(trace(Pooled(), (x,), phase="training", optimizer=None)).trace
    pool = next(op for op in row.ops if op.name == "aten.max_pool2d_with_indices.default")
    back = next(op for op in row.ops if "max_pool2d_with_indices_backward" in op.name)
    assert pool.outputs[1].dtype == back.signature["indices"].dtype == dtype
    assert pool.outputs[0].dtype == "float32" and pool.storages[-1] in back.storages[:-1]


def test_norms_in_half_precision_read_their_gradient_in_full() -> None:
    def function(y: Tensor) -> Tensor:
        return F.layer_norm(y, (8,)) * 2

    assert [part.name for part in parts(function, "backward", BF16)] == [
        "_to_copy",
        "native_layer_norm_backward",
    ]
    assert parts(function, "backward", F32) == []
