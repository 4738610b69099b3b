"""Which launches of a library's calls are samples of the fit."""

from typing import Any

import pytest

from calibration.record.library_samples import Swept, of_file, samples
from calibration.sweeps import Point
from simulator.costs import Work
from simulator.hardware.gpu import gpu

TENSOR = "sm80_xmma_fprop_implicit_gemm_indexed_wo_smem_f16f16_f16f32_f32"
LANES = "void convolve_common_engine_float_NHWC<float, float, 1024>"


def _call(operation: str, variant: str, kernel: str) -> Swept:
    """A convolution that is lowered to tensor cores, and the kernel that ran in 8 and 9 s."""
    dims: dict[str, Any] = {"direction": "fwd", "depthwise": False, "variant": variant}
    work = Work("conv", 8, 8, 8, engine="tensor", dtype="tf32", dims=dims)
    params = next(p for p in ({"n": n} for n in range(50)) if not Point(operation, p).held_out)
    return Swept(Point(operation, params), [(work, 1.0, 0.0)], [(kernel, 8.0, 9.0)])


@pytest.mark.parametrize("operation", ["stem", "layer_convolution"])
def test_calls_of_another_algorithm_are_samples_of_curves_without_a_rule(operation: str) -> None:
    every = samples([_call(operation, "fwd_first", LANES)])
    assert sorted(sample.seconds for sample in every) == [8.0, 9.0]
    assert samples([_call(operation, "fwd_wide", LANES)]) == []


def test_calls_that_run_as_lowered_are_samples() -> None:
    every = samples([_call("stem", "fwd_wide", TENSOR)])
    assert sorted(sample.seconds for sample in every) == [8.0, 9.0]


def test_functions_are_chosen_by_their_names() -> None:
    """Both directions of a function match; a function that reads values is left out."""
    swept = list(of_file("functions_second", gpu("h200"), "chunks|gaussian_nll"))
    assert {each.point.params["name"] for each in swept} == {"chunks"}
    assert {each.point.operation for each in swept} == {"function", "function_backward"}
    (backward, *_) = (each for each in swept if "backward" in each.point.operation)
    assert [work.family for work, _, _ in backward.launches] == ["concat"]
