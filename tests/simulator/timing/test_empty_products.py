"""A product of empty matrices among other products of the same curve."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.timing.profile import profile
from simulator.timing.roofline import Roofs, roofs

H200 = gpu("h200")


def product(m: int, n: int, k: int, dtype: str) -> Work:
    tensor = dtype == "float16"
    size = 2 if tensor else 4
    return Work(
        "gemm",
        flops=2 * m * n * k,
        read_bytes=size * (m * k + k * n),
        write_bytes=size * m * n,
        engine="tensor" if tensor else "vector",
        dtype=dtype,
        instructions=0 if tensor else m * n * k,
        dims={"b": 1, "m": m, "n": n, "k": k, "transa": False, "transb": True, "align_bytes": 16},
    )


def seconds(table: Roofs) -> list[float]:
    count = len(table.compute_s)
    return table.parts(np.ones(count), 0.0).duration_s.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_empty_product_does_not_change_the_time_of_the_others(dtype: str) -> None:
    others = [product(197, 288, 8192, dtype), product(512, 512, 64, dtype)]
    empty = product(16, 256, 0, dtype)
    together = seconds(roofs([others[0], empty, others[1]], H200, profile()))
    assert [together[0], together[2]] == seconds(roofs(others, H200, profile()))
    assert [together[1]] == seconds(roofs([empty], H200, profile()))
    assert 0 < together[1] < min(together[0], together[2])
