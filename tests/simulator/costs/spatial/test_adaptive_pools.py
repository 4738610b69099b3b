"""Adaptive pools, the gradients of largest values and of windows, and grids of places."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import Spec, launched, sig

F32, I64 = "float32", "int64"


def run(name: str, out: Spec | list[Spec], args: dict[str, Any], **inputs: Any) -> tuple[Work, ...]:
    return launched(sig(f"aten.{name}.default", out, None, args, **inputs))


def test_the_largest_of_adaptive_windows() -> None:
    """2 · 8 images in another order than row-major are copied, and both results back."""
    places = ((2, 8, 4, 4), I64)
    big, small = ((2, 8, 8, 8), F32), ((2, 8, 4, 4), F32)
    (work,) = run("adaptive_max_pool2d", [small, places], {}, self=big)
    assert (work.dims["variant"], work.dims["taps"], work.flops) == ("adaptive_max", 4, 1024)
    last = Tensor((2, 8, 8, 8), F32, (512, 1, 64, 8))
    works = run("adaptive_max_pool2d", [small, places], {}, self=last)
    assert [w.family for w in works] == ["copy", "pool", "copy", "copy"]
    assert [w.write_bytes for w in works] == [4096, 1024 + 2048, 1024, 2048]
    zeros, back = run("adaptive_max_pool2d_backward", big, {}, grad_output=small, self=big,
                      indices=places)  # fmt: skip
    assert zeros.family == "fill"
    assert (back.dims["variant"], back.flops) == ("adaptive_max_backward", 256)


@pytest.mark.parametrize(("sides", "stride", "covering"),
                         [([3, 3], [2, 2], 4), ([3, 3], [], 1), ([5], [1], 25)])  # fmt: skip
def test_windows_whose_gradient_reaches_an_input(
    sides: list[int], stride: list[int], covering: int
) -> None:
    big, small, places = ((2, 8, 8, 8), F32), ((2, 8, 4, 4), F32), ((2, 8, 4, 4), I64)
    _, back = run("max_pool2d_with_indices_backward", big, {"kernel_size": sides, "stride": stride},
                  grad_output=small, self=big, indices=places)  # fmt: skip
    assert back.dims["taps"] == covering


@pytest.mark.parametrize(("sides", "n"), [((10, 20), 200), ((5, 10, 20), 1000)])
def test_a_grid_of_places_is_a_product(sides: tuple[int, ...], n: int) -> None:
    """Three matrices of 2·3 or 3·4 numbers times the grid of n places and a one."""
    rank = len(sides)
    theta, places = ((3, rank, rank + 1), F32), ((3, *sides, rank), F32)
    *base, product = run("affine_grid_generator", places, {}, theta=theta)
    side = ["arange", "pointwise", "pointwise", "copy"]
    assert [work.family for work in base] == [*side * rank, "fill"]
    aligned = run("affine_grid_generator", places, {"align_corners": True}, theta=theta)
    assert [work.family for work in aligned] == [*["arange", "copy"] * rank, "fill", "gemm"]
    assert product.dims | {"b": 3, "m": n, "n": rank, "k": rank + 1} == product.dims
    assert product.flops == 3 * n * rank * 2 * (rank + 1)
    assert product.read_bytes == 12 * n * (rank + 1) + 12 * rank * (rank + 1)
    assert product.write_bytes == 3 * n * rank * 4
