"""Fourier transforms against hand-computed sums."""

from __future__ import annotations

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig, sums

REAL = ((4, 8, 1024), "float32")
HALF = ((4, 8, 513), "complex64")
WHOLE = ((4, 8, 1024), "complex64")


def kinds(works: tuple[Work, ...]) -> list[str]:
    return [work.dims["kind"] for work in works if work.family == "fft"]


def test_a_real_signal_is_read_once_and_its_half_written_once() -> None:
    args = {"dim": [2], "normalization": 0, "onesided": True}
    (work,) = launched(sig("aten._fft_r2c.default", HALF, None, args, self=REAL))
    # 32 signals of 1,024: 5·1,024·10·32 / 2 = 819,200
    assert (work.family, work.flops) == ("fft", 819200)
    # reads 32·1,024·4 = 131,072 bytes, writes 32·513·8 = 131,328
    assert (work.read_bytes, work.write_bytes) == (131072, 131328)
    assert (work.dims["lengths"], work.dims["batch"]) == ((1024,), 32)


def test_the_other_half_is_filled_from_this_one() -> None:
    args = {"dim": [2], "normalization": 0, "onesided": False}
    call, fill = launched(sig("aten._fft_r2c.default", WHOLE, None, args, self=REAL))
    # the mirrored half has 32·(1,024 − 513)·8 = 130,816 bytes
    assert (call.write_bytes, fill.write_bytes) == (131328, 130816)


def test_back_to_real_numbers_a_copy_is_handed_over() -> None:
    args = {"dim": [2], "normalization": 0, "last_dim_size": 1024}
    copied, work = launched(sig("aten._fft_c2r.default", REAL, None, args, self=HALF))
    assert (copied.family, copied.bytes) == ("memcpy", 2 * 131328)
    assert (work.dims["kind"], work.write_bytes) == ("c2r", 131072)


def test_a_norm_is_a_separate_pass() -> None:
    args = {"dim": [2], "normalization": 2, "forward": True}
    work, scale = launched(sig("aten._fft_c2c.default", WHOLE, None, args, self=WHOLE))
    # 5·1,024·10·32 = 1,638,400
    assert (work.flops, scale.family, scale.bytes) == (1638400, "pointwise", 2 * 262144)


def test_three_dimensions_at_most_are_taken_at_once() -> None:
    x = ((4, 4, 4, 4), "complex64")
    args = {"dim": [0, 1, 2, 3], "normalization": 0, "forward": True}
    kernels = launched(sig("aten._fft_c2c.default", x, None, args, self=x))
    assert [len(work.dims["lengths"]) for work in kernels] == [3, 1]
    real = launched(
        sig(
            "aten._fft_r2c.default",
            ((4, 4, 4, 3), "complex64"),
            None,
            {"dim": [0, 1, 2, 3], "normalization": 0, "onesided": True},
            self=((4, 4, 4, 4), "float32"),
        )
    )
    assert kinds(real) == ["r2c", "c2c"]


def fft(kind: str, x: object, out: object, dim: list[int], **args: object) -> tuple[Work, ...]:
    return launched(sig(f"aten._fft_{kind}.default", out, None, {"dim": dim, **args}, self=x))  # pyright: ignore


@pytest.mark.parametrize(
    ("dtype", "item", "lanes"),
    [("complex64", 8, "float32"), ("complex128", 16, "float64"), ("complex32", 4, "float32")],
)
def test_a_call_by_hand(dtype: str, item: int, lanes: str) -> None:
    x = ((6, 8, 16), dtype)
    for dims, lengths, batch, flops, apart in (
        ([2], (16,), 48, 5 * 16 * 4 * 48, False),
        ([-1], (16,), 48, 5 * 16 * 4 * 48, False),
        # rows of 8 numbers that lie 16 apart
        ([1], (8,), 96, 5 * 8 * 3 * 96, True),
        ([1, 2], (8, 16), 6, 5 * 128 * 7 * 6, False),
    ):
        *copied, work = fft("c2c", x, x, dims)
        size = 768 * item
        # without a single stride for the six blocks and their rows, they are copied first
        assert [each.bytes for each in copied] == ([2 * size] if dims == [1] else [])
        assert sums([work]) == [("fft", flops, size, size, flops)]
        assert work.dtype == lanes
        assert work.dims == {
            "kind": "c2c", "lengths": lengths, "batch": batch, "item_bytes": item, "apart": apart,
        }  # fmt: skip


