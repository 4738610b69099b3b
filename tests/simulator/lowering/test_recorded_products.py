"""Kernels of linear layers and products, against those that cuBLAS launched on an H200."""

from __future__ import annotations

from collections import Counter

import pytest

from simulator.hardware.gpu import gpu
from simulator.lowering import launches
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import sig
from tests.simulator.lowering.recorded_calls import DTYPES, Recorded, recorded

H200 = gpu("h200")
NAMES = {
    "fill": ("Memset",),
    "reduction": ("splitKreduce", "reduction::", "reduce_1Block"),
    "pointwise": ("scal_kernel", "epilogue::impl"),
}


def family(kernel: str) -> str:
    """The family of a kernel by its name: a product, or an auxiliary kernel."""
    return next((f for f, parts in NAMES.items() if any(p in kernel for p in parts)), "gemm")


def linear(call: Recorded) -> Signature:
    """The op of a recorded linear layer: x [m, k] with weight [n, k]."""
    p = call.params
    dtype, m, n, k = DTYPES[p["dtype"]], p["m"], p["n"], p["k"]
    x, weight, out = ((m, k), dtype), Tensor((k, n), dtype, (1, k)), ((m, n), dtype)
    if not p["bias"]:
        return sig("aten.mm.default", out, self=x, mat2=weight)
    return sig("aten.addmm.default", out, self=((n,), dtype), mat1=x, mat2=weight)


@pytest.mark.parametrize(("dtype", "bias", "least", "of"), [
    ("fp32", False, 76, 123), ("fp32", True, 103, 130), ("bf16", False, 289, 312),
    ("bf16", True, 254, 290), ("fp16", False, 111, 117), ("fp16", True, 96, 112),
])  # fmt: skip
def test_kernels_of_linear_layers_are_those_that_ran(
    dtype: str, bias: bool, least: int, of: int
) -> None:
    calls = [
        c for c in recorded("linear") if (c.params["dtype"], c.params["bias"]) == (dtype, bias)
    ]
    assert len(calls) == of
    alike = 0
    for call in calls:
        works = launches(linear(call), H200) or ()
        ours = Counter("gemm" if work.family == "gemv" else work.family for work in works)
        alike += ours == Counter(map(family, call.kernels))
    assert alike >= least
