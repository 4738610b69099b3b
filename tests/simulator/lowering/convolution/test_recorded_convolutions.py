"""Kernels of 900 random convolutions and their gradients, against their recording on an H200."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from calibration.record.convolution_kernels import runs_as_lowered
from calibration.record.convolution_samples import cases
from calibration.record.samples import _kind, _role
from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from simulator.records import Signature

H200 = gpu("h200")
Kernels = list[tuple[str, float]]
DIRECTIONS = {
    "aten.convolution.default": "forward",
    "aten.convolution_backward.default": "backward",
}


@cache
def recorded() -> dict[tuple[str, str, bool], list[tuple[Signature, Kernels]]]:
    """The recorded calls, by direction, dtype and whether they are in channels last."""
    calls: dict[tuple[str, str, bool], list[tuple[Signature, Kernels]]] = {}
    for op, kernels in cases():
        last = op["input"].stride[1] == 1
        calls.setdefault((DIRECTIONS[op.name], op.out.dtype, last), []).append((op, kernels))
    return calls


def agrees(op: Signature, kernels: Kernels) -> bool:
    """Whether a call is lowered to the recorded number of kernels of each role, and its product to
    the algorithm that ran."""
    works = launches(op, H200) or ()
    if Counter(map(_role, works)) != Counter(_kind(name) for name, _ in kernels):
        return False
    main = [name for name, _ in kernels if _kind(name) == "other"]
    products = [work for work in works if _role(work) == "other"]
    return all(runs_as_lowered(*pair) for pair in zip(products, main, strict=True))


@pytest.mark.parametrize(
    ("direction", "dtype", "last", "least", "of"),
    [
        ("forward", "float32", False, 186, 246),
        ("forward", "float32", True, 46, 72),
        ("forward", "float16", False, 165, 203),
        ("forward", "float16", True, 51, 70),
        ("forward", "bfloat16", False, 182, 222),
        ("forward", "bfloat16", True, 65, 87),
        ("backward", "float32", False, 106, 246),
        ("backward", "float32", True, 16, 72),
        ("backward", "float16", False, 107, 203),
        ("backward", "float16", True, 32, 70),
        ("backward", "bfloat16", False, 137, 222),
        ("backward", "bfloat16", True, 55, 87),
    ],
)
def test_kernels_are_those_that_ran(
    direction: str, dtype: str, last: bool, least: int, of: int
) -> None:
    calls = recorded()[direction, dtype, last]
    assert len(calls) == of
    assert sum(agrees(*call) for call in calls) >= least
