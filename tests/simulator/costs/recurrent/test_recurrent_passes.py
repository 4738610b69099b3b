"""Directions, projections, dropout and layouts of recurrent layers, against hand-computed sums."""

from __future__ import annotations

from math import gcd
from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig

# 10 steps, batch 6, 20 inputs, 12 hidden: 60 rows
X = ((10, 6, 20), "float16")
STATE = ((2, 6, 12), "float16")


def rnn(back: bool = False, dtype: str = "float16", **more: Any) -> tuple[Work, ...]:
    args: dict[str, Any] = {"weight_stride0": 4, "mode": 2, "hidden_size": 12, "train": True}
    name = "aten._cudnn_rnn_backward.default" if back else "aten._cudnn_rnn.default"
    inputs: dict[str, Any] = {"input": (X[0], dtype), "hx": (STATE[0], dtype)}
    inputs |= {name: more.pop(name) for name in ("input", "grad_output", "weight") if name in more}
    out = ((10, 6, 12), dtype)
    return launched(sig(name, out, None, args | more, **inputs))


def products(works: tuple[Work, ...], family: str) -> list[tuple[int, int, int]]:
    return [(w.dims["m"], w.dims["n"], w.dims["k"]) for w in works if w.family == family]


def test_defaults_are_one_layer_in_one_direction_with_biases() -> None:
    product, recurrence = rnn(weight_stride0=4)
    assert (product.family, recurrence.family) == ("rnn_input", "rnn")
    # x [60, 20], W [48, 20], two biases of 48, 2 bytes each
    assert product.read_bytes == 2 * (60 * 20 + 48 * 20 + 2 * 48)
    # two weight matrices and no biases
    unbiased, _ = rnn(weight_stride0=2)
    assert unbiased.read_bytes == 2 * (60 * 20 + 48 * 20)
    assert [w.family for w in rnn(back=True, weight_stride0=2)].count("reduction") == 0
    assert [w.family for w in rnn(back=True)].count("reduction") == 1


@pytest.mark.parametrize(("mode", "kind", "gates"), [
    (0, "relu", 1), (1, "tanh", 1), (2, "lstm", 4), (3, "gru", 3),
])  # fmt: skip
def test_each_gate_takes_an_exponential(mode: int, kind: str, gates: int) -> None:
    product, recurrence = rnn(mode=mode)
    assert recurrence.dims["kind"] == kind
    assert product.dims["n"] == gates * 12
    # h [60, 12] @ [12, gates·12]
    assert recurrence.flops == 2 * 60 * 12 * gates * 12
    # 10 instructions per row and unit, for each gate and once more
    assert recurrence.instructions == 10 * 60 * 12 * (gates + 1)
    # training writes h, the gates, and c for an LSTM
    assert recurrence.write_bytes == 2 * 60 * (12 + gates * 12 + (12 if kind == "lstm" else 0))
    backward = next(w for w in rnn(back=True, mode=mode) if w.family == "rnn")
    # reads the above, the gradient of h, and W_hh; writes the gradients of the gates
    assert backward.read_bytes == 2 * (
        60 * (gates * 12 + (12 if kind == "lstm" else 0) + 12) + gates * 12 * 12
    )
    assert backward.write_bytes == 2 * 60 * gates * 12


def test_a_projection_narrows_the_state() -> None:
    """proj_size 8: W_hh is [48, 8] and the projection [12, 8]."""
    _, first, second, _ = rnn(proj_size=8, num_layers=2, train=False)
    assert first.dims["projection"] == 8
    # (48·8 + 12·8) = 480 weights, each multiplied for each of 60 rows
    assert first.flops == 2 * 60 * 480
    # 60·48 gates and 480 weights; writes 60·8 of h
    assert (first.read_bytes, first.write_bytes) == (2 * (60 * 48 + 480), 2 * 60 * 8)
    # the second layer's inputs are 8 wide
    assert (second.dims["m"], second.dims["n"], second.dims["k"]) == (60, 48, 8)
    # the gradient of W_hh is [48, 8]
    weights = products(rnn(back=True, proj_size=8), "gemm")
    assert weights == [(48, 20, 60), (48, 8, 6), (48, 8, 54)]


