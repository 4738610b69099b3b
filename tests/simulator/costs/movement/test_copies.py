"""Copies, fills and draws against hand-computed sums; a float32 [4, 6] is 96 bytes."""

from __future__ import annotations

import pytest

from simulator.costs import Work
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import launched, sig

MAT = ((4, 6), "float32")
TURNED = Tensor((4, 6), "float32", (1, 4))


def one(op: Signature) -> Work:
    (work,) = launched(op)
    return work


def test_copy_only_writes_its_target() -> None:
    work = one(sig("aten.copy_.default", MAT, (0, 1, 0), self=MAT, src=MAT))
    assert (work.family, work.read_bytes, work.write_bytes) == ("memcpy", 96, 96)
    assert work.dims == {"direction": "d2d", "bytes": 96, "align_bytes": 16}


@pytest.mark.parametrize(
    ("rows", "variant"),
    # a row is 2 KiB: a mebibyte is 512 rows; from there on, whole pages of 4 KiB are as fast
    [(512, None), (514, None), (513, "d2d_ragged")],
)
def test_long_memcpys_of_broken_pages_have_a_curve_of_their_own(
    rows: int, variant: str | None
) -> None:
    x = ((rows, 512), "float32")
    work = one(sig("aten.clone.default", x, self=x))
    assert work.dims.get("variant") == variant


def test_a_turned_copy_is_a_kernel() -> None:
    work = one(sig("aten.clone.default", MAT, self=TURNED))
    assert (work.family, work.bytes, work.dims["transposed"]) == ("copy", 192, True)


def test_a_turned_copy_that_converts_switches_over_dtypes() -> None:
    work = one(sig("aten.copy_.default", ((4, 6), "float16"), self=((4, 6), "float16"), src=TURNED))
    assert (work.family, work.read_bytes, work.write_bytes) == ("copy", 96, 48)
    # a load, a store, the index (20) and a switch for each of two operands: 24·(2 + 20 + 2·20)
    assert (work.dims["widens"], work.instructions) == (True, 1488)


def test_a_slice_is_a_kernel_that_does_not_turn() -> None:
    part = Tensor((4, 6), "float32", (12, 1))
    work = one(sig("aten.clone.default", MAT, self=part))
    assert (work.family, work.bytes, work.dims["transposed"]) == ("copy", 192, False)


def test_an_expanded_source_is_read_once() -> None:
    work = one(sig("aten.copy_.default", MAT, (0, 1, 0), self=MAT, src=((6,), "float32")))
    assert (work.family, work.read_bytes, work.write_bytes) == ("copy", 24, 96)


def test_a_cast_is_pointwise() -> None:
    half = ((4, 6), "bfloat16")
    work = one(sig("aten._to_copy.default", half, args={"dtype": "bfloat16"}, self=MAT))
    assert (work.family, work.read_bytes, work.write_bytes) == ("pointwise", 96, 48)
    # from float32 to a half type, a kernel uses vector loads; the reverse converts one element at a
    # time
    assert work.dims == {"elements": 24, "inputs": 1, "contiguous": True, "widens": False}
    back = one(sig("aten._to_copy.default", MAT, args={"dtype": "float32"}, self=half))
    assert back.dims["widens"]
    # 2 instructions for each of 24 elements, and 20 + 2 · 20 more where each is converted by a
    # switch
    assert (work.instructions, back.instructions) == (2 * 24, 62 * 24)


def test_host_to_device_writes_dram_only() -> None:
    there = Tensor((4, 6), "float32", (6, 1), "cpu")
    work = one(sig("aten._to_copy.default", MAT, self=there))
    assert (work.read_bytes, work.write_bytes) == (0, 96)
    assert work.dims == {"direction": "h2d", "bytes": 96}


def test_device_to_host_packs_first() -> None:
    there = Tensor((4, 6), "float32", (6, 1), "cpu")
    pack, fetch = launched(sig("aten._to_copy.default", there, self=TURNED))
    assert (pack.family, fetch.family, fetch.dims["direction"]) == ("copy", "memcpy", "d2h")
    assert (fetch.read_bytes, fetch.write_bytes) == (96, 0)


def test_cat_is_one_launch() -> None:
    work = one(sig("aten.cat.default", ((10, 6), "float32"), tensors=[MAT, ((6, 6), "float32")]))
    # reads and writes 24·4 + 36·4 = 240 bytes
    assert (work.family, work.read_bytes, work.write_bytes) == ("concat", 240, 240)


