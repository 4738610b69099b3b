"""The counts of the host's work for a hand-made step, without torch."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.hardware.host import COUNTS, host
from simulator.hardware.host_counts import coldness, counts, tail_s
from simulator.records import Op, Role, Signature, Storage, Tensor, Trace
from simulator.records.op import Phase

X, HOST = Tensor((4,), "float32", (1,)), Tensor((4,), "float32", (1,), "cpu")


def op(
    name: str, phase: Phase = "forward", inputs: int = 1, outputs: int = 1, on: Tensor = X
) -> Op:
    """A call that follows 3 instructions, 2 attribute look-ups, a C call and an autograd node."""
    signature = Signature(name, (on,) * inputs, (on,) * outputs, ("self",) * inputs, {})
    return Op(signature, "", phase, autograd_nodes=1, instructions=3, attributes=2, c_calls=1)


STEP = (
    # op, number of launches, number of ops that it calls
    (op("aten.mm.default"), 1, 0),
    (op("aten.view.default"), 0, 0),
    (op("aten.split.Tensor", outputs=3), 0, 0),
    (op("aten.cat.default", inputs=3), 1, 0),
    (op("aten.convolution.default"), 3, 1),
    (op("aten.native_layer_norm.default", outputs=3), 1, 0),
    (op("aten._scaled_dot_product_flash_attention.default"), 1, 0),
    (op("aten.add.Tensor", on=HOST), 0, 0),
    (op("aten._cudnn_rnn.default", "backward"), 5, 0),
    (op("aten.convolution.default", "backward"), 1, 0),
    (op("aten._foreach_norm.Scalar", "optimizer", inputs=2), 1, 0),
    (op("aten._fused_adamw_.default", "optimizer", inputs=4), 1, 0),
)
EXPECTED = {
    "op":               [0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1],
    "library_op":       [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    "convolution_op":   [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0],
    "norm_op":          [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0],
    "attention_op":     [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
    # the second convolution comes after 4 other kinds
    "cold_op":          [1, 0, 0, 1, 2, 1, 1, 0, 1, 1, 1, 1],
    "view":             [0, 1, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0],
    "cold_view":        [0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    "cpu_op":           [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
    "recurrent_call":   [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    "recurrent_kernel": [0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0],
    "recurrent_weight": [0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0],
    # of the first convolution's three kernels, one belongs to the op that it calls
    "further_kernel":   [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
    "trained_convolution": [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0],
    "gradient":         [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0],
    "foreach_tensor":   [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 4],
    "forward_node":     [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1],
    "backward_node":    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0],
    "backward_call":    [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    "optimizer_call":   [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0],
    "instruction":      [3] * 12, "attribute": [2] * 12, "c_call": [1] * 12,
    "cold_instruction": [0] * 12, "python_call": [0] * 12, "module_call": [0] * 12,
}  # fmt: skip


def step(ops: list[Op]) -> Trace:
    roles: tuple[Role, ...] = ("gradient", "weight", "gradient")
    storages = [Storage(4, -1, None, role) for role in roles]
    return Trace(ops, storages, "training", None, 1, None, 0, 0, [], "", "")


def test_the_work_of_each_kind_of_op() -> None:
    ops, launches, inner = zip(*STEP, strict=True)
    table = counts(step(list(ops)), np.array(launches), np.array(inner))
    by_name = dict(zip(COUNTS[:-1], table.T.tolist(), strict=True))
    assert by_name == EXPECTED


def test_an_op_of_the_host_that_launches_is_neither() -> None:
    # an op without tensors counts as the GPU's: `aten.empty`, or the seed of a random number
    ops = [op("aten.add.Tensor", on=HOST), op("aten.seed.default", inputs=0, outputs=0)]
    table = counts(step(ops), np.array([1, 0]), np.array([0, 0]))
    columns = dict(zip(COUNTS[:-1], table.T.tolist(), strict=True))
    assert columns["op"] == [0, 0] and columns["cpu_op"] == [1, 0] and columns["view"] == [0, 1]


def test_coldness_counts_the_kinds_since_the_last_call() -> None:
    names = ["a", "b", "c", "d", "e", "f"]
    called = "a a b a b c d a e b f c f"
    # kinds called since the last call of the same kind, at most four and divided by four: none
    # before the second a; one before the second b and the third a; b, c and d before the fourth a;
    # four before the third b, and five, which count as four, before the second c
    cold = [1, 0, 1, 0.25, 0.25, 1, 1, 0.75, 1, 1, 1, 1, 0.25]
    rows = [names.index(each) for each in called.split()]
    assert coldness(names, rows).tolist() == cold


def test_library_calls_leave_out_python_autograd_views_and_lists() -> None:
    xeon = host("xeon-h100")
    calls = ("op", "library_op", "convolution_op", "norm_op", "attention_op", "cold_op", "cpu_op",
             "recurrent_call", "recurrent_kernel", "recurrent_weight", "further_kernel",
             "trained_convolution")  # fmt: skip
    table = np.eye(len(COUNTS) - 1)  # one op for each kind of work
    seconds = dict(zip(COUNTS[:-1], xeon.library_call_s(table).tolist(), strict=True))
    assert seconds == {n: xeon.seconds[n] if n in calls else 0.0 for n in COUNTS[:-1]}
    whole = dict(zip(COUNTS[:-1], xeon.op_s(table).tolist(), strict=True))
    assert whole == {n: xeon.seconds[n] for n in COUNTS[:-1]}


def test_python_after_the_last_op() -> None:
    xeon = host("xeon-h100")
    ended = Trace([], [], "training", None, 1, None, 0, 0, [], "", "", tail_python_calls=2,
                  tail_instructions=30, tail_attributes=5)  # fmt: skip
    seconds = xeon.seconds
    expected = 2 * seconds["python_call"] + 30 * seconds["instruction"] + 5 * seconds["attribute"]
    assert tail_s(ended, xeon) == pytest.approx(expected, rel=1e-12)
