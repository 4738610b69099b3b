"""Samples of convolutions for the fit: only those that ran with the lowered algorithm."""

import pytest

from calibration.record.convolution_kernels import algorithm, lowered_algorithms
from calibration.record.samples import match
from simulator.costs import Work

IMPLICIT = (
    "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x64x64_"
    "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"
)
GROUPED = "void cudnn::cnn::dgrad2d_grouped_direct_kernel<__half, int, float>"
LAYOUT = ("cudnn::nchwToNhwcKernel<x>", 2.0)


def _convolution(variant: str | None = None, direction: str = "dgrad") -> Work:
    dims = {"direction": direction, "depthwise": False}
    return Work("conv", 8, 8, 8, dims=dims | ({"variant": variant} if variant else {}))


@pytest.mark.parametrize(
    "name, expected",
    [
        (IMPLICIT, "implicit"),
        ("cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized>", "implicit"),
        ("sm80_xmma_fprop_implicit_gemm_indexed_wo_smem_f16f16_f16f32_f32", "first"),
        ("sm80_xmma_dgrad_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw", "direct"),
        (GROUPED, "direct"),
        ("nvjet_sm90_tst_64x8_64x16_1x4_h_bz_TNT", "product"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4>", "product"),
    ],
)
def test_algorithms_by_recorded_names(name: str, expected: str) -> None:
    assert algorithm(name) == expected


def test_algorithms_that_a_lowered_convolution_may_be_run_by() -> None:
    assert lowered_algorithms(_convolution()) == ("implicit",)
    assert lowered_algorithms(_convolution("dgrad_first")) == ("first", "implicit")
    assert lowered_algorithms(_convolution("fwd_plain", "fwd")) == ("product",)
    assert lowered_algorithms(_convolution("fwd_direct", "fwd")) == ()
    assert lowered_algorithms(_convolution("fwd_first", "fwd")) == ()


def test_a_convolution_by_another_algorithm_is_left_out() -> None:
    work = _convolution()
    assert match([work], [(IMPLICIT, 5.0)]) == [(work, 5.0)]
    assert match([work], [(GROUPED, 100.0)]) == []


def test_a_convolution_with_more_helpers_is_left_out() -> None:
    assert match([_convolution()], [(IMPLICIT, 5.0), LAYOUT]) == []


def test_helpers_beyond_those_lowered_belong_to_a_direct_convolution() -> None:
    work = _convolution("fwd_direct", "fwd")
    assert match([work], [("implicit_convolve_sgemm", 5.0), LAYOUT]) == [(work, 7.0)]
