"""The blocks of reductions, against recordings on an H200 and hand-computed results of
`setReduceConfig`."""

from __future__ import annotations

import pytest

from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from simulator.lowering.reduction import Grid, grid
from tests.simulator.costs.conftest import Spec, sig

H200 = gpu("h200")


@pytest.mark.parametrize(
    ("outputs", "inputs", "across", "vector", "expected"),
    [
        # 16 warps, one for each output; a lane has 4224 / 32 = 132 values, too few for a whole
        # block
        (124, 4224, False, 4, Grid(8, 1, 512, 132, 0)),
        # one output: 1,451,159 / 512 = 2,835 values per thread are shared among blocks, down to 16
        # per thread
        (1, 1_451_159, False, 8, Grid(1, 178, 512, 16, 1)),
        # 32 lanes with 4 outputs each, 4 warps: 40,960 values, shared by the 16 blocks that each of
        # 132 multiprocessors holds; then each warp gathers 528 parts
        (128, 163_840, True, 4, Grid(1, 2112, 128, 20, 528)),
        (9536, 768, True, 4, Grid(75, 1, 128, 192, 0)),
        # 153,600 / 512 = 300 values, more than 256, are shared if the 132 · 4 resident blocks cover
        # all outputs
        (528, 153_600, False, 4, Grid(528, 2, 512, 150, 1)),
        (529, 153_600, False, 4, Grid(529, 1, 512, 300, 0)),
    ],
)
def test_grid(outputs: int, inputs: int, across: bool, vector: int, expected: Grid) -> None:
    assert grid(outputs, inputs, across, vector, H200) == expected


def families(shape: tuple[int, ...], dim: list[int], dtype: str = "float32") -> list[str]:
    out = tuple(size for i, size in enumerate(shape) if i not in dim)
    spec: Spec = (shape, dtype)
    op = sig("aten.sum.dim_IntList", (out, dtype), args={"dim": dim}, self=spec)
    return [work.family for work in launches(op, H200) or ()]


@pytest.mark.parametrize(
    ("shape", "dim", "shared"),
    [
        ((3072, 40), [0], False),
        ((1792, 64), [0], False),
        ((32768, 471), [0], True),
        ((163_840, 5), [0], True),
        ((65536, 192), [1], False),
        ((417, 60, 421), [0, 2], True),
    ],
)
def test_blocks_that_meet_clear_semaphores(
    shape: tuple[int, ...], dim: list[int], shared: bool
) -> None:
    assert families(shape, dim) == ["fill"] * shared + ["reduction"]


def test_more_units_share_an_output_more() -> None:
    # 3 blocks of 512 for each of 128 multiprocessors that hold 1,536 threads; 4 for 132 that hold
    # 2,048
    assert grid(1, 10**7, False, 4, gpu("rtx4090")).parts == 3 * 128
    assert grid(1, 10**7, False, 4, H200).parts == 4 * 132
