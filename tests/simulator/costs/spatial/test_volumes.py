"""Pools of volumes, and gradients of windows and of resized pictures, by hand."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from simulator.costs.curves import curve
from tests.simulator.costs.conftest import launched, sig

F32, I64 = "float32", "int64"
BIG, SMALL = ((2, 4, 16, 20, 80), F32), ((2, 4, 8, 10, 40), F32)
LANES = 8 * 8 * 2 * 2 * 256
"""Threads of 64 planes of 10 × 40 outputs, each in 2 · 2 blocks of 8 × 32."""


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_planes_of_volumes_have_whole_blocks(kind: str) -> None:
    outs, size = ([SMALL, (SMALL[0], I64)], "max_pool3d_with_indices"), {"kernel_size": [2, 2, 2]}
    outputs, name = outs if kind == "max" else ([SMALL], "avg_pool3d")
    (work,) = launched(sig(f"aten.{name}.default", outputs, None, size, self=BIG))
    assert (work.dims["elements"], work.dims["taps"]) == (LANES, 8)
    assert work.flops == 2 * 4 * 8 * 10 * 40 * 8
    rows = 8 * 8 * 10 * 64  # lanes of the warps of 40 outputs, which each visit 8 elements
    assert work.instructions == 335 * LANES + 20 * 8 * rows
    inputs: dict[str, Any] = {"grad_output": SMALL, "self": BIG}
    inputs |= {"indices": (SMALL[0], I64)} if kind == "max" else {}
    clear, back = launched(sig(f"aten.{name}_backward.default", BIG, None, size, **inputs))
    assert (clear.family, back.dims["elements"]) == ("fill", LANES)
    assert curve(back) == f"pool_{'max' if kind == 'max' else 'average'}_volumes_backward"


def test_an_element_adds_the_windows_that_contain_it() -> None:
    grad, out = ((8, 15, 8), F32), ((8, 64), F32)
    args = {"input_sizes": [8, 64], "dim": -1, "size": 8, "step": 4}
    clear, places, add = launched(
        sig("aten.unfold_backward.default", out, None, args, grad_in=grad)
    )
    assert (clear.family, places.family) == ("fill", "arange")
    # 64 positions of 8 bytes; two windows contain each of 512 elements
    assert places.write_bytes == 512
    assert (add.dims["elements"], add.dims["steps"], add.flops) == (512, 2, 1024)
    assert (add.read_bytes, add.write_bytes) == (8 * 15 * 8 * 4 + 2048, 2048)


@pytest.mark.parametrize(
    ("small", "large", "lanes"),
    [
        ((4, 4), (32, 32), 16),  # a warp is a row, whose elements each get 2 · 8 additions
        ((8, 8), (16, 16), 4 * 2),  # a warp is two rows: 2 · 2 additions from each
        ((8, 8), (8, 16), 4),  # each row adds to its own elements
        ((8, 8, 8), (4, 4, 4), 1 * 1 * 1),  # a smaller picture; a warp is two planes
    ],
)
def test_lanes_of_a_warp_that_add_to_one_element(
    small: tuple[int, ...], large: tuple[int, ...], lanes: int
) -> None:
    name = f"upsample_{'bi' if len(small) == 2 else 'tri'}linear{len(small)}d_backward"
    args = {"output_size": list(large), "input_size": [1, 2, *small]}
    out, grad = ((1, 2, *small), F32), ((1, 2, *large), F32)
    _, add = launched(sig(f"aten.{name}.default", out, None, args, grad_output=grad))
    assert add.dims["lanes"] == lanes
    # 2 instructions for each of two FLOPs of 2 or 3 dimensions' neighbours, and 4
    slots = 2 * 2 * 2 ** len(small) + 4
    assert add.instructions == 2 * prod(large) * slots * lanes
    half = ((1, 2, *large), "float16")
    _, add = launched(sig(f"aten.{name}.default", out, None, args, grad_output=half))
    assert add.instructions == 2 * prod(large) * slots * lanes * 6


def test_additions_to_few_sectors_wait_for_each_other() -> None:
    def steps(small: tuple[int, ...], large: tuple[int, ...]) -> int:
        args = {"output_size": list(large[2:]), "input_size": list(small)}
        name = "aten.upsample_bilinear2d_backward.default"
        _, add = launched(sig(name, (small, F32), None, args, grad_output=(large, F32)))
        return add.dims.get("steps", 0)

    # 270,336 threads have 66 planes of 64 × 64 gradients, whose sums are in 66 / 8 sectors
    additions = 8 * 256 * 64 * 64 * 4
    assert steps((8, 256, 1, 1), (8, 256, 64, 64)) == round(additions * (8 / 66 - 1 / 96))
    assert steps((8, 21, 64, 64), (8, 21, 512, 512)) == 0  # one plane has 512 sectors
