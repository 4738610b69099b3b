"""Vector peaks from chains of multiply-adds, and a sweep over arithmetic intensity."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from calibration.cuda.compile import kernel, multiprocessors
from calibration.cuda.rerun import rerun
from calibration.cuda.traffic import Traffic, ceil_div
from calibration.sweeps.registry import Call, Params, operation

BLOCK = 128  # threads: one warp for each of an SM's four schedulers
UNROLL = 32  # multiply-adds of a chain between two branches
SWEEP_THREADS, SWEEP_VECTORS, VECTOR_BYTES = 256, 2, 16
# dtype: (torch's dtype, elements in one register operand, type of the operand in C, instruction)
OPERANDS = {
    "fp32": (torch.float32, 1, "float", '"fma.rn.f32 %0, %1, %2, %3;" : "=f"(d) : "f"', "f"),
    "fp64": (torch.float64, 1, "double", '"fma.rn.f64 %0, %1, %2, %3;" : "=d"(d) : "d"', "d"),
    "fp16": (torch.float16, 2, "unsigned", '"fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"', "r"),
    "bf16": (torch.bfloat16, 2, "unsigned", '"fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"', "r"),
}
# x ← x·s + c with |s| < 1 stays bounded; s and c are read from memory, so that the compiler folds
# nothing
SOURCE = r"""
__device__ __forceinline__ OPERAND fused(OPERAND a, OPERAND b, OPERAND c) {
  OPERAND d;
  asm(FUSED);
  return d;
}

extern "C" __global__ void __launch_bounds__(128)
fma_chains(const OPERAND* __restrict__ sc, const OPERAND* __restrict__ x,
           OPERAND* __restrict__ y, int rounds) {
  const OPERAND s = sc[0], c = sc[1];
  const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  OPERAND v[CHAINS];
#pragma unroll
  for (int j = 0; j < CHAINS; ++j) v[j] = x[j * threads + thread];
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
#pragma unroll
      for (int j = 0; j < CHAINS; ++j) v[j] = fused(v[j], s, c);
    }
  }
#pragma unroll
  for (int j = 0; j < CHAINS; ++j) y[j * threads + thread] = v[j];
}

union Vector { uint4 bits; OPERAND part[16 / sizeof(OPERAND)]; };

