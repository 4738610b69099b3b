"""Matrix products against hand-computed sums."""

from __future__ import annotations

import pytest

from simulator.costs.matmul.grouped import grouped_by_host
from simulator.costs.matmul.products import by_dot_products
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import launched, sig


def bf16(*shape: int) -> tuple[tuple[int, ...], str]:
    return shape, "bfloat16"


def linear(m: int, k: int, n: int, dtype: str = "bfloat16") -> Signature:
    """x [m, k] with weight [n, k] transposed, as `nn.Linear` calls addmm."""
    weight = Tensor((k, n), dtype, (1, k))
    return sig(
        "aten.addmm.default",
        ((m, n), dtype),
        self=((n,), dtype),
        mat1=((m, k), dtype),
        mat2=weight,
    )


def test_mm() -> None:
    (work,) = launched(sig("aten.mm.default", bf16(4, 6), self=bf16(4, 5), mat2=bf16(5, 6)))
    # 2·4·6·5 = 240
    assert work.flops == 240
    # reads (4·5 + 5·6)·2 = 100 bytes, writes 4·6·2 = 48
    assert (work.read_bytes, work.write_bytes) == (100, 48)
    assert (work.family, work.engine, work.dtype) == ("gemm", "tensor", "bfloat16")
    # rows of 5 elements are 10 bytes: aligned to 2
    assert work.dims == {
        "b": 1,
        "m": 4,
        "n": 6,
        "k": 5,
        "transa": False,
        "transb": False,
        "epilogue": None,
        "align_bytes": 2,
    }


def test_float32_runs_on_the_vector_unit() -> None:
    one = ((4, 4), "float32")
    (work,) = launched(sig("aten.mm.default", one, self=one, mat2=one))
    # 4·4·4 fused multiply-adds
    assert (work.engine, work.dtype, work.instructions) == ("vector", "float32", 64)


def test_a_matrix_times_itself_is_read_once() -> None:
    one = bf16(8, 8)
    (work,) = launched(sig("aten.mm.default", one, (0, 0, 1), self=one, mat2=one))
    # 8·8·2 = 128
    assert (work.read_bytes, work.write_bytes) == (128, 128)


def test_linear_fuses_its_bias_and_turns_its_weight() -> None:
    (work,) = launched(linear(32, 64, 16))
    # 2·32·16·64 = 65,536, without the bias
    assert work.flops == 65536
    # (16 + 32·64 + 64·16)·2 = 6,176
    assert work.read_bytes == 6176
    assert (work.dims["transb"], work.dims["epilogue"]) == (True, "bias")


def test_a_matrix_addend_is_copied_into_the_result() -> None:
    c = bf16(4, 6)
    first, product = launched(
        sig("aten.addmm.default", c, self=c, mat1=bf16(4, 5), mat2=bf16(5, 6))
    )
    # 4·6·2 = 48 bytes are read and written
    assert (first.family, first.read_bytes, first.write_bytes) == ("memcpy", 48, 48)
    # reads (4·5 + 5·6)·2 bytes and the 48 of the copy
    assert (product.read_bytes, product.dims["epilogue"]) == (148, None)


def test_an_addend_times_nothing_is_not_read() -> None:
    c = bf16(4, 6)
    call = {"self": c, "mat1": bf16(4, 5), "mat2": bf16(5, 6)}
    (work,) = launched(sig("aten.addmm.default", c, None, {"beta": 0}, **call))
    assert work.read_bytes == 100


def test_addmm_in_place_reads_its_destination() -> None:
    c = bf16(4, 6)
    op = sig("aten.addmm_.default", c, (0, 1, 2, 0), self=c, mat1=bf16(4, 5), mat2=bf16(5, 6))
    (work,) = launched(op)
    assert (work.read_bytes, work.write_bytes) == (148, 48)


def test_an_operand_with_no_unit_stride_is_copied() -> None:
    every_other = Tensor((4, 5), "bfloat16", (20, 2))
    op = sig("aten.mm.default", bf16(4, 6), self=every_other, mat2=bf16(5, 6))
    first, _ = launched(op)
    # 4·5·2 = 40 bytes are read and written
    assert (first.family, first.bytes) == ("copy", 80)


def test_bmm_reads_an_expanded_operand_once() -> None:
    shared = Tensor((8, 4, 5), "bfloat16", (0, 5, 1))
    (work,) = launched(sig("aten.bmm.default", bf16(8, 4, 6), self=shared, mat2=bf16(8, 5, 6)))
    # 2·8·4·6·5 = 1,920
    assert work.flops == 1920
    # 4·5·2 + 8·5·6·2 = 520
    assert (work.read_bytes, work.dims["b"]) == (520, 8)


