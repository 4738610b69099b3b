"""Softmax against hand-computed sums, and the kernels of recordings on an H200."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs.reductions.softmaxes import with_zero_exponentials
from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig

CUBE = ((2, 4, 6), "float32")


def test_softmax() -> None:
    (work,) = launched(sig("aten._softmax.default", CUBE, args={"dim": -1}, self=CUBE))
    assert (work.family, work.flops, work.bytes) == ("softmax", 5 * 48, 2 * 192)
    # 8 rows of 6, each padded to 8 lanes. Instructions per lane: 22 for its element, 21 for the
    # division (padded lanes take part), two reductions of 3 halvings with 2 instructions each, and
    # 16
    assert (work.dims["rows"], work.dims["cols"]) == (8, 6)
    assert work.instructions == 8 * 8 * (22 + 21 + 12 + 16)


def test_a_logarithm_does_not_divide_and_a_long_row_keeps_others_out() -> None:
    def slots(name: str, cols: int) -> int:
        x = ((1, cols), "bfloat16")
        (work,) = launched(sig(f"aten.{name}.default", x, args={"dim": -1}, self=x))
        return work.instructions

    frame = 32 * (2 * 2 * 5 + 16)
    # rows of 96, padded to 128: 22 instructions per padded place, 21 per number
    assert slots("_softmax", 96) == 22 * 128 + 21 * 96 + frame
    assert slots("_log_softmax", 96) == 22 * 128 + 9 * 96 + frame + 10
    # 40 elements per lane, padded to 64
    assert slots("_softmax", 1270) == 22 * 2048 + round(1.5 * 21 * 1280) + frame


def test_a_row_longer_than_a_warps_has_another_kernel() -> None:
    assert forward_variant(2048) == "warp_forward"
    assert forward_variant(2049) != "warp_forward"


def forward_variant(cols: int) -> str:
    x = ((4, cols), "float16")
    (work,) = launched(sig("aten._softmax.default", x, args={"dim": -1}, self=x))
    return work.dims["variant"]


def test_a_row_across_memory_has_as_many_threads_as_elements() -> None:
    x = ((1, 64, 2), "float32")
    (work,) = launched(sig("aten._softmax.default", x, args={"dim": 1}, self=x))
    # 2 rows of 64 threads, each counted twice; three passes over one element
    assert (work.dims["blocks"], work.dims["threads"], work.dims["steps"]) == (1, 256, 3)


def test_a_safe_softmax_looks_for_rows_of_minus_infinity() -> None:
    x = ((8, 6), "float32")
    works = launched(sig("aten._safe_softmax.default", x, args={"dim": -1}, self=x))
    # 5 FLOPs for each of 48 numbers, as for a softmax; a test of each, whether all numbers of a row
    # pass, a zero, and a selection without arithmetic
    assert [(w.family, w.flops, w.read_bytes, w.write_bytes) for w in works] == [
        ("softmax", 240, 192, 192),
        ("pointwise", 48, 192, 48),
        ("reduction", 48, 48, 8),
        ("fill", 0, 0, 4),
        ("pointwise", 0, 8 + 192, 192),
    ]
    # offsets along two axes of three operands take 20 + 2·(4 + 3) instructions
    assert [w.instructions for w in works[1:]] == [48 * (1 + 2), 3 * 48, 2, 48 * (34 + 1 + 3)]
    every = works[2].dims
    assert (every["rows"], every["cols"], every["kind"], every["again"]) == (8, 6, "truth", True)
    assert works[3].dims == {"elements": 1}
    # a mask of one byte per row, read by each of its numbers
    assert (works[4].dims["axes"], works[4].dims["inputs"]) == (2, 2)
    across = launched(sig("aten._safe_softmax.default", CUBE, args={"dim": 1}, self=CUBE))
    # 2 · 6 rows across memory; two axes are not adjacent in the mask
    assert (across[4].read_bytes, across[4].dims["axes"]) == (12 + 192, 3)


def test_softmax_from_half_to_float() -> None:
    half = ((2, 4, 6), "float16")
    (work,) = launched(sig("aten._softmax.default", CUBE, args={"dim": 1}, self=half))
    # reads 48·2 bytes, writes 48·4
    assert (work.read_bytes, work.write_bytes, work.dims["inner"]) == (96, 192, 6)


def test_softmax_backward_reads_gradient_and_output() -> None:
    product, work = launched(
        sig(
            "aten._softmax_backward_data.default",
            CUBE,
            args={"dim": -1, "input_dtype": "float32"},
            grad_output=CUBE,
            output=CUBE,
        )
    )
    # g·y, then y·(g - sum): add, subtract, multiply
    assert (product.flops, product.read_bytes, product.write_bytes) == (48, 384, 192)
    assert (work.flops, work.read_bytes, work.write_bytes) == (3 * 48, 384, 192)


@pytest.mark.parametrize("name", ["_softmax", "_log_softmax"])
def test_both_gradients_have_the_same_kernels(name: str) -> None:
    def kernel(cols: int) -> dict[str, Any]:
        x = ((64, cols), "float16")
        op = sig(
            f"aten.{name}_backward_data.default", x, None, {"dim": -1}, grad_output=x, output=x
        )
        return launched(op)[-1].dims

    # 32 lanes of a warp visit a row of 1,024 in 32 steps; a row of 4,096 is one load of 16 bytes
    # for each of 512 threads
    assert (kernel(1024)["variant"], kernel(1024)["steps"]) == ("warp_backward", 32)
    assert (kernel(4096)["variant"], kernel(4096)["steps"]) == ("block_backward", 1)
    assert kernel(4104)["steps"] == 2
    assert kernel(1024)["log"] is kernel(4096)["log"] is ("log" in name)


@pytest.mark.parametrize(
    ("name", "flops", "slots", "per_row"),
    [
        ("_softmax", 5, 22, (0, 0)),
        ("_log_softmax", 5, 15, (1, 10)),
        ("_log_softmax_backward_data", 4, 13, (0, 0)),
    ],
)
def test_the_instructions_of_rows_that_blocks_compute(
    name: str, flops: int, slots: int, per_row: tuple[int, int]
) -> None:
    for shape, dim in (((3, 5000), -1), ((2, 40, 5), 1)):
        x, rows = (shape, "float32"), 3 if dim < 0 else 10
        n = 15000 if dim < 0 else 400
        back = {"grad_output": x, "output": x}
        inputs: dict[str, Any] = back if "backward" in name else {"self": x}
        (work,) = launched(sig(f"aten.{name}.default", x, None, {"dim": dim}, **inputs))
        assert work.flops == flops * n + per_row[0] * rows
        assert work.instructions == slots * n + per_row[1] * rows


@pytest.mark.parametrize(
    ("cols", "dtype", "backward", "shared"),
    [
        # 48 KiB less 4 bytes for each warp: 49,024 bytes for 1,024 threads, and a row has fewer
        (12252, "float32", False, True), (12256, "float32", False, False),
        (12253, "float32", False, False),  # no whole number of 16-byte words
        (12252, "float32", True, True), (12256, "float32", True, False),
        (24504, "float16", True, True), (24512, "float16", True, False),
    ],
)  # fmt: skip
def test_rows_in_shared_memory(cols: int, dtype: str, backward: bool, shared: bool) -> None:
    dims = chosen(cols, dtype, backward)
    assert dims["variant"] == ("block_backward" if backward else "block_forward")
    assert dims["shared"] is shared


def test_gradients_across_memory_have_a_kernel_of_their_own() -> None:
    x = ((5, 292, 573), "bfloat16")
    for name, inputs, variant in (
        ("_softmax", {"self": x}, "across"),
        ("_softmax_backward_data", {"grad_output": x, "output": x}, "across_backward"),
    ):
        work = launched(sig(f"aten.{name}.default", x, None, {"dim": 1}, **inputs))[-1]
        # 573 columns, each counted as two threads
        expected = {"variant": variant, "blocks": 5, "threads": 1146, "steps": 876}
        assert work.dims.items() >= expected.items()
        assert (work.dims["outputs"], work.dims["cols"]) == (5 * 573, 292)


def test_zeros_divide_slowly_in_a_warps_kernel_alone() -> None:
    for cols, slots in ((64, 30 * 100), (8192, 0)):
        x = ((64, cols), "bfloat16")
        (work,) = launched(sig("aten._softmax.default", x, args={"dim": -1}, self=x))
        assert with_zero_exponentials(work, 100).instructions - work.instructions == slots


def test_zeros_wait_once_for_each_element_of_a_lane() -> None:
    def more(cols: int) -> int:
        x = ((64, cols), "bfloat16")
        (work,) = launched(sig("aten._softmax.default", x, args={"dim": -1}, self=x))
        return with_zero_exponentials(work, 64 * cols).dims["steps"] - work.dims["steps"]

    # rows of 32 have one element per lane, rows of 33 two
    assert more(33) == pytest.approx(2 * more(32), abs=1) and more(32) > 0


@pytest.mark.parametrize(
    ("cols", "softmax", "log_softmax"),
    [
        # A warp takes two rows of up to 128. Each of the padded elements of a lane takes 22 slots,
        # each written one 66, or 9 without a division.
        (20, 2 * (22 + 66), 2 * (22 + 9)),
        (32, 2 * (22 + 66), 2 * (22 + 9)),
        (33, 2 * (2 * 22 + 2 * 66), 2 * (2 * 22 + 2 * 9)),
        (128, 2 * (4 * 22 + 4 * 66), 2 * (4 * 22 + 4 * 9)),
        (129, 8 * 22 + 5 * 66, 8 * 22 + 5 * 9),
        (1024, 32 * (22 + 66), 32 * (22 + 9)),
    ],
)
def test_the_slots_of_a_lane(cols: int, softmax: int, log_softmax: int) -> None:
    assert chosen(cols, "float32")["steps"] == softmax
    x = ((64, cols), "float32")
    (log,) = launched(sig("aten._log_softmax.default", x, None, {"dim": -1}, self=x))
    assert log.dims["steps"] == log_softmax


def test_a_row_that_fills_more_of_its_lanes_takes_longer() -> None:
    # a lane has room for 4 elements of rows of 65 to 128, and 3 or 4 are divided
    assert chosen(65, "float16")["steps"] == chosen(96, "float16")["steps"]
    assert chosen(128, "float16")["steps"] > chosen(96, "float16")["steps"]


def chosen(cols: int, dtype: str, backward: bool = False) -> dict[str, Any]:
    x = ((64, cols), dtype)
    if backward:
        return launched(
            sig(
                "aten._log_softmax_backward_data.default",
                x,
                args={"dim": -1, "input_dtype": dtype},
                grad_output=x,
                output=x,
            )
        )[-1].dims
    return launched(sig("aten._softmax.default", x, args={"dim": -1}, self=x))[0].dims


@pytest.mark.parametrize(
    ("cols", "dtype", "variant"),
    [
        (1116, "float16", "warp_forward"),
        (2048, "float32", "warp_forward"),
        (1024, "float64", "warp_forward"),  # 8 KiB
        (1025, "float64", "registers"),
        (2240, "bfloat16", "registers"),
        (5760, "float32", "registers"),
        (9216, "float32", "registers"),  # 9 elements for each of 1,024 threads
        (9217, "float32", "block_forward"),
    ],
)
def test_forward_kernels(cols: int, dtype: str, variant: str) -> None:
    assert chosen(cols, dtype)["variant"] == variant


@pytest.mark.parametrize(
    ("cols", "dtype", "variant", "shared"),
    [
        (1024, "float16", "warp_backward", None),
        (1227, "bfloat16", "block_backward", False),  # not a multiple of 8
        (1600, "bfloat16", "block_backward", True),
        (21760, "float32", "block_backward", False),  # 87 KB do not fit in shared memory
    ],
)
def test_backward_kernels(cols: int, dtype: str, variant: str, shared: bool | None) -> None:
    dims = chosen(cols, dtype, True)
    assert (dims["variant"], dims.get("shared")) == (variant, shared)


def test_across_a_thread_goes_down_each_column_three_times() -> None:
    x = ((5, 292, 573), "bfloat16")
    (work,) = launched(sig("aten._softmax.default", x, args={"dim": 1}, self=x))
    assert (work.dims["blocks"], work.dims["steps"]) == (5, 3 * 292)
    x = ((12, 315, 33), "bfloat16")
    (work,) = launched(sig("aten._softmax.default", x, args={"dim": 1}, self=x))
    # 33·16 = 528 threads fit in 1,024: 16 per column, each with 20 of its elements
    assert (work.dims["blocks"], work.dims["steps"]) == (12, 3 * 20)


def test_rows_with_gaps_are_packed_first() -> None:
    turned = Tensor((2, 4, 6), "float32", (24, 1, 4))
    copy, work = launched(sig("aten._softmax.default", CUBE, args={"dim": -1}, self=turned))
    # rows that are contiguous in memory use the kernel of one warp per row
    assert (copy.family, copy.dims["transposed"]) == ("copy", True)
    assert (work.dims["variant"], work.dims["rows"]) == ("warp_forward", 8)


def test_a_warp_goes_through_a_row_of_2048_in_twice_the_steps_of_1024() -> None:
    for dtype in ("float32", "bfloat16"):
        assert chosen(2048, dtype)["steps"] == 2 * chosen(1024, dtype)["steps"]