extern "C" __global__ void __launch_bounds__(256)
intensity(const OPERAND* __restrict__ sc, const uint4* __restrict__ x, uint4* __restrict__ y,
          int repeats, unsigned n) {
  const OPERAND s = sc[0], c = sc[1];
  const unsigned first = blockIdx.x * blockDim.x * VECTORS + threadIdx.x;
  Vector v[VECTORS];
#pragma unroll
  for (int j = 0; j < VECTORS; ++j)
    if (first + j * blockDim.x < n) v[j].bits = x[first + j * blockDim.x];
#pragma unroll 16
  for (int r = 0; r < repeats; ++r) {
#pragma unroll
    for (int j = 0; j < VECTORS; ++j) {
#pragma unroll
      for (int k = 0; k < 16 / sizeof(OPERAND); ++k) v[j].part[k] = fused(v[j].part[k], s, c);
    }
  }
#pragma unroll
  for (int j = 0; j < VECTORS; ++j)
    if (first + j * blockDim.x < n) y[first + j * blockDim.x] = v[j].bits;
}
"""


def _defines(dtype: str) -> dict[str, str]:
    _, _, operand, instruction, constraint = OPERANDS[dtype]
    return dict(OPERAND=operand, FUSED=f'{instruction}(a), "{constraint}"(b), "{constraint}"(c)')


def _scale_and_shift(dtype: str) -> torch.Tensor:
    """s and c, each repeated to fill one register."""
    kind, packed, *_ = OPERANDS[dtype]
    return torch.tensor([0.75, 0.3]).to(kind).repeat_interleave(packed)


def fma_points() -> Iterator[Params]:
    """One to several independent chains per thread, with few to many warps per SM: from the latency
    to the peak.

    More warps do not replace chains: with one chain per thread the rate saturates at half the fp32
    peak of an H200, with two at two thirds, with four at 97%.
    """
    for dtype in OPERANDS:
        for chains in (1, 2, 4, 8) if dtype == "fp32" else (1, 4, 8):
            for warps_per_sm in (4, 8, 16, 32) if dtype == "fp32" else (4, 32):
                yield dict(dtype=dtype, chains=chains, warps_per_sm=warps_per_sm, repeats=16384)


@operation(fma_points, kind="cuda")
def cuda_fma_chains(dtype: str, chains: int, warps_per_sm: int, repeats: int) -> Call:
    """`repeats` dependent multiply-adds along each of a thread's `chains` registers."""
    kind, packed, *_ = OPERANDS[dtype]
    if repeats % UNROLL or warps_per_sm % 4:
        raise ValueError(
            f"{repeats=}: expected a multiple of {UNROLL}; {warps_per_sm=}: a multiple of 4"
        )
    blocks = multiprocessors() * warps_per_sm // 4
    x = torch.randn(blocks * BLOCK * chains * packed).to(kind)
    compiled = kernel(
        SOURCE, "fma_chains", CHAINS=chains, UNROLL=UNROLL, VECTORS=1, **_defines(dtype)
    )
    y = torch.empty_like(x)
    return compiled.prepare(blocks, BLOCK, _scale_and_shift(dtype), x, y, repeats // UNROLL)


def fma_traffic(
    multiprocessors: int, dtype: str, chains: int, warps_per_sm: int, repeats: int
) -> Traffic:
    """Reads and writes each register once (and s and c once); 2 FLOPs per element and repeat."""
    kind, packed, *_ = OPERANDS[dtype]
    elements = multiprocessors * warps_per_sm * 32 * chains * packed
    moved = elements * kind.itemsize
    return Traffic(moved + 2 * packed * kind.itemsize, moved, flops=2 * elements * repeats)


def intensity_points() -> Iterator[Params]:
    """1 to 512 repeats on 256 MB: memory-bound for few repeats, at the vector peak for many."""
    for dtype in ("fp32", "fp64", "bf16"):
        for power in range(10):
            yield dict(dtype=dtype, repeats=2**power, array_bytes=2**28)


@operation(intensity_points, kind="cuda")
def cuda_intensity(dtype: str, repeats: int, array_bytes: int) -> Call:
    """Read x, multiply-add each element `repeats` times in registers, write it."""
    kind = OPERANDS[dtype][0]
    if array_bytes <= 0 or array_bytes % VECTOR_BYTES:
        raise ValueError(f"{array_bytes=}: expected a multiple of {VECTOR_BYTES}")
    x = torch.randn(array_bytes // kind.itemsize, dtype=kind)
    vectors = array_bytes // VECTOR_BYTES
    compiled = kernel(
        SOURCE, "intensity", CHAINS=1, UNROLL=UNROLL, VECTORS=SWEEP_VECTORS, **_defines(dtype)
    )
    blocks = ceil_div(vectors, SWEEP_THREADS * SWEEP_VECTORS)
    operands = _scale_and_shift(dtype), x, torch.empty_like(x)
    return compiled.prepare(blocks, SWEEP_THREADS, *operands, repeats, vectors)


def intensity_traffic(multiprocessors: int, dtype: str, repeats: int, array_bytes: int) -> Traffic:
    """Reads and writes the array (and s and c once); 2 FLOPs per element and repeat."""
    kind, packed, *_ = OPERANDS[dtype]
    flops = 2 * repeats * (array_bytes // kind.itemsize)
    return Traffic(array_bytes + 2 * packed * kind.itemsize, array_bytes, flops)


def check(device: torch.device | str) -> None:
    """Compare with torch in fp64, rounded to the dtype after each step like a fused
    multiply-add."""
    with torch.device(device):
        for dtype in OPERANDS:
            for chains in (1, 4):
                call = cuda_fma_chains(dtype, chains, warps_per_sm=4, repeats=2 * UNROLL)
                _compare(call, dtype, 2 * UNROLL)
            for repeats in (1, 5, 37):  # 37 = 2·16 + 5: the unrolled loop and its rest
                _compare(cuda_intensity(dtype, repeats, array_bytes=16 * 1003), dtype, repeats)


def _compare(call: Call, dtype: str, repeats: int) -> None:
    pair, x, y = rerun(call)
    s, c = pair.double()[:: OPERANDS[dtype][1]]
    expected = x.double()
    for _ in range(repeats):
        expected = (expected * s + c).to(x.dtype).double()
    # fp32 and fp64 references round twice; the packed ones are exact in fp64 and must agree
    slack = {torch.float32: 1e-6, torch.float64: 1e-14}.get(x.dtype, 0.0)
    torch.testing.assert_close(y.double(), expected, rtol=slack, atol=slack)
