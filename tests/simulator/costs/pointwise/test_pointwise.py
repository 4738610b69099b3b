"""Pointwise costs against hand-computed sums: a float32 [4, 6] is 4·6·4 = 96 bytes."""

from __future__ import annotations

import pytest

from simulator.costs import COSTS, Work
from simulator.costs.pointwise.tables import BACKWARD, BINARY, UNARY
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import launched, sig

MAT = ((4, 6), "float32")


def one(op: Signature) -> Work:
    (work,) = launched(op)
    return work


def test_special_powers_launch_no_power() -> None:
    """A power of 1 is a copy, or nothing in place; a power of 0 writes ones."""
    names = ("aten.pow.Tensor_Scalar", "aten.pow_.Scalar")
    works = [launched(sig(n, MAT, None, {"exponent": p}, self=MAT)) for p in (1, 0) for n in names]
    assert [[work.family for work in each] for each in works] == [
        ["memcpy"],
        [],
        ["fill"],
        ["fill"],
    ]
    assert works[0][0].bytes == 192
    assert one(sig(names[1], MAT, None, {"exponent": 3}, self=MAT)).family == "pointwise"


def test_add_reads_both_and_writes_the_result() -> None:
    work = one(sig("aten.add.Tensor", MAT, self=MAT, other=MAT))
    # reads 2·4·6·4 bytes, writes 4·6·4; one addition per element
    assert (work.read_bytes, work.write_bytes, work.flops) == (192, 96, 24)
    # an addition, two loads and a store for each of 24
    assert work.instructions == 24 * 4
    # a thread handles 4 elements of 4 bytes, with 4 instructions each
    assert work.dims == {
        "elements": 24,
        "inputs": 2,
        "contiguous": True,
        "widens": False,
        "steps": 16,
    }


def test_x_plus_x_reads_once() -> None:
    assert one(sig("aten.add.Tensor", MAT, (0, 0, 1), self=MAT, other=MAT)).read_bytes == 96


def test_alpha_adds_a_multiply() -> None:
    work = one(sig("aten.add.Tensor", MAT, args={"alpha": 0.5}, self=MAT, other=MAT))
    assert work.flops == 48


def test_a_bias_is_read_once() -> None:
    work = one(sig("aten.add.Tensor", MAT, self=MAT, other=((6,), "float32")))
    # (4·6 + 6)·4 = 120
    assert (work.read_bytes, work.write_bytes) == (120, 96)
    assert not work.dims["contiguous"]


def test_an_expanded_operand_counts_its_stored_bytes() -> None:
    row = Tensor((4, 6), "float32", (0, 1))
    # 96 + 6·4
    assert one(sig("aten.mul.Tensor", MAT, self=MAT, other=row)).read_bytes == 120


def test_in_place_reads_and_writes_the_same_region() -> None:
    work = one(sig("aten.mul_.Scalar", MAT, (0, 0), self=MAT))
    assert (work.read_bytes, work.write_bytes) == (96, 96)


def test_out_is_not_read() -> None:
    work = one(sig("aten.add.out", MAT, (0, 1, 2, 2), self=MAT, other=MAT, out=MAT))
    assert (work.read_bytes, work.write_bytes) == (192, 96)


def test_mixed_dtypes() -> None:
    half = ((4, 6), "bfloat16")
    work = one(sig("aten.mul.Tensor", MAT, self=MAT, other=half))
    # 24·4 + 24·2 = 144 read
    assert (work.read_bytes, work.write_bytes, work.dtype) == (144, 96, "float32")
    assert one(sig("aten.neg.default", half, self=half)).dtype == "float32"
    double = ((4, 6), "float64")
    assert one(sig("aten.neg.default", double, self=double)).dtype == "float64"


def test_comparison_writes_a_byte_an_element() -> None:
    work = one(sig("aten.eq.Scalar", ((4, 6), "bool"), self=((4, 6), "int64")))
    assert (work.read_bytes, work.write_bytes) == (24 * 8, 24)


def test_operands_that_are_converted_while_they_are_read() -> None:
    half, flags = ((4, 6), "bfloat16"), ((4, 6), "bool")
    added = one(sig("aten.add.Tensor", MAT, self=MAT, other=half))
    # a switch over the dtypes of each of three operands: 20 + 3·20 more instructions
    assert (added.dims["widens"], added.instructions) == (True, 24 * (4 + 80))
    assert one(sig("aten.mul.Tensor", MAT, self=MAT, other=flags)).dims["widens"]
    assert one(sig("aten.div.Tensor", MAT, self=((4, 6), "int64"))).dims["widens"]
    assert one(sig("aten.eq.Tensor", flags, self=MAT, other=half)).dims["widens"]
    # masks and results of comparisons have the kernel's own dtype
    chosen = sig("aten.where.self", MAT, condition=flags, self=MAT, other=MAT)
    for op in (chosen, sig("aten.lt.Tensor", flags, self=half, other=half)):
        assert not one(op).dims["widens"]


def test_offsets_cost_instructions_along_each_axis() -> None:
    work = one(sig("aten.add.Tensor", MAT, self=MAT, other=((6,), "float32")))
    # 4 instructions of an addition and 20 + 2·(4 + 3) for the index; 2 elements per thread
    assert (work.instructions, work.dims["axes"], work.dims["steps"]) == (24 * 38, 2, 76)


def test_where_reads_condition_and_scalar() -> None:
    work = one(
        sig("aten.where.self", MAT, condition=((4, 6), "bool"), self=MAT, other=((), "float32"))
    )
    # 24 + 96 + 4
    assert (work.read_bytes, work.flops) == (124, 0)


