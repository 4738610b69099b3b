"""Calls that the host waits for, as PyTorch's CUDA code does."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import COSTS, DATA_DEPENDENT, WAITS, Work, cost
from simulator.hardware.waits import may_wait, syncs, uncapturable
from simulator.records import Signature, Tensor
from simulator.tracing.python_code.user_code import graph_break_reason
from simulator.whatif.edits.waiting import unwaited

GPU = Tensor((8,), "float32", (1,))
HOST = Tensor((8,), "float32", (1,), "cpu")
MASK, BYTES = (Tensor((8,), dtype, (1,)) for dtype in ("bool", "uint8"))
INDEX = Tensor((3,), "int64", (1,))
HOST_INDEX = Tensor((3,), "int64", (1,), "cpu")
NUMBER, HOST_NUMBER = Tensor((), "float32", ()), Tensor((), "float32", (), "cpu")
TWO, EMPTY, HOST_EMPTY = (
    Tensor((n,), "float32", (1,), device) for n, device in ((2, "cpu"), (0, "cuda"), (0, "cpu"))
)
MASK2 = Tensor((8,), "bool", (1,))

FILL, PUT = "aten.masked_fill.Tensor", "aten.index_put_.default"
GET, REPEAT, HISTOGRAM = "aten.index.Tensor", "aten.repeat_interleave.Tensor", "aten.histc.default"
COPY, COPY_ = "aten._to_copy.default", "aten.copy_.default"


def call(
    name: str, out: Tensor, args: dict[str, Any], **inputs: Tensor | list[Tensor]
) -> Signature:
    names: list[str] = []
    tensors: list[Tensor] = []
    for key, value in inputs.items():
        for one in value if isinstance(value, list) else [value]:
            names.append(key)
            tensors.append(one)
    return Signature(name, tuple(tensors), (out,), tuple(names), args)


@pytest.mark.parametrize(
    ("signature", "waits"),
    [
        (call("aten._local_scalar_dense.default", NUMBER, {}, self=GPU), True),
        (call("aten._local_scalar_dense.default", HOST_NUMBER, {}, self=HOST), False),
        (call("aten.normal.Tensor_Tensor", GPU, {}, mean=GPU, std=GPU), True),
        (call("aten.normal.Tensor_Tensor", GPU, {}, mean=HOST, std=HOST), False),
        (call("aten.add.Tensor", GPU, {}, self=GPU, other=GPU), False),
        (call(REPEAT, INDEX, {}, repeats=INDEX), True),
        (call(REPEAT, INDEX, {"output_size": 3}, repeats=INDEX), False),
        # from 0 to 0: the host reads the minimum and the maximum
        (call(HISTOGRAM, GPU, {}, self=GPU), True),
        (call(HISTOGRAM, GPU, {"min": 2, "max": 2}, self=GPU), True),
        (call(HISTOGRAM, GPU, {"min": 0, "max": 1}, self=GPU), False),
        (call(HISTOGRAM, GPU, {"max": 1}, self=GPU), False),
        (call(FILL, GPU, {}, self=GPU, mask=MASK, value=NUMBER), True),
        (call(FILL, GPU, {}, self=GPU, mask=MASK, value=HOST_NUMBER), False),
        (call("aten.masked_fill.Scalar", GPU, {"value": 1.0}, self=GPU, mask=MASK), False),
        (call(GET, GPU, {}, self=GPU, indices=INDEX), False),
        (call(GET, GPU, {}, self=GPU, indices=HOST_INDEX), True),  # the index is copied to the GPU
        (call(GET, GPU, {}, self=GPU, indices=[INDEX, HOST_INDEX]), True),
        (call(GET, GPU, {}, self=GPU, indices=MASK), True),
        (call(GET, GPU, {}, self=GPU, indices=BYTES), True),
        (call(GET, GPU, {}, self=GPU, indices=[INDEX, MASK]), True),  # one of them is a mask
        (call(PUT, GPU, {}, self=GPU, indices=INDEX, values=GPU), False),
        (call(PUT, GPU, {}, self=GPU, indices=MASK, values=HOST_NUMBER), False),  # a fill
        (call(PUT, GPU, {}, self=GPU, indices=MASK, values=NUMBER), True),
        (call(PUT, GPU, {}, self=GPU, indices=MASK, values=TWO), True),
        (call(PUT, GPU, {}, self=GPU, indices=[MASK, MASK2], values=HOST_NUMBER), True),
        (call(PUT, GPU, {}, self=GPU, indices=HOST_INDEX, values=HOST_NUMBER), True),
        (call(PUT, GPU, {}, self=GPU, indices=INDEX, values=HOST_NUMBER), False),
        (call(COPY, HOST, {}, self=GPU), True),
        (call(COPY_, HOST, {"non_blocking": True}, self=HOST, src=GPU), True),  # pageable memory
        (call(COPY, GPU, {}, self=HOST), True),
        (call(COPY, GPU, {"non_blocking": True}, self=HOST), False),
        (call(COPY, HOST, {"non_blocking": True}, self=GPU), False),  # the new tensor is pinned
        (call(COPY, HOST, {"non_blocking": False}, self=GPU), True),
        (call(COPY_, GPU, {"non_blocking": False}, self=GPU, src=HOST), True),
        (call(COPY_, GPU, {}, self=GPU, src=GPU), False),
        (call(COPY, HOST_EMPTY, {}, self=EMPTY), False),  # no bytes to copy
    ],
)
def test_the_host_waits_where_it_reads_data(signature: Signature, waits: bool) -> None:
    assert syncs(signature) is waits
    assert may_wait(signature.name) or not waits


@pytest.mark.parametrize(
    ("signature", "refused"),
    [
        (call(COPY, GPU, {"non_blocking": True}, self=HOST), True),  # memory that is not pinned
        (call(COPY, GPU, {}, self=HOST), True),
        (call(COPY, GPU, {}, self=GPU), False),
        (call(COPY, HOST_EMPTY, {}, self=EMPTY), False),
        (call("aten.nonzero.default", INDEX, {}, self=GPU), True),
        (call("aten.relu.default", GPU, {}, self=GPU), False),
    ],
)
def test_graphs_capture_no_wait_and_no_copy_of_unpinned_memory(
    signature: Signature, refused: bool
) -> None:
    assert uncapturable(signature) is refused


@pytest.mark.parametrize(("name", "may"), [
    ("aten.nonzero.default", True), ("aten._linalg_svd.default", True), (PUT, True), (GET, True),
    (FILL, True), (COPY_, True), (HISTOGRAM, True), ("aten.add.Tensor", False),
    ("aten.index_select.default", False),
])  # fmt: skip
def test_some_calls_of_an_op_may_wait(name: str, may: bool) -> None:
    assert may_wait(name) is may


def test_the_cost_of_an_op_is_enough_for_its_wait() -> None:
    name, other = "aten.of_this_test.default", "aten.of_this_test.out"

    @cost(name, waits=True, data_dependent=True)
    @cost(other, waits=lambda op: op.arg("eager", False))
    def of_this_test(op: Signature) -> tuple[Work, ...]:
        return ()

    try:
        assert may_wait(name) and may_wait(other)
        assert [syncs(call(name, out, {}, self=out)) for out in (GPU, HOST)] == [True, False]
        reason = graph_break_reason(call(name, GPU, {}, self=GPU))
        assert reason == "the size of the result of of_this_test depends on data"
        some = [call(other, GPU, {"eager": eager}, self=GPU) for eager in (True, False)]
        assert [syncs(signature) for signature in some] == [True, False]
        assert graph_break_reason(some[0]) == ""
        assert COSTS[name] is COSTS[other] is of_this_test
    finally:
        for each in (name, other):
            del COSTS[each], WAITS[each]
        DATA_DEPENDENT.discard(name)


def test_an_op_that_depends_on_data_waits() -> None:
    with pytest.raises(ValueError, match=r"of_this_test\.default depends on data: expected waits"):
        cost("aten.of_this_test.default", data_dependent=True)(lambda op: ())


def test_every_wait_of_a_modelled_op_can_be_removed() -> None:
    modelled = {name for name in WAITS if name in COSTS}
    assert {"aten._grouped_mm.default", "aten.nonzero.default", GET, COPY_} <= modelled
    assert all(COSTS[f"unwaited.{name.partition('.')[2]}"] is unwaited for name in modelled)