def test_the_backward_pass_of_both_directions_adds_their_input_gradients() -> None:
    """Two layers, the last one first; in each layer the reversed direction first, and after the
    forward direction the sum of both gradients: 60·24 elements in the second layer, 60·20 in the
    first."""
    works = rnn(back=True, num_layers=2, bidirectional=True, grad_output=((10, 6, 24), "float16"))
    # zeros for the missing gradients of h and c: 2·6·12 elements of 2 bytes
    assert [w.write_bytes for w in works[:2]] == [288, 288]
    body = works[2:12]
    assert [w.family for w in body] == ["rnn", "rnn_input", "rnn", "rnn_input", "pointwise"] * 2
    assert [w.dims["reverse"] for w in body if w.family == "rnn"] == [True, False] * 2
    # the gradient of the inputs: gates [60, 48] @ W_ih [48, inputs]
    assert products(body, "rnn_input") == [(60, 24, 48)] * 2 + [(60, 20, 48)] * 2
    second, first = (w for w in body if w.family == "pointwise")
    for added, elements in ((second, 60 * 24), (first, 60 * 20)):
        assert (added.read_bytes, added.write_bytes) == (2 * 2 * elements, 2 * elements)
        assert added.dims["inputs"] == 2
    # four sums of biases, then three products for the weights of each layer and direction
    assert [w.family for w in works[12:]] == ["reduction"] * 4 + ["gemm"] * 12
    # without gradients of the inputs, the first layer's four kernels for them are left out
    masked = rnn(
        back=True, num_layers=2, bidirectional=True, output_mask=[False, True, True, False]
    )
    assert [w.family for w in masked[2:]] == [
        "rnn", "rnn_input", "rnn", "rnn_input", "pointwise", "rnn", "rnn",
    ]  # fmt: skip


def test_the_gradients_of_h_and_c_that_are_given_are_not_filled() -> None:
    args = {"weight_stride0": 4, "mode": 2, "hidden_size": 12, "train": True}
    name, out = "aten._cudnn_rnn_backward.default", ((10, 6, 12), "float16")
    given = sig(name, out, None, args, input=X, hx=STATE, grad_hy=STATE)
    assert [w.family for w in launched(given)].count("fill") == 1
    both = sig(name, out, None, args, input=X, hx=STATE, grad_hy=STATE, grad_cy=STATE)
    assert [w.family for w in launched(both)].count("fill") == 0
    # a GRU has no c; a call without a first state has nothing to fill
    assert [w.family for w in rnn(back=True, mode=3)].count("fill") == 1
    stateless = sig(name, out, None, args, input=X, hx=[])
    assert [w.family for w in launched(stateless)].count("fill") == 0


def test_dropout_covers_both_directions_between_layers() -> None:
    """Three layers, two directions: 60·24 elements after the first and the second layer."""
    works = rnn(num_layers=3, bidirectional=True, dropout=0.25)
    families = [w.family for w in works]
    layer = ["rnn_input", "rnn"] * 2
    assert families == [*layer, "pointwise", *layer, "pointwise", *layer]
    for dropped in (w for w in works if w.family == "pointwise"):
        # a comparison and a product per element
        assert (dropped.read_bytes, dropped.write_bytes, dropped.flops) == (2880, 2880, 2 * 1440)
    back = rnn(back=True, num_layers=3, dropout=0.25)
    # these kernels precede the recurrences of the second and the first layer
    assert [w.family for w in back[2:10]] == [
        "rnn", "rnn_input", "pointwise", "rnn", "rnn_input", "pointwise", "rnn", "rnn_input",
    ]  # fmt: skip
    assert back[4].read_bytes == 2 * 60 * 12
    assert [w.family for w in rnn(num_layers=3)].count("pointwise") == 0


def test_float64_computes_on_vector_lanes_and_float32_in_tf32() -> None:
    assert {(w.engine, w.dtype) for w in rnn(dtype="float64")} == {("vector", "float64")}
    assert {(w.engine, w.dtype) for w in rnn(dtype="float32")} == {("tensor", "tf32")}
    assert {(w.engine, w.dtype) for w in rnn(dtype="bfloat16")} == {("tensor", "bfloat16")}


