"""Concatenations against recordings on an H200: the kernel, and the work of its blocks."""

from __future__ import annotations

import pytest

from simulator.costs.movement.concatenation import _is_channels_last
from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig

EMPTY = Tensor((0,), "float16", (1,))
HEADS = Tensor((2, 12, 64, 64), "float16", (49152, 4096, 64, 1))
PICTURE = Tensor((2, 16, 8, 8), "float16", (1024, 1, 128, 16))
GAPS = Tensor((2, 16, 8, 8), "float16", (2048, 1, 256, 32))


def test_an_empty_cache_counts_as_a_tensor_that_is_not_contiguous() -> None:
    (work,) = launched(sig("aten.cat.default", HEADS, args={"dim": -2}, tensors=[EMPTY, HEADS]))
    # CatArrayBatchedCopy: 2 · 3 divisions of 18 instructions, and 17 more, for each of 98,304
    # elements
    assert (work.family, work.dims["contiguous"], work.dims["vectorized"]) == (
        "concat",
        False,
        False,
    )
    assert work.dims["offset_slots"] == 98_304 * (17 + 6 * 18)


def test_an_empty_slice_of_a_tensor_is_contiguous() -> None:
    nothing = Tensor((2, 12, 64, 0), "float16", (49152, 64, 768, 1))
    (work,) = launched(sig("aten.cat.default", HEADS, args={"dim": -1}, tensors=[HEADS, nothing]))
    assert work.dims["contiguous"]


def test_each_element_of_a_transposed_matrix_lies_in_another_sector() -> None:
    def dims(rows: int, columns: int, step: int) -> dict[str, int]:
        turned = Tensor((rows, columns), "float16", (step, rows * step))
        zeros = Tensor((rows, 8), "float16", (8, 1))
        out = Tensor((rows, columns + 8), "float16", (columns + 8, 1))
        call = sig("aten.cat.default", out, args={"dim": 1}, tensors=[turned, zeros])
        return dict(launched(call)[0].dims)

    # 2 divisions of 18 instructions and 17 more per element, and 250 per element of the transposed
    # matrix
    wide = dims(64, 100, 1)
    assert wide["offset_slots"] == 64 * 108 * (17 + 2 * 18) + 64 * 100 * 250
    assert (wide["turned"], wide["row_lines_bytes"]) == (6400, 100 * 128)
    # the 32 threads of a warp read 8 rows of 4 columns: 4 sectors
    assert dims(64, 4, 1)["turned"] == 64 * 4 // 8
    # 15 rows of 2 bytes are shorter than a sector of 32 bytes
    assert "turned" not in dims(15, 100, 1)
    assert dims(16, 100, 1)["turned"] == 1600


def test_a_single_tensor_is_copied() -> None:
    (work,) = launched(sig("aten.cat.default", HEADS, args={"dim": 0}, tensors=[HEADS]))
    assert work.family == "memcpy"


def test_pictures_with_channels_last_are_contiguous_but_never_vectorized() -> None:
    out = Tensor((2, 32, 8, 8), "float16", (2048, 1, 256, 32))
    (work,) = launched(sig("aten.cat.default", out, args={"dim": 1}, tensors=[PICTURE, PICTURE]))
    # CatArrayBatchedCopy_alignedK_contig; the 16 channels of 2 bytes are adjacent
    assert (work.dims["contiguous"], work.dims["vectorized"]) == (True, False)
    assert (work.dims["run_bytes"], work.dims["offset_slots"]) == (32, 4096 * (17 + 3 * 18))
    # without vectors, the blocks are those of the GPU
    names = ("widest_blocks", "others", "other_blocks")
    assert [work.dims[name] for name in names] == [0, 0, 0]


def test_pictures_with_gaps_are_copied_one_by_one() -> None:
    out = Tensor((2, 32, 8, 8), "float16", (2048, 1, 256, 32))
    kernels = launched(sig("aten.cat.default", out, args={"dim": 1}, tensors=[PICTURE, GAPS]))
    assert [work.family for work in kernels] == ["copy", "copy"]


@pytest.mark.parametrize(("dim", "families"), [(0, ["concat"]), (-1, ["copy", "copy"])])
def test_a_stack_behind_four_dimensions_is_copied(dim: int, families: list[str]) -> None:
    shape = (2, 2, 12, 64, 64) if dim == 0 else (2, 12, 64, 64, 2)
    out = (shape, "float16")
    kernels = launched(sig("aten.stack.default", out, args={"dim": dim}, tensors=[HEADS, HEADS]))
    assert [work.family for work in kernels] == families