def test_baddbmm_copies_a_spread_addend_with_a_kernel() -> None:
    row = Tensor((1, 1, 6), "bfloat16", (6, 6, 1))
    op = sig(
        "aten.baddbmm.default", bf16(2, 4, 6), self=row, batch1=bf16(2, 4, 5), batch2=bf16(2, 5, 6)
    )
    first, product = launched(op)
    # reads 6·2 = 12 bytes, writes 2·4·6·2 = 96
    assert (first.family, first.read_bytes, first.write_bytes) == ("copy", 12, 96)
    # reads 2·(4·5 + 5·6)·2 + 96 = 296 bytes
    assert (product.flops, product.read_bytes) == (480, 296)


def test_scaled_mm() -> None:
    one = ((), "float32")
    op = sig(
        "aten._scaled_mm.default",
        bf16(16, 32),
        self=((16, 64), "float8_e4m3fn"),
        mat2=Tensor((64, 32), "float8_e4m3fn", (1, 64)),
        scale_a=one,
        scale_b=one,
    )
    (work,) = launched(op)
    # reads 16·64 + 64·32 + 2·4 = 3,080 bytes, writes 16·32·2 = 1,024
    assert (work.read_bytes, work.write_bytes) == (3080, 1024)
    assert (work.engine, work.dtype) == ("tensor", "float8_e4m3fn")


def test_grouped_mm_splits_the_rows() -> None:
    offsets = ((4,), "int32")
    op = sig(
        "aten._grouped_mm.default",
        bf16(100, 8),
        self=bf16(100, 16),
        mat2=bf16(4, 16, 8),
        offs=offsets,
    )
    setup, product = launched(op)
    # 2·100·8·16 = 25,600, whichever group a row is in
    assert (product.flops, product.dims["groups"]) == (25600, 4)
    # (100·16 + 4·16·8)·2 + 4·4 = 4,240
    assert product.read_bytes == 4240
    assert setup.family == "pointwise"


def test_grouped_mm_reads_the_weights_of_groups_with_rows() -> None:
    op = sig(
        "aten._grouped_mm.default",
        bf16(4, 8),
        self=bf16(4, 16),
        mat2=bf16(32, 16, 8),
        offs=((32,), "int32"),
    )
    _, product = launched(op)
    # 4 rows fall into 32·(1 − (31/32)⁴) = 3.8165 of 32 groups, so 28.1835 groups of 256 bytes are
    # not read: 4·16·2 + 32·4 + 32·256 − round(28.1835·256 = 7,214.97) = 1,233
    assert product.read_bytes == 1233


def test_a_grouped_product_of_packed_weights_reads_their_bytes() -> None:
    op = sig(
        "aten._grouped_mm.default",
        bf16(4000, 8),
        self=bf16(4000, 64),
        mat2=((4, 32, 8), "float4_e2m1fn_x2"),
        scales=((4 * 8, 4), "float8_e4m3fn"),
        offs=((4,), "int32"),
    )
    _, product = launched(op)
    assert product.flops == 2 * 4000 * 8 * 64
    assert product.dims["item_bytes"] == 0.5
    assert product.read_bytes == 4000 * 64 * 2 + 4 * 32 * 8 + 4 * 8 * 4 + 4 * 4


@pytest.mark.parametrize(
    ("name", "dtype", "ends", "by_host"),
    [
        ("_grouped_mm", "float32", True, True),
        ("_grouped_mm", "bfloat16", True, False),
        # without ends, all groups have the same size; scaled products have their own kernel
        ("_grouped_mm", "float32", False, False),
        ("_scaled_grouped_mm", "float8_e4m3fn", True, False),
    ],
)
def test_the_host_calls_products_of_groups_whose_ends_it_reads(
    name: str, dtype: str, ends: bool, by_host: bool
) -> None:
    offsets = {"offs": ((4,), "int32")} if ends else {}
    left, right = ((100, 16), dtype), ((4, 16, 8), dtype)
    op = sig(f"aten.{name}.default", ((100, 8), dtype), self=left, mat2=right, **offsets)
    assert grouped_by_host(op) is by_host


