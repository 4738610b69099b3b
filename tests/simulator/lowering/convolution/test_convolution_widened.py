"""Grouped convolutions that widen: their kernels as recorded on an H100 (`uneven.jsonl.gz`)."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulator.lowering.convolution.convolution_calls import conv, kernels


def run(
    dtype: str, n: int, into: int, out: int, groups: int, side: int, kernel: int, last: bool = True
) -> Counter[str]:
    """The kernels of a convolution of [n, into · groups, side, side]."""
    images, weights = (n, into * groups, side, side), (out * groups, into, kernel, kernel)
    op = conv(dtype, images, weights, side, groups=groups, last=last)
    names = (f"{k.family} {k.dims.get('variant', '')}".strip() for k in kernels(op))
    # the copy of the weight to channels last
    return Counter(name for name in names if name != "copy")


@pytest.mark.parametrize(
    ("n", "into", "out", "groups", "side", "kernel"),
    [
        (14, 1, 2, 8, 64, 3),
        (3, 1, 3, 128, 19, 5),
        (4, 1, 4, 128, 42, 7),
        (4, 2, 4, 24, 52, 3),
        (17, 2, 4, 96, 17, 5),
        (2, 2, 6, 8, 41, 3),
    ],
)
def test_the_groups_run_one_by_one_on_lanes(
    n: int, into: int, out: int, groups: int, side: int, kernel: int
) -> None:
    assert run("bfloat16", n, into, out, groups, side, kernel) == {"conv fwd_direct": groups}


@pytest.mark.parametrize(
    ("n", "into", "out", "groups", "side", "kernel"),
    [(37, 2, 4, 64, 29, 3), (53, 4, 8, 8, 29, 3), (7, 4, 8, 192, 20, 7)],
)
def test_many_pairs_and_wider_groups_run_together(
    n: int, into: int, out: int, groups: int, side: int, kernel: int
) -> None:
    assert run("bfloat16", n, into, out, groups, side, kernel)["conv fwd_joined"] == 1


def test_one_kernel_computes_them_in_float32_and_in_row_major_order() -> None:
    assert sum(run("float32", 13, 1, 2, 24, 31, 3).values()) == 1
    assert sum(run("bfloat16", 48, 1, 2, 48, 9, 7, last=False).values()) == 1