def test_cat_of_one_tensor_twice_reads_once() -> None:
    work = one(sig("aten.cat.default", ((8, 6), "float32"), (0, 0, 1), tensors=[MAT, MAT]))
    assert (work.read_bytes, work.write_bytes) == (96, 192)


def test_cat_takes_128_tensors_a_launch() -> None:
    kernels = launched(sig("aten.cat.default", ((130 * 4, 6), "float32"), tensors=[MAT] * 130))
    assert [w.write_bytes for w in kernels] == [128 * 96, 2 * 96]


def test_cat_of_mixed_dtypes_copies_each() -> None:
    kernels = launched(
        sig("aten.cat.default", ((8, 6), "float32"), tensors=[MAT, ((4, 6), "bfloat16")])
    )
    assert [w.read_bytes for w in kernels] == [96, 48]


def test_pad_fills_then_copies() -> None:
    fill, copy = launched(
        sig("aten.constant_pad_nd.default", ((4, 8), "float32"), args={"pad": [1, 1]}, self=MAT)
    )
    # 4·8·4 bytes are filled; 96 are read and written
    assert (fill.family, fill.bytes) == ("fill", 128)
    assert (copy.read_bytes, copy.write_bytes) == (96, 96)


def test_zeros_are_a_kernel_that_reads_nothing() -> None:
    work = one(sig("aten.zeros_like.default", MAT, self=MAT))
    assert (work.family, work.read_bytes, work.write_bytes) == ("fill", 0, 96)


def test_slice_backward() -> None:
    kernels = launched(sig("aten.slice_backward.default", MAT, grad_output=((2, 6), "float32")))
    assert [(w.read_bytes, w.write_bytes) for w in kernels] == [(0, 96), (48, 48)]


def test_select_backward_writes_where_it_was_selected() -> None:
    args = {"dim": 1, "index": 0}
    op = sig("aten.select_backward.default", MAT, args=args, grad_output=((4,), "float32"))
    _, copy = launched(op)
    # 4 elements, 6·4 bytes apart in the result
    assert (copy.read_bytes, copy.write_bytes, copy.dims["transposed"]) == (16, 16, False)


def test_triangles_and_rolls_have_curves_of_their_own() -> None:
    assert one(sig("aten.tril.default", MAT, self=MAT)).dims["variant"] == "triangle"
    kernels = launched(sig("aten.roll.default", MAT, args={"dims": [0, 1]}, self=MAT))
    assert [work.dims["variant"] for work in kernels] == ["roll"] * 2


def test_a_range_is_computed_from_its_index() -> None:
    work = one(sig("aten.arange.start_step", ((100,), "int64")))
    assert (work.family, work.read_bytes, work.write_bytes) == ("arange", 0, 800)


def test_repeat_reads_once() -> None:
    work = one(sig("aten.repeat.default", ((12, 6), "float32"), args={"repeats": [3, 1]}, self=MAT))
    assert (work.read_bytes, work.write_bytes) == (96, 288)


def test_dropout_writes_its_mask() -> None:
    work = one(
        sig(
            "aten.native_dropout.default",
            [MAT, ((4, 6), "bool")],
            args={"p": 0.1, "train": True},
            input=MAT,
        )
    )
    # reads 96 bytes; writes 96 and a mask of 24
    assert (work.family, work.read_bytes, work.write_bytes) == ("random", 96, 120)


def test_dropout_loads_words_that_leave_nothing_over() -> None:
    def vector(n: int, dtype: str) -> int:
        x = ((n,), dtype)
        op = sig("aten.native_dropout.default", [x, ((n,), "bool")], args={"train": True}, input=x)
        return one(op).dims["vector"]

    assert [vector(n, "bfloat16") for n in (80, 84, 86, 87)] == [8, 4, 2, 1]
    assert vector(80, "float32") == 4


def test_a_draw_reads_nothing() -> None:
    work = one(sig("aten.bernoulli_.float", MAT, (0, 0), args={"p": 0.1}, self=MAT))
    assert (work.family, work.read_bytes, work.write_bytes) == ("random", 0, 96)


def test_an_item_is_fetched() -> None:
    work = one(sig("aten._local_scalar_dense.default", (), self=((), "int64")))
    assert (work.read_bytes, work.dims["direction"]) == (8, "d2h")
