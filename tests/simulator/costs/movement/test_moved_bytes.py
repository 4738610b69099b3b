"""Copies between devices, scattered slices and rearrangements: a float32 [4, 6] is 96 bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from simulator.costs.movement.copies import move
from simulator.records import Tensor
from tests.simulator.costs.conftest import Spec, launched, sig

MAT: Spec = ((4, 6), "float32")
GPU = Tensor((4, 6), "float32", (6, 1))
HOST = Tensor((4, 6), "float32", (6, 1), "cpu")
TURNED = Tensor((4, 6), "float32", (1, 4))


@dataclass(frozen=True)
class Moved:
    families: list[str]
    reads: list[int]
    writes: list[int]


def moved(source: Tensor, target: Tensor) -> Moved:
    works = move(source, target)
    return Moved(
        [w.family for w in works], [w.read_bytes for w in works], [w.write_bytes for w in works]
    )


def test_copies_between_devices() -> None:
    half = Tensor((4, 6), "float16", (6, 1))
    assert move(HOST, HOST) == ()
    assert move(Tensor((0, 6), "float32", (6, 1)), Tensor((0, 6), "float32", (6, 1))) == ()
    # the host casts before it sends and after it receives
    assert moved(HOST, half) == Moved(["memcpy"], [0], [48])
    assert moved(half, HOST) == Moved(["memcpy"], [48], [0])
    # the GPU packs a tensor that is stored in another order
    assert moved(TURNED, HOST) == Moved(["copy", "memcpy"], [96, 96], [96, 0])
    assert moved(HOST, TURNED) == Moved(["memcpy"], [0], [96])


def test_copies_on_the_gpu() -> None:
    half = Tensor((4, 6), "float16", (6, 1))
    assert moved(GPU, GPU) == Moved(["memcpy"], [96], [96])
    assert moved(TURNED, GPU).families == ["copy"]
    (narrowed,) = move(GPU, half)
    (widened,) = move(half, GPU)
    (integers,) = move(GPU, Tensor((4, 6), "int32", (6, 1)))
    assert [w.dims["widens"] for w in (narrowed, widened, integers)] == [False, True, True]
    # a load and a store; casts that are not vectorized also convert each element
    assert narrowed.instructions == 2 * 24
    assert widened.instructions == integers.instructions > 2 * 24
    assert (narrowed.read_bytes, narrowed.write_bytes, narrowed.flops) == (96, 48, 0)


def test_a_source_is_broadcast_into_its_target() -> None:
    (row,) = launched(sig("aten.copy_.default", MAT, (0, 1, 0), self=MAT, src=((6,), "float32")))
    assert (row.read_bytes, row.write_bytes) == (24, 96)
    (column,) = launched(
        sig("aten.copy_.default", MAT, (0, 1, 0), self=MAT, src=((4, 1), "float32"))
    )
    assert (column.read_bytes, column.write_bytes) == (16, 96)


def test_a_cast_that_changes_nothing_launches_nothing() -> None:
    assert launched(sig("aten.to.dtype", MAT, (0, 0), self=MAT)) == ()
    (cast,) = launched(sig("aten.to.dtype", ((4, 6), "float16"), (0, 1), self=MAT))
    assert (cast.read_bytes, cast.write_bytes) == (96, 48)


def test_a_copy_of_a_part_reads_the_part() -> None:
    (part,) = launched(sig("aten.slice_copy.Tensor", ((4, 2), "float32"), self=MAT))
    # 8 elements are written and read, each by about 30 instructions
    assert (part.read_bytes, part.write_bytes, part.instructions) == (32, 32, 240)
    assert part.flops == 0
    (turned,) = launched(sig("aten.t_copy.default", ((6, 4), "float32"), self=MAT))
    assert (turned.read_bytes, turned.write_bytes) == (96, 96)


@pytest.mark.parametrize(("args", "launches"), [
    ({"dims": [0]}, 1), ({"dims": [0, 1]}, 2), ({"dims": []}, 1), ({}, 1),
])  # fmt: skip
def test_a_roll_is_a_kernel_for_each_dimension(args: dict[str, Any], launches: int) -> None:
    works = launched(sig("aten.roll.default", MAT, None, args, self=MAT))
    assert [(w.read_bytes, w.write_bytes) for w in works] == [(96, 96)] * launches
    assert {w.dims["variant"] for w in works} == {"roll"}


def test_a_source_is_scattered_into_a_clone() -> None:
    """A row of 6 floats in [4, 6], a diagonal of 4, a slice [2, 6]."""
    args = {"dim": 0, "index": 1}
    clone, row = launched(
        sig("aten.select_scatter.default", MAT, None, args, self=MAT, src=((6,), "float32"))
    )
    assert (clone.read_bytes, clone.write_bytes) == (96, 96)
    assert (row.read_bytes, row.write_bytes) == (24, 24)
    _, diagonal = launched(
        sig("aten.diagonal_scatter.default", MAT, self=MAT, src=((4,), "float32"))
    )
    assert (diagonal.read_bytes, diagonal.write_bytes) == (16, 16)
    _, part = launched(
        sig("aten.slice_scatter.default", MAT, None, {"dim": 0}, self=MAT, src=((2, 6), "float32"))
    )
    assert (part.read_bytes, part.write_bytes) == (48, 48)


def test_padding_by_nothing_or_less_is_a_copy() -> None:
    name = "aten.constant_pad_nd.default"
    (cut,) = launched(sig(name, ((4, 5), "float32"), None, {"pad": [-1, 0]}, self=MAT))
    assert (cut.family, cut.read_bytes, cut.write_bytes) == ("copy", 80, 80)
    # one column is cut off on the left, two are added on the right: 4·7 elements filled, 4·5 copied
    fill, inside = launched(sig(name, ((4, 7), "float32"), None, {"pad": [-1, 2]}, self=MAT))
    assert (fill.write_bytes, inside.read_bytes, inside.write_bytes) == (112, 80, 80)
    fill, inside = launched(sig(name, ((7, 6), "float32"), None, {"pad": [0, 0, 3, 0]}, self=MAT))
    assert (fill.write_bytes, inside.write_bytes) == (168, 96)


def test_blocks_are_copied_to_the_diagonal_of_zeros() -> None:
    works = launched(sig("aten.block_diag.default", ((6, 9), "float32"),
                         tensors=[((4, 6), "float32"), ((2, 3), "float32")]))  # fmt: skip
    assert [w.write_bytes for w in works] == [216, 96, 24]


@pytest.mark.parametrize(
    ("args", "size", "sectors"),
    [
        # a row of 60 numbers has no gaps
        ({}, 60, None), ({"dim": 0}, 60, None), ({"dim": -2}, 60, None),
        # a column of 40 numbers, each in a sector of its own
        ({"dim": 1}, 40, 5 + 40), ({"dim": -1}, 40, 5 + 40),
    ],
)  # fmt: skip
def test_a_row_or_a_column_is_copied_to_its_place(
    args: dict[str, int], size: int, sectors: int | None
) -> None:
    whole: Spec = ((40, 60), "float32")
    call = {**args, "index": 1}
    name = "aten.select_backward.default"
    clear, part = launched(sig(name, whole, None, call, grad_output=((size,), "float32")))
    assert (clear.write_bytes, part.write_bytes) == (9600, 4 * size)
    assert part.family == ("memcpy" if sectors is None else "copy")
    assert part.dims.get("warp_sectors") == sectors


def test_rows_behind_a_row_of_padding_are_a_memcpy() -> None:
    x: Spec = ((40, 60), "float32")
    for pad, family in (([0, 0, 1, 0], "memcpy"), ([1, 0], "copy")):
        out: Spec = ((40 + sum(pad[2:]), 60 + sum(pad[:2])), "float32")
        _, part = launched(sig("aten.constant_pad_nd.default", out, None, {"pad": pad}, self=x))
        assert (part.family, part.bytes) == (family, 2 * 9600)
    (cut,) = launched(
        sig("aten.constant_pad_nd.default", ((39, 60), "float32"), None, {"pad": [0, 0, 0, -1]},
            self=x)
    )  # fmt: skip
    assert (cut.family, cut.bytes) == ("memcpy", 2 * 39 * 240)


def test_every_second_column_is_a_slice_with_gaps() -> None:
    call = {"input_sizes": [40, 60], "dim": 1, "start": 0, "end": 60, "step": 2}
    name, grad = "aten.slice_backward.default", ((40, 30), "float32")
    _, part = launched(sig(name, ((40, 60), "float32"), None, call, grad_output=grad))
    # 32 numbers lie in 4 sectors on one side, and span 252 bytes on the other
    assert (part.family, part.dims["warp_sectors"]) == ("copy", round(37.5 * (4 + 252 / 32)))
