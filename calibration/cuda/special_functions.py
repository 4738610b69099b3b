"""Rates of exponentials, cosines and similar functions on an SM, precise and fast."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from calibration.cuda.compile import kernel, multiprocessors
from calibration.cuda.rerun import rerun
from calibration.cuda.traffic import Traffic
from calibration.sweeps.registry import Call, Params, operation

BLOCK, CHAINS = 128, 4
# function: (scale, smallest c, largest c). x ← scale·f(x) + c then stays in the range where
# networks use f: tanh and erf on both sides of their branch, log and rsqrt above 0.
FUNCTIONS: dict[str, tuple[float, float, float]] = {
    "exp": (-0.25, -2.0, 2.0),
    "cos": (1.0, -2.0, 2.0),
    "tanh": (0.5, -2.0, 2.0),
    "erf": (0.5, -2.0, 2.0),
    "log": (0.25, 1.0, 2.0),
    "rsqrt": (0.25, 0.5, 2.0),
}
# The fast functions (erf has no fast form) are written out, not left to --use_fast_math: NVRTC 13.0
# caches compiled code, and returns the precise code again if only that option differs. The
# functions exp and log go through base 2, with log₂e = 1.442695… and ln 2 = 0.693147…
SOURCE = r"""
#define APPROXIMATE(name, instruction)                    \
  __device__ __forceinline__ float name(float x) {        \
    float y;                                              \
    asm(instruction " %0, %1;" : "=f"(y) : "f"(x));       \
    return y;                                             \
  }
APPROXIMATE(fast_exp2, "ex2.approx.ftz.f32")
APPROXIMATE(fast_log2, "lg2.approx.ftz.f32")
APPROXIMATE(fast_cos, "cos.approx.ftz.f32")
APPROXIMATE(fast_tanh, "tanh.approx.f32")
APPROXIMATE(fast_rsqrt, "rsqrt.approx.ftz.f32")
__device__ __forceinline__ float fast_exp(float x) { return fast_exp2(x * 1.44269504f); }
__device__ __forceinline__ float fast_log(float x) { return fast_log2(x) * 0.693147181f; }

extern "C" __global__ void __launch_bounds__(128)
evaluate(const float* __restrict__ scale, const float* __restrict__ shift,
         float* __restrict__ y, int repeats) {
  const float s = *scale;
  const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  float c[CHAINS], v[CHAINS];
#pragma unroll
  for (int j = 0; j < CHAINS; ++j) v[j] = c[j] = shift[j * threads + thread];
#pragma unroll 4
  for (int i = 0; i < repeats; ++i) {
#pragma unroll
    for (int j = 0; j < CHAINS; ++j) v[j] = fmaf(s, FUNCTION(v[j]), c[j]);
  }
#pragma unroll
  for (int j = 0; j < CHAINS; ++j) y[j * threads + thread] = v[j];
}
"""


def function_points() -> Iterator[Params]:
    """Each function on a full SM and on a quarter of an SM, in its precise and its fast form (erf
    has no fast form)."""
    for function in FUNCTIONS:
        for fast in (False,) if function == "erf" else (False, True):
            for warps_per_sm in (8, 32):
                yield dict(function=function, fast=fast, warps_per_sm=warps_per_sm, repeats=1024)


@operation(function_points, kind="cuda")
def cuda_special_function(function: str, fast: bool, warps_per_sm: int, repeats: int) -> Call:
    """x ← scale·f(x) + c in fp32, `repeats` times; fast is the instruction `f.approx`."""
    scale, least, most = FUNCTIONS[function]
    if warps_per_sm % 4:
        raise ValueError(f"{warps_per_sm=}: expected a multiple of 4")
    blocks = multiprocessors() * warps_per_sm // 4
    shift = torch.rand(blocks * BLOCK * CHAINS) * (most - least) + least
    name = f"fast_{function}" if fast else f"{function}f"
    compiled = kernel(SOURCE, "evaluate", FUNCTION=name, CHAINS=CHAINS)
    y = torch.empty_like(shift)
    return compiled.prepare(blocks, BLOCK, torch.tensor([scale]), shift, y, repeats)


def function_traffic(
    multiprocessors: int, function: str, fast: bool, warps_per_sm: int, repeats: int
) -> Traffic:
    """One evaluation and one multiply-add per chain and repeat; reads and writes each chain, reads
    the scale."""
    chains = multiprocessors * warps_per_sm * 32 * CHAINS
    evaluations = chains * repeats
    return Traffic(4 * chains + 4, 4 * chains, flops=2 * evaluations, functions=evaluations)


def check(device: torch.device | str) -> None:
    """Compare with torch in fp64: only rounding errors if precise, 2⁻¹⁰ (tanh.approx's error) if
    fast."""
    with torch.device(device):
        for function, (scale, _, _) in FUNCTIONS.items():
            for fast in (False,) if function == "erf" else (False, True):
                slack = 2e-3 if fast else 2e-6
                call = cuda_special_function(function, fast, warps_per_sm=4, repeats=3)
                _, shift, y = rerun(call)
                f: Callable[[torch.Tensor], torch.Tensor] = getattr(torch, function)
                exact = c = shift.double()
                for _ in range(3):
                    exact = scale * f(exact) + c
                torch.testing.assert_close(y.double(), exact, rtol=slack, atol=slack)
