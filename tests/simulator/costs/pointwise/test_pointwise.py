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
    # a thread handles 8 elements with 4 instructions each
    assert work.dims == {
        "elements": 24,
        "inputs": 2,
        "contiguous": True,
        "widens": False,
        "steps": 32,
    }


def test_a_thread_handles_as_many_elements_of_any_dtype() -> None:
    # 8 elements with 4 instructions each; 3 more for each of 3 bytes
    for dtype, slots in (("uint8", 4 + 3 * 3), ("bfloat16", 4), ("float32", 4), ("int64", 4)):
        whole = ((4, 6), dtype)
        work = one(sig("aten.add.Tensor", whole, self=whole, other=whole))
        assert (work.instructions, work.dims["steps"]) == (slots * 24, slots * 8)


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
    (2, 1, 1), (3, 2, 2), (0.5, 1, 11), (-0.5, 1, 5), (-1, 1, 10),
    (-2, 2, 11),  # a product and a reciprocal
    (-3, 1, 60), (2.5, 1, 60),
])  # fmt: skip
def test_small_powers_are_multiplies(exponent: float, flops: int, slots: int) -> None:
    work = one(sig("aten.pow.Tensor_Scalar", MAT, args={"exponent": exponent}, self=MAT))
    assert (work.flops, work.instructions) == (flops * 24, (slots + 2) * 24)


def test_powers_of_a_tensor_take_what_any_power_takes() -> None:
    # 2 loads and a store
    work = one(sig("aten.pow.Tensor_Tensor", MAT, self=MAT, exponent=MAT))
    assert (work.flops, work.instructions) == (24, (60 + 3) * 24)


def test_the_base_of_a_power_is_written_to_the_gpu() -> None:
    fill, raised = launched(sig("aten.pow.Scalar", MAT, args={"self": 2.0}, exponent=MAT))
    assert (fill.family, fill.write_bytes) == ("fill", 8)  # a double
    assert (raised.read_bytes, raised.write_bytes, raised.flops) == (96 + 8, 96, 24)
    assert not raised.dims["contiguous"]  # each element computes offsets
    (ones,) = launched(sig("aten.pow.Scalar", MAT, args={"self": 1}, exponent=MAT))
    assert (ones.family, ones.write_bytes) == ("fill", 96)


def test_powers_of_0_and_1_compute_nothing() -> None:
    def launches(name: str, exponent: float) -> list[str]:
        op = sig(f"aten.{name}", MAT, args={"exponent": exponent}, self=MAT)
        return [work.family for work in launched(op)]

    assert launches("pow.Tensor_Scalar", 0) == launches("pow_.Scalar", 0.0) == ["fill"]
    assert launches("pow.Tensor_Scalar", 1.0) == ["memcpy"]
    assert launches("pow_.Scalar", 1) == []


def test_ldexp_multiplies_by_a_power() -> None:
    fill, raised, product = launched(sig("aten.ldexp.Tensor", MAT, self=MAT, other=MAT))
    assert (fill.write_bytes, raised.bytes, product.bytes) == (4, 4 + 96 + 96, 3 * 96)


def test_isinf_takes_the_absolute_value_first() -> None:
    flags = ((4, 6), "bool")
    absolute, compared = launched(sig("aten.isinf.default", flags, self=MAT))
    assert (absolute.bytes, compared.read_bytes, compared.write_bytes) == (192, 96, 24)
    (zeros,) = launched(sig("aten.isinf.default", flags, self=((4, 6), "int64")))
    assert (zeros.family, zeros.write_bytes) == ("fill", 24)


def test_a_quotient_of_integers_depends_on_their_bytes() -> None:
    for dtype, slots in (("int32", 30), ("int64", 42)):
        whole = ((4, 6), dtype)
        for name in ("remainder.Tensor", "fmod.Tensor", "floor_divide.default", "div.Tensor_mode"):
            work = one(sig(f"aten.{name}", whole, self=whole, other=whole))
            assert work.instructions == 24 * (slots + 3), name
    cut = sig("aten.div.Tensor_mode", MAT, args={"rounding_mode": "trunc"}, self=MAT, other=MAT)
    assert one(cut).instructions == 24 * (16 + 3)


def test_functions_of_complex_numbers() -> None:
    numbers = ((4, 6), "complex64")
    # an exponential, a sine and a cosine; a load and a store
    assert one(sig("aten.exp.default", numbers, self=numbers)).instructions == 24 * (60 + 2)
    assert one(sig("aten.add.Tensor", numbers, self=numbers, other=numbers)).instructions == 24 * 4
    modulus, _ = launched(sig("aten.abs.default", MAT, self=numbers))
    assert modulus.instructions == 24 * (15 + 2)
    polar = one(sig("aten.polar.default", numbers, abs=MAT, angle=MAT))
    assert not polar.dims["widens"] and polar.instructions == 24 * (60 + 3)


def test_shifts_of_integers() -> None:
    whole = ((4, 6), "uint8")
    for name in ("__lshift__", "__rshift__", "__ilshift__", "__irshift__"):
        assert one(sig(f"aten.{name}.Scalar", whole, self=whole)).bytes == 48
        assert one(sig(f"aten.{name}.Tensor", whole, self=whole, other=whole)).bytes == 72
    assert one(sig("aten.bitwise_left_shift.Scalar_Tensor", whole, other=whole)).bytes == 48


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