def test_a_scalar_on_the_cpu_has_no_gpu_bytes() -> None:
    scalar = Tensor((), "float32", (), "cpu")
    work = one(sig("aten.mul.Tensor", MAT, self=MAT, other=scalar))
    assert (work.read_bytes, work.dims["inputs"], work.dims["contiguous"]) == (96, 1, True)


def test_an_empty_result_launches_nothing() -> None:
    empty = ((0, 6), "float32")
    assert launched(sig("aten.add.Tensor", empty, self=empty, other=empty)) == ()


def test_addcmul() -> None:
    work = one(sig("aten.addcmul_.default", MAT, (0, 1, 2, 0), self=MAT, tensor1=MAT, tensor2=MAT))
    # reads 3 lists of 96 bytes; value·t1·t2 + self is 3 FLOPs
    assert (work.read_bytes, work.write_bytes, work.flops) == (288, 96, 72)


@pytest.mark.parametrize(("approximate", "flops"), [("none", 5), ("tanh", 9)])
def test_gelu_counts_its_steps(approximate: str, flops: int) -> None:
    work = one(sig("aten.gelu.default", MAT, args={"approximate": approximate}, self=MAT))
    assert work.flops == flops * 24


@pytest.mark.parametrize(("exponent", "flops", "slots"), [
    (2, 1, 1), (3, 2, 2), (0.5, 1, 6), (-0.5, 1, 6), (-1, 1, 8),
    (-2, 2, 9),  # a product and a reciprocal
    (-3, 1, 40), (2.5, 1, 40),
])  # fmt: skip
def test_small_powers_are_multiplies(exponent: float, flops: int, slots: int) -> None:
    work = one(sig("aten.pow.Tensor_Scalar", MAT, args={"exponent": exponent}, self=MAT))
    assert (work.flops, work.instructions) == (flops * 24, (slots + 2) * 24)


def test_powers_of_a_tensor_take_what_any_power_takes() -> None:
    # 2 loads and a store; a number to a tensor's power has one load less
    for overload, inputs, moved in (
        ("Tensor_Tensor", dict(self=MAT, exponent=MAT), 3),
        ("Scalar", dict(exponent=MAT), 2),
    ):
        work = one(sig(f"aten.pow.{overload}", MAT, **inputs))
        assert (work.flops, work.instructions) == (24, (40 + moved) * 24)


def test_masked_fill_in_place() -> None:
    mask = ((4, 6), "bool")
    work = one(sig("aten.masked_fill_.Scalar", MAT, (0, 1, 0), self=MAT, mask=mask))
    assert (work.read_bytes, work.write_bytes, work.flops) == (96 + 24, 96, 0)


def test_masked_fill_clones_first() -> None:
    kernels = launched(sig("aten.masked_fill.Scalar", MAT, self=MAT, mask=((4, 6), "bool")))
    assert [(w.family, w.bytes) for w in kernels] == [("memcpy", 192), ("pointwise", 96 + 24 + 96)]
    assert [w.flops for w in kernels] == [0, 0]
    # a selection, two loads and a store
    assert kernels[1].instructions == 24 * (1 + 3)


def test_dropout_backward_is_a_product() -> None:
    work = one(
        sig("aten.native_dropout_backward.default", MAT, grad_output=MAT, mask=((4, 6), "bool"))
    )
    assert (work.family, work.read_bytes, work.flops) == ("pointwise", 96 + 24, 48)


def test_glu_halves() -> None:
    work = one(sig("aten.glu.default", ((4, 3), "float32"), self=MAT))
    # 96 read, 4·3·4 written
    assert (work.read_bytes, work.write_bytes, work.flops) == (96, 48, 60)


def test_every_row_is_an_overload_of_torch() -> None:
    torch = pytest.importorskip("torch")
    for name in COSTS:
        namespace, base, overload = name.split(".")
        packet = getattr(getattr(torch.ops, namespace), base, None)
        if base.startswith("cudnn") or packet is None:
            continue
        assert overload in packet.overloads(), name


def test_the_tables_are_registered_in_each_form() -> None:
    for name in UNARY:
        assert {f"aten.{name}.default", f"aten.{name}_.default"} <= COSTS.keys()
    for name in BINARY:
        assert {f"aten.{name}.Tensor", f"aten.{name}_.Scalar"} <= COSTS.keys()
    for name in BACKWARD:
        assert f"aten.{name}.grad_input" in COSTS


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
        # a division of 8 instructions, and its rounding
        ("div.Tensor_mode", ("self", "other"), 2, 10),
        ("div_.Scalar_mode", ("self",), 2, 10),
        ("bitwise_left_shift.Tensor", ("self", "other"), 1, 1),
        ("bitwise_right_shift.Tensor", ("self", "other"), 1, 1),
        ("lerp.Scalar", ("self", "end"), 3, 3),
        ("lerp.Tensor", ("self", "end", "weight"), 3, 3),
        ("xlogy.Tensor", ("self", "other"), 2, 12),
        ("clamp.default", ("self",), 2, 2),
        ("clamp.Tensor", ("self", "min", "max"), 2, 2),
        ("clamp_min.default", ("self",), 1, 1),
        ("clamp_max.default", ("self",), 1, 1),
    ],
)
def test_ops_with_overloads_of_their_own(
    name: str, inputs: tuple[str, ...], flops: int, slots: int
) -> None:
    work = one(sig(f"aten.{name}", MAT, None, {}, **dict.fromkeys(inputs, MAT)))
    assert work.flops == flops * 24
    # a load of each operand and a store
    assert work.instructions == (slots + len(inputs) + 1) * 24
