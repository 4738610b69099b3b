"""The small launches from which larger algorithms are built, as whole records."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.costs.kernels import launches as small
from simulator.records import Tensor

DENSE = Tensor((4, 6), "float32", (6, 1))  # 24 elements, 96 bytes
TURNED = Tensor((4, 6), "float32", (1, 4))
GAPS = Tensor((4, 6), "float32", (12, 1))


def elements(count: int, **more: Any) -> dict[str, Any]:
    return {"elements": count, **more}


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        # two instructions for each element that is filled, one for each two bytes of a memset
        (small.fill(10, 4), Work("fill", 0, 0, 40, instructions=20, dims=elements(10))),
        (small.fill_like(DENSE), Work("fill", 0, 0, 96, instructions=48, dims=elements(24))),
        (
            small.memset(100),
            Work("fill", 0, 0, 100, instructions=50, dims=elements(100, variant="memset")),
        ),
        (small.index_range(10), Work("arange", 0, 0, 80, instructions=300, dims=elements(10))),
        (small.index_range(10, 4), Work("arange", 0, 0, 40, instructions=300, dims=elements(10))),
        (small.to_host(8), Work("memcpy", 0, 8, 0, dims={"direction": "d2h", "bytes": 8})),
        (small.from_host(8), Work("memcpy", 0, 0, 8, dims={"direction": "h2d", "bytes": 8})),
        # one FLOP, a load and a store; then 3 FLOPs in 8 instructions, two loads and a store
        (
            small.pointwise(10, 40, 80),
            Work("pointwise", 10, 40, 80, instructions=30,
                 dims=elements(10, inputs=1, contiguous=True, steps=8 * 3)),
        ),
        (
            small.pointwise(10, 40, 80, flops=3, inputs=2, slots=8, dtype="complex128"),
            Work("pointwise", 30, 40, 80, dtype="float64", instructions=110,
                 dims=elements(10, inputs=2, contiguous=True, steps=8 * 11)),
        ),
        (
            small.helper_kernel(10, 40, 80),
            Work("pointwise", 10, 40, 80, instructions=30,
                 dims=elements(10, inputs=1, contiguous=True, variant="step", steps=0)),
        ),
        (
            small.helper_kernel(10, 40, 80, inputs=3, steps=7),
            Work("pointwise", 10, 40, 80, instructions=50,
                 dims=elements(10, inputs=3, contiguous=True, variant="step", steps=7)),
        ),
        (
            small.reduction(5, 20, 400, 20),
            Work("reduction", 100, 400, 20, instructions=200,
                 dims={"rows": 5, "cols": 20, "inner": 1}),
        ),
        (
            small.reduction(5, 20, 800, 40, inner=5, flops=2, dtype="float64"),
            Work("reduction", 200, 800, 40, dtype="float64", instructions=300,
                 dims={"rows": 5, "cols": 20, "inner": 5}),
        ),
        (
            small.indexed_access("gather", 10, 4, 100, 40),
            Work("gather", 0, 100, 40, instructions=60, dims=elements(10, width=4)),
        ),
        # an addition is one more instruction; a slice of no elements counts as one of one
        (
            small.indexed_access("scatter", 10, 0, 100, 40, flops=1, variant="rows"),
            Work("scatter", 10, 100, 40, instructions=70,
                 dims=elements(10, width=1, variant="rows")),
        ),
    ],
)  # fmt: skip
def test_a_small_launch(work: Work, expected: Work) -> None:
    assert work == expected


def test_the_states_of_a_scan_have_16_bytes_for_each_tile_of_4096() -> None:
    assert [small.tile_states(n).write_bytes for n in (1, 4096, 4097)] == [16, 16, 32]
    states, sweep = small.row_scan(5000, 20000, 40000)
    assert states == small.fill(2, 16)
    dims = {"variant": "whole", "rows": 1, "cols": 5000, "inner": 1}
    assert sweep == Work("scan", 5000, 20000, 40000, instructions=30000, dims=dims)


def test_more_than_8192_elements_are_reduced_to_the_sums_of_1024_blocks() -> None:
    assert small.whole_reduction(8192, 32768, 4) == (small.reduction(1, 8192, 32768, 4),)
    assert small.whole_reduction(8193, 32772, 4) == (
        small.reduction(1, 8193, 32772, 8192),
        small.reduction(1, 1024, 8192, 4),
    )


@pytest.mark.parametrize(
    ("nbytes", "align", "variant"),
    [
        (1, 1, None), (2, 2, None), (12, 4, None), (24, 8, None), (48, 16, None),
        # above a mebibyte whole pages of 4 KiB are as fast as a short copy
        (2**20, 16, None), (2**20 + 16, 16, "d2d_ragged"), (2**20 + 4096, 16, None),
        (2**20 + 2048, 16, "d2d_ragged"),
    ],
)  # fmt: skip
def test_the_alignment_of_a_memcpy_is_that_of_its_size(
    nbytes: int, align: int, variant: str | None
) -> None:
    dims = {"direction": "d2d", "bytes": nbytes, "align_bytes": align}
    expected = Work("memcpy", 0, 7, nbytes, dims=dims | ({"variant": variant} if variant else {}))
    assert small.memcpy(7, nbytes) == expected


def test_a_tensor_without_gaps_is_cloned_by_a_memcpy() -> None:
    for dense in (DENSE, TURNED):
        assert small.clone(dense) == small.memcpy(96, 96)
    assert small.clone(GAPS).family == "copy"
    repeated = Tensor((4, 6), "float32", (0, 1))
    # a row of 24 bytes is read once, and written four times
    assert (small.clone(repeated).read_bytes, small.clone(repeated).write_bytes) == (24, 96)


@pytest.mark.parametrize(
    ("source", "target", "family", "transposed", "widens"),
    [
        (DENSE, DENSE, "memcpy", None, None),
        (TURNED, TURNED, "memcpy", None, None),
        (GAPS, GAPS, "copy", False, False),
        (GAPS, DENSE, "copy", False, False),
        (TURNED, DENSE, "copy", True, False),
        (DENSE, Tensor((4, 6), "float16", (6, 1)), "copy", False, True),
        (Tensor((1, 6), "float32", (6, 1)), DENSE, "copy", False, False),
    ],
)
def test_a_copy_between_layouts_is_a_kernel(
    source: Tensor, target: Tensor, family: str, transposed: bool | None, widens: bool | None
) -> None:
    work = small.copy_onto(source, target)
    assert (work.family, work.write_bytes) == (family, target.numel * target.itemsize)
    assert (work.dims.get("transposed"), work.dims.get("widens")) == (transposed, widens)


@pytest.mark.parametrize(
    ("shape", "stride", "fastest"),
    [
        ((4, 6), (6, 1), -1), ((4, 6), (1, 4), -2), ((4, 1), (1, 1), -2), ((1, 1), (1, 1), 0),
        ((4, 6), (0, 6), -1), ((4, 6), (6, 0), -2), ((4, 6), (0, 0), 0),
        ((2, 3, 5), (15, 1, 3), -2), ((2, 3, 5), (1, 2, 6), -3), ((2, 3), (1, 1), -1), ((), (), 0),
    ],
)  # fmt: skip
def test_the_fastest_dimension_has_the_smallest_stride_among_those_that_have_one(
    shape: tuple[int, ...], stride: tuple[int, ...], fastest: int
) -> None:
    assert small.fastest_dim(Tensor(shape, "float32", stride)) == fastest


@pytest.mark.parametrize(
    ("rows", "cols", "log"),
    [
        # 9 + ⌈log₂ cols⌉ − ⌈log₂ rows⌉, halved, between 4 and 9
        (2, 2, 4), (64, 2, 4), (2, 8, 5), (2, 9, 6), (4, 8, 5), (5, 8, 4), (2, 256, 8),
        (2, 513, 9), (2, 100_000, 9),
        # below 0 the unsigned difference wraps around
        (1 << 10, 2, 4), ((1 << 10) + 1, 2, 9), (1 << 12, 8, 4), ((1 << 12) + 1, 8, 9),
    ],
)  # fmt: skip
def test_a_row_is_scanned_by_16_to_512_threads(rows: int, cols: int, log: int) -> None:
    x = Tensor((rows, cols), "float32", (cols, 1))
    (work,) = small.scan(x, x, 1)
    # two elements per thread and sweep; a sweep has a step per halving, a load and a store
    sweeps = -(-cols // (2 * 2**log))
    assert work.dims["steps"] == sweeps * (log + 2)
    assert work.dims["blocks"] == -(-rows // (512 // 2**log))


@pytest.mark.parametrize(
    ("shape", "dim", "dims"),
    [
        # 3 slices of 10 columns; a block covers 512 columns of a slice
        ((3, 20, 10), 1, {"rows": 30, "cols": 20, "inner": 10, "blocks": 3, "threads": 10}),
        ((3, 20, 513), 1, {"rows": 1539, "cols": 20, "inner": 513, "blocks": 6, "threads": 512}),
        ((3, 20, 10), 0, {"rows": 200, "cols": 3, "inner": 200, "blocks": 1, "threads": 200}),
    ],
)
def test_columns_are_scanned_by_a_thread_each(
    shape: tuple[int, ...], dim: int, dims: dict[str, int]
) -> None:
    stride = (shape[1] * shape[2], shape[2], 1)
    x, out = Tensor(shape, "float32", stride), Tensor(shape, "float64", stride)
    (work,) = small.scan(x, out, dim)
    expected = {**dims, "itemsize": 8, "variant": "across", "steps": dims["cols"]}
    n = x.numel
    assert work == Work("scan", n, 4 * n, 8 * n, dtype="float64", instructions=6 * n, dims=expected)


def test_a_single_row_is_scanned_in_tiles() -> None:
    for shape in ((100,), (1, 100), ()):
        x = Tensor(shape, "float32", (1,) * len(shape))
        assert small.scan(x, x, -1) == small.row_scan(x.numel, 4 * x.numel, 4 * x.numel)
