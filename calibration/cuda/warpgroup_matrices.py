"""Hopper's tensor-core ceiling through `wgmma`, with both operands in shared memory (sm_90a only).

A block is one warpgroup. It keeps 64 rows of A and n rows of Bᵀ, 128 bytes each, in shared memory
and multiplies them again and again into the same 64 × n sums.

Layout (no swizzle, PTX ISA "Matrix-Descriptor Format"): an instruction takes 32 bytes of each row,
two columns of core matrices of 8 rows × 16 bytes. A core matrix is 128 contiguous bytes, the two
columns are adjacent (leading offset 128), and the stride of eight rows is 256 bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from calibration.cuda.compile import architecture, kernel, multiprocessors
from calibration.cuda.rerun import rerun
from calibration.cuda.traffic import Traffic
from calibration.cuda.warp_matrices import random_matrix
from calibration.sweeps.registry import Call, Params, operation
from simulator.errors import InputError

ROWS, ROW_BYTES, SLICES = 64, 128, 4  # an instruction takes a slice: 32 bytes of a row
# dtype: (bytes, k of an instruction, the types of D, A and B, its last operands, type of sums in C)
FORMS = {
    "bf16": (2, 16, "f32.bf16.bf16", "p, 1, 1, 0, 0", "float"),
    "fp16": (2, 16, "f32.f16.f16", "p, 1, 1, 0, 0", "float"),
    "tf32": (4, 8, "f32.tf32.tf32", "p, 1, 1", "float"),
    "fp8": (1, 32, "f32.e4m3.e4m3", "p, 1, 1", "float"),
    "int8": (1, 32, "s32.s8.s8", "p", "int"),
}
SOURCE = r"""
__device__ __forceinline__ void stage(const uint4* rows, unsigned char* shared, int count) {
  for (int i = threadIdx.x; i < count * 8; i += blockDim.x) {  // 8 chunks of 16 bytes a row
    const int row = i / 8, slice = i % 8 / 2, half = i % 2;
    const int at = slice * count * 32 + row / 8 * 256 + half * 128 + row % 8 * 16;
    *reinterpret_cast<uint4*>(shared + at) = rows[i];
  }
}

__device__ __forceinline__ unsigned long long descriptor(const unsigned char* shared) {
  const unsigned long long address = __cvta_generic_to_shared(shared);
  return (address & 0x3FFFF) >> 4 | (128ull >> 4) << 16 | (256ull >> 4) << 32;
}

__device__ __forceinline__ void multiply(SUM (&d)[N / 2], unsigned long long a,
                                         unsigned long long b) {
  asm volatile(WGMMA);
}

extern "C" __global__ void __launch_bounds__(128)
warpgroup_mma(const uint4* __restrict__ A, const uint4* __restrict__ B, SUM* __restrict__ D,
              int repeats) {
  __shared__ alignas(128) unsigned char a[64 * 128], b[N * 128];
  stage(A, a, 64);
  stage(B, b, N);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  SUM d[N / 2];
#pragma unroll
  for (int j = 0; j < N / 2; ++j) d[j] = 0;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll 1
  for (int i = 0; i < repeats; ++i) {
#pragma unroll
    for (int s = 0; s < 4; ++s)
      multiply(d, descriptor(a + s * 64 * 32), descriptor(b + s * N * 32));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  SUM* tile = D + blockIdx.x * 64 * N + row * N + lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < N / 8; ++j) {
    tile[8 * j] = d[4 * j];
    tile[8 * j + 1] = d[4 * j + 1];
    tile[8 * j + 8 * N] = d[4 * j + 2];
    tile[8 * j + 8 * N + 1] = d[4 * j + 3];
  }
}
"""


def instruction(dtype: str, columns: int) -> str:
    """The body of the asm statement, which names each of the columns / 2 sums of a thread."""
    _, depth, types, last, accumulator = FORMS[dtype]
    sums = columns // 2
    registers = ", ".join(f"%{i}" for i in range(sums))
    constraint = "f" if accumulator == "float" else "r"
    outputs = ", ".join(f'"+{constraint}"(d[{i}])' for i in range(sums))
    name = f"wgmma.mma_async.sync.aligned.m64n{columns}k{depth}.{types}"
    body = f"{name} {{{registers}}}, %{sums}, %{sums + 1}, {last};"
    text = f"{{ .reg .pred p; setp.eq.u32 p, 0, 0; {body} }}"
    return f'"{text}" : {outputs} : "l"(a), "l"(b)'


def wgmma_points() -> Iterator[Params]:
    """The widest tile of each dtype and narrower ones of bf16, with one to three blocks per SM."""
    for dtype in FORMS:
        for columns in (64, 128, 256) if dtype == "bf16" else (256,):
            for blocks_per_sm in (1, 2, 3):
                point = dict(columns=columns, blocks_per_sm=blocks_per_sm, repeats=1024)
                yield dict(dtype=dtype, **point)


@operation(wgmma_points, kind="cuda")
def cuda_warpgroup_mma(dtype: str, columns: int, blocks_per_sm: int, repeats: int) -> Call:
    """D += A·B `repeats` times on random operands; D is (blocks, 64, columns). Raises InputError on
    any GPU except Hopper, the only one with the instruction."""
    if architecture() != "sm_90a":
        raise InputError(
            f"wgmma needs compute capability 9.0, but this GPU is {architecture()}. Leave out "
            "cuda_warpgroup_mma; use cuda_warp_mma instead"
        )
    itemsize, _, _, _, accumulator = FORMS[dtype]
    blocks = multiprocessors() * blocks_per_sm
    a = random_matrix(dtype, ROWS, ROW_BYTES // itemsize)
    b = random_matrix(dtype, columns, ROW_BYTES // itemsize)
    sums = torch.int32 if accumulator == "int" else torch.float32
    d = torch.empty(blocks, ROWS, columns, dtype=sums)
    compiled = kernel(
        SOURCE, "warpgroup_mma", N=columns, SUM=accumulator, WGMMA=instruction(dtype, columns)
    )
    return compiled.prepare(blocks, 128, a, b, d, repeats)


def wgmma_traffic(
    multiprocessors: int, dtype: str, columns: int, blocks_per_sm: int, repeats: int
) -> Traffic:
    """4 instructions of 2·64·columns·k FLOPs per repeat; each block's operands and sums once."""
    blocks, depth = multiprocessors * blocks_per_sm, FORMS[dtype][1]
    flops = blocks * repeats * SLICES * 2 * ROWS * columns * depth
    return Traffic(blocks * (ROWS + columns) * ROW_BYTES, blocks * ROWS * columns * 4, flops)


def check(device: torch.device | str) -> None:
    """Compare with torch in fp64; skipped on a GPU without the instruction."""
    with torch.device(device):
        if architecture() != "sm_90a":
            return
        for dtype in FORMS:
            for columns in (64, 256):
                call = cuda_warpgroup_mma(dtype, columns, blocks_per_sm=1, repeats=3)
                a, b, d = rerun(call)
                exact = 3 * a.double() @ b.double().mT
                # fp8 sums have about 13 bits inside the tensor core
                slack = {"int8": 0.0, "fp8": 2e-2}.get(dtype, 1e-3)
                torch.testing.assert_close(
                    d.double(), exact.expand(d.shape), rtol=slack, atol=10 * slack
                )
