"""Instructions of ops in generated and in hand-written kernels, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import TRAITS
from simulator.fusion.lowering.arithmetic import applied, arithmetic, folded, in_registers
from simulator.records import Signature
from tests.simulator.costs.conftest import sig

X = ((10, 100), "float32")


def draw(**args: Any) -> Signature:
    return sig("aten.bernoulli_.float", X, (0, 0), {"p": 0.1, **args}, self=X)


def test_a_random_number_takes_80_slots_or_50_where_threads_share_rounds() -> None:
    # two more instructions compare and store the number
    assert arithmetic(draw())[1] == 82 * 1000
    assert arithmetic(draw(), by_hand=True)[1] == 52 * 1000


@pytest.mark.parametrize(("name", "slots"), [("gelu", 29), ("gelu_backward", 39)])
def test_a_gelu_by_tanh_has_its_own_slots(name: str, slots: int) -> None:
    inputs = {"self": X} if name == "gelu" else {"grad_output": X, "self": X}
    by_tanh, by_erf = (
        arithmetic(sig(f"aten.{name}.default", X, None, {"approximate": how}, **inputs))[1]
        for how in ("tanh", "none")
    )
    assert by_tanh == slots * 1000
    assert by_erf == {"gelu": 37, "gelu_backward": 47}[name] * 1000


def test_powers_and_divisions_by_numbers() -> None:
    def power(exponent: float) -> int:
        op = sig("aten.pow.Tensor_Scalar", X, None, {"exponent": exponent}, self=X)
        return arithmetic(op)[1]

    assert power(2.0) == 1000  # one product
    assert power(2.5) == 81 * 1000
    # a division by a number is a multiplication by its reciprocal
    scalar = sig("aten.div.Scalar", X, None, {"other": 3.0}, self=X)
    assert arithmetic(scalar)[1] == 1000
    both = sig("aten.div.Tensor", X, self=X, other=X)
    constant = sig("aten.div.Tensor", X, None, {"other": 3.0}, self=X)
    assert arithmetic(both)[1] == 8 * 1000
    assert folded(constant) == 7 * 1000
    assert folded(both) == folded(scalar) == 0


def test_an_op_without_a_row_takes_a_slot_for_each_flop_and_one_at_least() -> None:
    assert TRAITS["add"].slots is TRAITS["lerp"].slots is None
    assert arithmetic(sig("aten.add.Tensor", X, self=X, other=X)) == (1000, 1000)
    lerp = sig("aten.lerp.Scalar", X, None, {"weight": 0.5}, self=X, end=X)
    assert arithmetic(lerp) == (3000, 3000)
    # a comparison or a copy has no FLOPs
    assert arithmetic(sig("aten.clone.default", X, self=X)) == (0, 1000)


@pytest.mark.parametrize(("cols", "persistent", "long"), [
    (1024, 1024, False), (1025, 1024, True), (100, 64, True), (64, 64, False),
])  # fmt: skip
def test_a_row_beyond_the_registers_takes_other_slots(
    cols: int, persistent: int, long: bool
) -> None:
    x = ((10, cols), "float32")
    op = sig("aten._softmax.default", x, None, {"dim": -1}, self=x)
    short_slots, long_slots = 20, 50
    assert arithmetic(op, persistent)[1] == (long_slots if long else short_slots) * 10 * cols
    # a hand-written kernel rescales its sums once for each part of a row
    assert arithmetic(op, persistent, by_hand=True)[1] == short_slots * 10 * cols


def test_a_norm_of_inference_computes_its_factors_for_each_element() -> None:
    channels = ((3,), "float32")
    image = ((2, 3, 8, 8), "float32")
    inputs = dict(
        input=image, weight=channels, bias=channels, running_mean=channels, running_var=channels
    )
    outs = [image, ((0,), "float32"), ((0,), "float32")]
    op = sig("aten.native_batch_norm.default", outs, None, {"training": False}, **inputs)
    assert arithmetic(op) == (7 * 384, 19 * 384)
    assert applied(op) == 5 * 384


@pytest.mark.parametrize(("rows", "apart", "most"), [
    (64 * 132, True, 64), (64 * 132 - 1, True, 1024), (64 * 132, False, 1024),
])  # fmt: skip
def test_the_longest_row_in_registers(rows: int, apart: bool, most: int) -> None:
    assert in_registers(rows, apart, 132) == most