def test_small_tensors_have_as_many_blocks_as_the_largest() -> None:
    parts = [Tensor((1, n, 8, 8), "float32", (64 * n, 64, 8, 1)) for n in (256, 32, 32)]
    out = ((1, 320, 8, 8), "float32")
    (work,) = launched(sig("aten.cat.default", out, args={"dim": 1}, tensors=parts))
    # 256·64·4 bytes are 32 blocks of 2 KiB; 32·64·4 bytes are 4 blocks
    names = ("widest_blocks", "others", "other_blocks")
    assert [work.dims[name] for name in names] == [32, 2, 8]


@pytest.mark.parametrize(
    ("shape", "stride", "is_last"),
    [
        ((2, 16, 8, 8), (1024, 1, 128, 16), True),
        ((2, 16, 8, 8), (2048, 1, 256, 32), True),  # with gaps
        ((2, 1, 4, 3), (16, 1, 4, 1), True),  # one channel; rows of 3 cut out of rows of 4
        ((2, 16, 8, 8), (1024, 64, 8, 1), False),
        # columns are the outer dimension, rows the inner
        ((2, 16, 8, 8), (1024, 1, 16, 128), False),
        ((2, 16, 8, 8), (0, 0, 0, 0), False),
        ((2, 16, 8, 8), (1024, 0, 128, 16), False),  # one channel, expanded
        ((2, 16, 8, 8), (1024, 1, 0, 16), False),  # one row, expanded
        ((2, 16, 8, 8), (1024, 1, 64, 8), False),  # pixels overlap
        ((2, 16, 8, 8), (1024, 1, 64, 16), False),  # rows overlap
        ((2, 16, 8, 8), (512, 1, 128, 16), False),  # images overlap
        ((2, 16, 0, 8), (0, 1, 128, 16), False),
        ((1, 1, 1, 2), (1, 1, 1, 2), False),
        ((16, 8, 8), (1, 128, 16), False),
    ],
)
def test_strides_that_suggest_channels_last(
    shape: tuple[int, ...], stride: tuple[int, ...], is_last: bool
) -> None:
    assert _is_channels_last(Tensor(shape, "float16", stride)) is is_last


def test_the_alignment_of_runs_is_at_most_16_bytes() -> None:
    def align(*widths: int) -> int:
        parts = [Tensor((4, n), "float16", (n, 1)) for n in widths]
        out = Tensor((4, sum(widths)), "float16", (sum(widths), 1))
        (work,) = launched(sig("aten.cat.default", out, args={"dim": 1}, tensors=parts))
        return work.dims["align_bytes"]

    # rows of 2 bytes per element
    assert (align(8, 24), align(8, 12), align(8, 6), align(8, 5)) == (16, 8, 4, 2)


def test_all_runs_of_a_vectorized_concatenation_are_whole_words() -> None:
    def is_vectorized(*widths: int, dim: int = 1) -> bool:
        parts = [Tensor((4, n), "float32", (n, 1)) for n in widths]
        shape = (4, sum(widths)) if dim == 1 else (4 * len(widths), widths[0])
        (work,) = launched(
            sig("aten.cat.default", (shape, "float32"), args={"dim": dim}, tensors=parts)
        )
        return work.dims["vectorized"]

    # words of 16 bytes are 4 numbers; along the first dimension a run is a whole part
    assert is_vectorized(4, 8)
    assert not is_vectorized(4, 6) and not is_vectorized(6, 4)
    assert is_vectorized(3, 3, dim=0)


@pytest.mark.parametrize("args", [{}, {"dim": 0}])
def test_vectors_are_stacked_as_rows_by_default(args: dict[str, int]) -> None:
    rows = [Tensor((8,), "float32", (1,))] * 2
    (work,) = launched(sig("aten.stack.default", ((2, 8), "float32"), args=args, tensors=rows))
    # one dimension has no division; a run is a whole vector of 32 bytes
    assert (work.dims["run_bytes"], work.dims["vectorized"]) == (32, True)
    last = sig("aten.stack.default", ((8, 2), "float32"), args={"dim": 1}, tensors=rows)
    (work,) = launched(last)
    assert (work.dims["run_bytes"], work.dims["offset_slots"]) == (4, 16 * (17 + 18))
    # rows of 12 bytes are no whole words; their index is not divided
    thirds = [Tensor((3,), "float32", (1,))] * 2
    (work,) = launched(sig("aten.stack.default", ((2, 3), "float32"), args=args, tensors=thirds))
    assert work.dims["offset_slots"] == 6 * 17
