"""Rare ops, and that every op which torch dispatches has a cost."""

from __future__ import annotations

from pathlib import Path

from simulator.costs import COSTS
from tests.simulator.costs.conftest import launched, sig

DISPATCHED = Path(__file__).with_name("dispatched.txt")
UNCOSTED: dict[str, str] = {}
"""Overloads that cost nothing, each with its reason."""

X = ((16, 8), "float32")


def test_every_op_that_torch_dispatches_has_a_cost() -> None:
    names = [n for n in DISPATCHED.read_text().splitlines() if n and not n.startswith("#")]
    assert len(names) > 500
    assert {name for name in names if name not in COSTS} == set(UNCOSTED)


def test_a_diagonal_is_copied_into_zeros() -> None:
    fill, copied = launched(sig("aten.diag_embed.default", ((16, 8, 8), "float32"), self=X))
    # 4,096 bytes (16·8·8·4) are filled; 512 (16·8·4) are read and written
    assert (fill.write_bytes, copied.read_bytes, copied.write_bytes) == (4096, 512, 512)
    # 512 bytes are 4 lines; the 16 diagonals pass through all 4,096 bytes, which are 32 lines
    assert copied.dims["block_lines"] == 36


def test_allclose_is_the_kernels_of_isclose_then_all_and_a_copy() -> None:
    *steps, every, copied = launched(sig("aten.allclose.default", self=X, other=X))
    # 128 elements, 512 bytes: 13 kernels; numbers read 13 times and written 6 times, flags read
    # 6 times and written 7 times
    assert len(steps) == 13
    assert sum(work.read_bytes for work in steps) == 13 * 512 + 6 * 128
    assert sum(work.write_bytes for work in steps) == 6 * 512 + 7 * 128
    assert (every.read_bytes, copied.family) == (128, "memcpy")


def test_a_distance_is_a_difference_and_its_norm() -> None:
    subtract, norm = launched(sig("aten.dist.default", ((), "float32"), self=X, other=X))
    assert (subtract.bytes, norm.read_bytes, norm.flops) == (3 * 512, 512, 2 * 128)


def test_slices_are_renormed_after_their_norms() -> None:
    norms, factors, product = launched(sig("aten.renorm.default", X, None, {"dim": 0}, self=X))
    assert (norms.read_bytes, norms.write_bytes) == (512, 64)
    assert (factors.bytes, product.bytes) == (128, 512 + 64 + 512)


def test_a_bilinear_layer_is_a_product_for_each_of_its_outputs() -> None:
    args = {"expand1": [1, 3], "expand2": [0], "expand3": [1, 2], "sumdim": [2, 3]}
    kernels = launched(
        sig(
            "aten._trilinear.default",
            ((16, 5), "float32"),
            None,
            args,
            i1=X,
            i2=((5, 8, 8), "float32"),
            i3=X,
        )
    )
    products = [work for work in kernels if work.family == "gemm"]
    # five outputs, each with 2·16·8·8 = 2,048 FLOPs
    assert [work.flops for work in products] == [2048] * 5


def test_normal_numbers_are_drawn_then_scaled_and_shifted() -> None:
    drawn, scaled, shifted = launched(sig("aten.normal.Tensor_Tensor", X, None, {}, mean=X, std=X))
    assert (drawn.read_bytes, drawn.write_bytes) == (0, 512)
    assert (scaled.bytes, shifted.bytes) == (3 * 512, 3 * 512)


def test_distances_of_all_pairs_are_one_product_two_deeper() -> None:
    kernels = launched(sig("aten._euclidean_dist.default", ((16, 16), "float32"), x1=X, x2=X))
    (product,) = [work for work in kernels if work.family == "gemm"]
    # 2·16·16·(8 + 2) = 5,120
    assert product.flops == 5120


def test_an_out_argument_is_written_and_not_read() -> None:
    a, b, out = ((4, 6), "float32"), ((6, 5), "float32"), ((4, 5), "float32")
    (plain,) = launched(sig("aten.mm.default", out, self=a, mat2=b))
    (into,) = launched(sig("aten.mm.out", out, (0, 1, 2, 2), self=a, mat2=b, out=out))
    assert (into.read_bytes, into.write_bytes) == (plain.read_bytes, plain.write_bytes)


def test_the_real_part_of_no_complex_numbers_is_not_copied() -> None:
    empty = ((0, 3), "complex64")
    assert launched(sig("aten.abs.default", ((0, 3), "float32"), self=empty)) == ()
