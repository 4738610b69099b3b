"""Functions of complex numbers, and ops whose overloads differ."""

from __future__ import annotations

import pytest

from tests.simulator.costs.conftest import launched, sig

MAT = ((4, 6), "float32")


def test_the_modulus_of_complex_numbers_is_a_complex_result_and_its_real_part() -> None:
    numbers = ((4, 6), "complex64")
    modulus, part = launched(sig("aten.abs.default", MAT, self=numbers))
    # reads 4·6 numbers of 8 bytes and writes as many; then 4·6 real parts of 4 bytes
    assert (modulus.read_bytes, modulus.write_bytes) == (192, 192)
    assert (part.family, part.write_bytes) == ("copy", 96)
    assert len(launched(sig("aten.abs.default", MAT, self=MAT))) == 1


@pytest.mark.parametrize(
    ("name", "inputs", "flops", "slots"),
    [
        # the remainder by a loop, a division, and its rounding
        ("div.Tensor_mode", ("self", "other"), 2, 110),
        ("div_.Scalar_mode", ("self",), 2, 110),
        ("floor_divide.default", ("self", "other"), 2, 110),
        ("div.Tensor", ("self", "other"), 1, 12),
        ("div.Tensor", ("self",), 1, 1),  # by a number: times its reciprocal
        ("bitwise_left_shift.Tensor", ("self", "other"), 1, 1),
        ("bitwise_right_shift.Tensor", ("self", "other"), 1, 1),
        ("lerp.Scalar", ("self", "end"), 3, 3),
        ("lerp.Tensor", ("self", "end", "weight"), 3, 3),
        ("xlogy.Tensor", ("self", "other"), 2, 28),
        ("clamp.default", ("self",), 2, 6),
        ("clamp.Tensor", ("self", "min", "max"), 2, 6),
        ("clamp_min.default", ("self",), 1, 5),
        ("clamp_max.default", ("self",), 1, 5),
    ],
)
def test_ops_with_overloads_of_their_own(
    name: str, inputs: tuple[str, ...], flops: int, slots: int
) -> None:
    (work,) = launched(sig(f"aten.{name}", MAT, None, {}, **dict.fromkeys(inputs, MAT)))
    assert work.flops == flops * 24
    # a load of each operand and a store
    assert work.instructions == (slots + len(inputs) + 1) * 24