def test_a_single_number_counts_as_two() -> None:
    x = ((6, 1), "complex64")
    (work,) = fft("c2c", x, x, [1])
    # log2 of 1 is 0; 5·1·log2(2) for each of six numbers
    assert (work.flops, work.dims["batch"]) == (30, 6)


@pytest.mark.parametrize(
    ("dims", "lengths"),
    [
        ([2], [(8,)]), ([1, 2], [(6, 8)]), ([0, 2], [(4, 8)]), ([1], [(6,)]),
        # the first two dimensions are transformed one by one
        ([0, 1], [(6,), (4,)]), ([0, 1, 2], [(8,), (4, 6)]),
    ],
)  # fmt: skip
def test_real_transforms_along_several_dimensions(
    dims: list[int], lengths: list[tuple[int, ...]]
) -> None:
    shape = [4, 6, 8]
    half = list(shape)
    half[dims[-1]] = half[dims[-1]] // 2 + 1
    real, whole = (tuple(shape), "float32"), (tuple(half), "complex64")
    n = 8 * half[0] * half[1] * half[2]
    launches = fft("r2c", real, whole, dims)
    forward = [work for work in launches if work.family == "fft"]
    assert [work.dims["lengths"] for work in forward] == lengths
    # a transform along the second dimension leaves two others, which have no single stride
    assert len(launches) - len(forward) == (dims[-1] == 1)
    assert (forward[0].read_bytes, forward[0].write_bytes) == (768, n)
    assert all(work.bytes == 2 * n for work in forward[1:])
    back = fft("c2r", whole, real, dims)
    assert [work.dims["lengths"] for work in back if work.family == "fft"] == lengths[::-1]
    assert (back[-1].read_bytes, back[-1].write_bytes) == (n, 768)
    # cuFFT may overwrite its input: a copy, unless the complex transforms write a new tensor
    assert (back[0].family == "memcpy") is (len(lengths) == 1)
    assert [work.bytes for work in back[:-1]] == [2 * n]


def test_three_dimensions_behind_a_batch_are_one_call() -> None:
    real, half = ((2, 4, 6, 8), "float32"), ((2, 4, 6, 5), "complex64")
    for dims, lengths in (([1, 2, 3], [(4, 6, 8)]), ([0, 2, 3], [(2, 6, 8)]),
                          ([0, 1, 2, 3], [(8,), (2, 4, 6)])):  # fmt: skip
        forward = fft("r2c", real, half, dims)
        assert [work.dims["lengths"] for work in forward] == lengths
        back = fft("c2r", half, real, dims)
        assert [work.dims["lengths"] for work in back if work.family == "fft"] == lengths[::-1]


def test_transforms_without_dimensions_or_numbers() -> None:
    x = ((4, 6), "complex64")
    (copied,) = fft("c2c", x, x, [])
    assert (copied.family, copied.bytes) == ("memcpy", 2 * 192)
    none = ((0, 6), "complex64")
    assert fft("c2c", none, none, [1]) == ()
    turned = Tensor((4, 6), "complex64", (1, 4))
    packed, _ = fft("c2r", turned, ((4, 10), "float32"), [1])
    assert packed.family == "copy"


@pytest.mark.parametrize("name", ["normalization", "normalization_mode"])
def test_a_normalized_transform_scales_its_result(name: str) -> None:
    real, half = ((4, 6, 8), "float32"), ((4, 6, 5), "complex64")
    (call, scale) = fft("r2c", real, half, [2], **{name: 1})
    assert sums([scale]) == [("pointwise", 120, 960, 960, 360)]
    assert call.dims["kind"] == "r2c"
    *_, scale = fft("c2r", half, real, [2], **{name: 1})
    assert sums([scale]) == [("pointwise", 192, 768, 768, 576)]
    assert len(fft("r2c", real, half, [2], **{name: 0})) == 1


def test_a_batch_without_a_single_stride_is_copied_first() -> None:
    args = {"dim": [3], "normalization": 0, "onesided": True}
    half = ((64, 8, 32, 97), "complex64")
    # heads and channels of [64, 192, 8, 32] share one stride, images do not
    series = Tensor((64, 8, 32, 192), "float32", (49152, 32, 1, 256))
    copied, call = launched(sig("aten._fft_r2c.default", half, None, args, self=series))
    assert copied.bytes == 2 * 4 * 64 * 8 * 32 * 192
    assert (call.family, call.dims["batch"]) == ("fft", 64 * 8 * 32)
    one = Tensor((1, 8, 32, 192), "float32", (49152, 32, 1, 256))
    alone = ((1, 8, 32, 97), "complex64")
    assert len(launched(sig("aten._fft_r2c.default", alone, None, args, self=one))) == 1