def test_products_are_aligned_by_the_rows_of_their_operands() -> None:
    """x and W_ih have rows of 20 elements, 40 bytes, which are aligned to 8. The gates have rows of
    48, 96 bytes, aligned to 16. The gradient of the inputs reads rows of W_ih, again 20 elements;
    the gradient of W_ih reads the gates' 48 and x's 20. A state of 12 is 24 bytes, aligned to 8."""
    product, _ = rnn()
    assert product.dims["align_bytes"] == gcd(16, 40, 96) == 8
    assert (product.dims["transa"], product.dims["transb"]) == (False, True)
    wide, _ = rnn(input=((10, 6, 24), "float16"))
    assert wide.dims["align_bytes"] == 16
    odd, _ = rnn(input=((10, 6, 21), "float16"))
    assert odd.dims["align_bytes"] == 2
    weights = [w for w in rnn(back=True) if w.family == "gemm"]
    assert [w.dims["align_bytes"] for w in weights] == [8, 8, 8]
    assert {(w.dims["transa"], w.dims["transb"]) for w in weights} == {(True, False)}


def test_a_single_step_has_no_others_in_the_gradient_of_its_weights() -> None:
    weights = products(rnn(back=True, input=((1, 6, 20), "float16")), "gemm")
    assert weights == [(48, 20, 6), (48, 12, 6)]


def test_biases_are_summed_over_all_steps() -> None:
    (work,) = [w for w in rnn(back=True) if w.family == "reduction"]
    # 60 rows of 48 gate gradients; both biases get the sum
    assert (work.read_bytes, work.write_bytes) == (2 * 60 * 48, 2 * 2 * 48)
    assert work.dims == {
        "variant": "recurrent", "elements": 48, "steps": 60, "gates": 4, "item_bytes": 2,
    }  # fmt: skip


def batch_first(x: Tensor, back: bool = False) -> list[str]:
    return [w.family for w in rnn(back=back, batch_first=True, input=x) if w.family == "copy"]


def test_only_batches_whose_steps_do_not_come_first_in_memory_are_copied() -> None:
    # [6, 10, 20] is contiguous by batch; stored by step, it is a transposed view of the layout that
    # cuDNN requires
    assert batch_first(Tensor((6, 10, 20), "float16", (200, 20, 1))) == ["copy"]
    assert batch_first(Tensor((6, 10, 20), "float16", (20, 120, 1))) == []
    assert batch_first(Tensor((1, 10, 20), "float16", (200, 20, 1))) == []
    assert batch_first(Tensor((6, 1, 20), "float16", (20, 20, 1))) == []
    # the backward pass copies the input for the recurrences, and again for the weights
    assert batch_first(Tensor((6, 10, 20), "float16", (200, 20, 1)), back=True) == ["copy"] * 2
    # packed rows have no batch to move
    packed = rnn(batch_first=True, batch_sizes=[4, 3, 3], input=((10, 20), "float16"))
    assert [w.family for w in packed] == ["rnn_input", "rnn"]
    product, recurrence = packed
    assert product.dims["m"] == 10
    assert (recurrence.dims["b"], recurrence.dims["steps"]) == (4, 3)


def test_the_gradient_of_the_weights_starts_from_zeros() -> None:
    weights = [((48, 20), "float16"), ((48, 12), "float16")]
    works = rnn(back=True, weight=weights)
    # 48·(20 + 12) elements of 2 bytes, after the zeros of h and c
    assert [w.write_bytes for w in works if w.family == "fill"] == [288, 288, 3072]


def test_flattened_weights_are_zeros_then_copies() -> None:
    weights = [((48, 20), "float32"), ((48, 12), "float32")]
    out = ((48 * 32,), "float32")
    op = sig("aten._cudnn_rnn_flatten_weight.default", out, weight_arr=weights)
    fill, first, second = launched(op)
    assert (fill.family, fill.write_bytes) == ("fill", 4 * 48 * 32)
    assert [(w.read_bytes, w.write_bytes) for w in (first, second)] == [
        (4 * 48 * 20, 4 * 48 * 20),
        (4 * 48 * 12, 4 * 48 * 12),
    ]