@pytest.mark.parametrize(
    ("left", "right", "out", "sizes"),
    [
        # each of four equal groups has 25 of 100 rows, of 100 columns, or of a depth of 100
        ((100, 16), (4, 16, 8), (100, 8), (25, 8, 16)),
        ((4, 16, 12), (12, 100), (16, 100), (16, 25, 12)),
        ((16, 100), (100, 8), (4, 16, 8), (16, 8, 25)),
    ],
)
def test_products_of_the_host_divide_what_is_split(
    left: tuple[int, ...],
    right: tuple[int, ...],
    out: tuple[int, ...],
    sizes: tuple[int, int, int],
) -> None:
    single = {"self": (left, "float32"), "mat2": (right, "float32"), "offs": ((4,), "int32")}
    copy, *products = launched(sig("aten._grouped_mm.default", (out, "float32"), **single))
    assert copy.family == "memcpy" and len(products) == 4
    assert {tuple(work.dims[side] for side in "mnk") for work in products} == {sizes}
    # all 100 · 16 · 8 (or 12) multiply-adds
    assert sum(work.flops for work in products) == 2 * 4 * sizes[0] * sizes[1] * sizes[2]


def test_mv_and_dot_are_memory_bound() -> None:
    f32 = "float32"
    (mv,) = launched(sig("aten.mv.default", ((8,), f32), self=((8, 16), f32), vec=((16,), f32)))
    # 2·8·16 = 256 FLOPs; reads (8·16 + 16)·4 = 576 bytes
    assert (mv.family, mv.flops, mv.read_bytes, mv.write_bytes) == ("gemv", 256, 576, 32)
    dot = launched(sig("aten.dot.default", ((), f32), self=((256,), f32), tensor=((256,), f32)))
    # 256 products and sums in 2 blocks, then the sum of their 2 results: 512 + 2 FLOPs
    assert [w.family for w in dot] == ["reduction", "reduction"]
    assert (sum(w.flops for w in dot), dot[0].read_bytes) == (514, 2048)


def test_addbmm_is_a_product_for_each_matrix() -> None:
    c = bf16(4, 6)
    a, b = bf16(3, 4, 5), bf16(3, 5, 6)
    op = sig("aten.addbmm_.default", c, (0, 1, 2, 0), self=c, batch1=a, batch2=b)
    works = launched(op)
    assert [w.flops for w in works] == [240] * 3


def test_a_matrix_by_a_vector_is_a_product_in_16_bits() -> None:
    (mv,) = launched(sig("aten.mv.default", bf16(8), self=bf16(8, 16), vec=bf16(16)))
    # 2·8·16 = 256 FLOPs; reads (8·16 + 16)·2 = 288 bytes
    assert (mv.family, mv.flops, mv.read_bytes, mv.engine) == ("gemm", 256, 288, "tensor")


@pytest.mark.parametrize(
    ("dtype", "m", "n", "k", "own"),
    [
        ("float32", 1, 304, 16, True),
        ("bfloat16", 1, 304, 16, False),
        ("bfloat16", 1, 300, 16, True),  # rows of 600 bytes, but bulk loads need multiples of 16
        ("bfloat16", 1, 304, 17, True),
        ("bfloat16", 1, 304, 1, False),  # an outer product sums nothing
        ("bfloat16", 304, 1, 16, False),  # a single column is contiguous
        ("bfloat16", 300, 1, 16, True),
        ("bfloat16", 304, 1, 17, True),
        ("bfloat16", 304, 1, 1, False),
    ],
)
def test_a_vector_has_separate_kernels_unless_tensor_cores_compute_it(
    dtype: str, m: int, n: int, k: int, own: bool
) -> None:
    """As observed on an H200 for 641 products with one row or column."""
    a, b = ((m, k), dtype), ((k, n), dtype)
    (product,) = launched(sig("aten.mm.default", ((m, n), dtype), self=a, mat2=b))
    assert by_dot_products(product) == own
    # m·n sums of dot products, each in ⌈k / 128⌉ = 1 step
    assert (product.dims.get("runs"), product.dims.get("steps")) == (
        (m * n, 1) if own else (None, None)
    )


def test_a_bias_of_one_number_is_copied_before_the_product() -> None:
    row, column = ((5, 8), "float32"), Tensor((8, 1), "float32", (1, 8))
    result, one = ((5, 1), "float32"), ((1,), "float32")
    bias, product = launched(sig("aten.addmm.default", result, self=one, mat1=row, mat2=column))
    # the bias has 5 results of 4 bytes; the product reads 5·8 + 8 + 5 numbers
    assert (bias.write_bytes, product.read_bytes) == (20, 212)
    assert product.dims["epilogue"] is None
