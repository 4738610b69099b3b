"""Reductions and softmax against hand-computed sums."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig

CUBE = ((2, 4, 6), "float32")


@pytest.mark.parametrize(
    ("dim", "shape", "dims"),
    [
        ([-1], (2, 4), {"rows": 8, "cols": 6, "inner": 1}),
        # 6 outputs lie between two summed elements
        ([1], (2, 6), {"rows": 12, "cols": 4, "inner": 6}),
        # 4·6 = 24 lie between two samples
        ([0], (4, 6), {"rows": 24, "cols": 2, "inner": 24}),
        ([0, 1], (6,), {"rows": 6, "cols": 8, "inner": 6}),
        (None, (), {"rows": 1, "cols": 48, "inner": 1}),
    ],
)
def test_shape(dim: Any, shape: tuple[int, ...], dims: dict[str, int]) -> None:
    args = {} if dim is None else {"dim": dim}
    (work,) = launched(sig("aten.sum.dim_IntList", (shape, "float32"), args=args, self=CUBE))
    assert {name: work.dims[name] for name in dims} == dims
    # reads 2·4·6·4 = 192 bytes, writes 4 per output; 48 additions
    assert (work.read_bytes, work.write_bytes, work.flops) == (192, 4 * dims["rows"], 48)


def test_channels_last_reduces_side_by_side() -> None:
    image = Tensor((2, 8, 3, 3), "float32", (72, 1, 24, 8))
    (work,) = launched(sig("aten.mean.dim", ((2, 3, 3), "float32"), args={"dim": [1]}, self=image))
    shape = {"rows": 18, "cols": 8, "inner": 1, "across": False}
    assert {name: work.dims[name] for name in shape} == shape
    # 2·8·9 additions and 18 divisions
    assert work.flops == 144 + 18


def test_half_is_widened_while_it_is_read() -> None:
    half = ((4, 6), "bfloat16")
    (work,) = launched(sig("aten.sum.default", ((), "float32"), self=half))
    assert (work.read_bytes, work.write_bytes) == (48, 4)


def test_a_sum_of_flags_casts_first() -> None:
    cast, total = launched(sig("aten.sum.default", ((), "int64"), self=((4, 6), "bool")))
    # 24 flags become 24·8 bytes, which the sum reads
    assert (cast.family, cast.read_bytes, cast.write_bytes) == ("pointwise", 24, 192)
    assert (total.read_bytes, total.write_bytes) == (192, 8)


def test_max_of_a_dimension_writes_values_and_indices() -> None:
    outs = [((2, 4), "float32"), ((2, 4), "int64")]
    (work,) = launched(sig("aten.max.dim", outs, args={"dim": -1}, self=CUBE))
    # 8·4 + 8·8
    assert work.write_bytes == 96


def test_norm_of_an_expanded_tensor() -> None:
    row = Tensor((4, 6), "float32", (0, 1))
    (work,) = launched(sig("aten.linalg_vector_norm.default", ((), "float32"), self=row))
    # 24 squares and additions, one root; 6·4 bytes are stored
    assert (work.flops, work.read_bytes) == (49, 24)


def test_variance() -> None:
    (work,) = launched(
        sig("aten.var_mean.correction", [((2, 4), "float32")] * 2, args={"dim": [-1]}, self=CUBE)
    )
    # 4·48 + 2·8
    assert (work.flops, work.write_bytes) == (208, 64)


def test_logsumexp_is_nine_launches() -> None:
    kernels = launched(
        sig("aten.logsumexp.default", ((2, 4), "float32"), args={"dim": [-1]}, self=CUBE)
    )
    assert len(kernels) == 9
    assert sum(w.family == "reduction" for w in kernels) == 2


@pytest.mark.parametrize(
    ("shape", "dim", "dtype", "across", "vector"),
    [
        ((64, 256), [1], "float32", False, 4),
        ((64, 256), [1], "bfloat16", False, 8),
        ((64, 120), [1], "float32", False, 1),  # too short
        ((64, 256), [0], "bfloat16", True, 4),
        ((64, 250), [0], "float32", True, 2),
        ((64, 251), [0], "float32", True, 1),
        ((4, 8, 256), [0, 2], "float32", False, 1),  # two dimensions
    ],
)
def test_elements_of_a_load(
    shape: tuple[int, ...], dim: list[int], dtype: str, across: bool, vector: int
) -> None:
    out = tuple(size for i, size in enumerate(shape) if i not in dim)
    (work,) = launched(
        sig("aten.sum.dim_IntList", (out, dtype), args={"dim": dim}, self=(shape, dtype))
    )
    assert (work.dims["across"], work.dims["vector"]) == (across, vector)
    assert work.dims["nested"] == (len(dim) == 2)
