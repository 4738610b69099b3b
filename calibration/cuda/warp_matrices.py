"""The tensor cores' rate through `mma.sync`, with all operands in registers.

Each of these instructions takes a 16-row A and an 8-row Bᵀ whose rows hold 32 bytes, whatever the
dtype, so one kernel serves all. On Hopper they reach about two thirds of the rate of `wgmma`
(warpgroup_matrices.py); on older GPUs they are the ceiling.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from calibration.cuda.compile import kernel, multiprocessors
from calibration.cuda.rerun import rerun
from calibration.cuda.traffic import Traffic
from calibration.sweeps.registry import Call, Params, operation

ROWS, COLUMNS, ROW_BYTES = 16, 8, 32
# dtype: (torch's dtype, shape, the types of D, A, B and C, accumulator in C, its asm constraint)
FORMS = {
    "bf16": (torch.bfloat16, "m16n8k16", "f32.bf16.bf16.f32", "float", "f"),
    "fp16": (torch.float16, "m16n8k16", "f32.f16.f16.f32", "float", "f"),
    "tf32": (torch.float32, "m16n8k8", "f32.tf32.tf32.f32", "float", "f"),
    "int8": (torch.int8, "m16n8k32", "s32.s8.s8.s32", "int", "r"),
}
# Lane l holds rows l/4 and l/4 + 8 of A, row l/4 of Bᵀ, and of each the words l%4 and l%4 + 4.
SOURCE = r"""
extern "C" __global__ void __launch_bounds__(128)
warp_mma(const unsigned* __restrict__ A, const unsigned* __restrict__ B, SUM* __restrict__ D,
         int repeats) {
  const int lane = threadIdx.x % 32, row = lane / 4, word = lane % 4;
  const unsigned a0 = A[row * 8 + word], a1 = A[(row + 8) * 8 + word];
  const unsigned a2 = A[row * 8 + word + 4], a3 = A[(row + 8) * 8 + word + 4];
  unsigned b0[CHAINS], b1[CHAINS];
  SUM d[CHAINS][4];
#pragma unroll
  for (int j = 0; j < CHAINS; ++j) {
    b0[j] = B[(j * 8 + row) * 8 + word];
    b1[j] = B[(j * 8 + row) * 8 + word + 4];
    d[j][0] = d[j][1] = d[j][2] = d[j][3] = 0;
  }
#pragma unroll 4
  for (int i = 0; i < repeats; ++i) {
#pragma unroll
    for (int j = 0; j < CHAINS; ++j)
      asm(INSTRUCTION " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+" CONSTRAINT(d[j][0]), "+" CONSTRAINT(d[j][1]), "+" CONSTRAINT(d[j][2]),
            "+" CONSTRAINT(d[j][3])
          : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0[j]), "r"(b1[j]));
  }
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
#pragma unroll
  for (int j = 0; j < CHAINS; ++j) {
    SUM* tile = D + (warp * CHAINS + j) * 128 + row * 8 + 2 * word;
    tile[0] = d[j][0]; tile[1] = d[j][1]; tile[64] = d[j][2]; tile[65] = d[j][3];
  }
}
"""


def mma_points() -> Iterator[Params]:
    """One chain per warp (latency) to eight independent chains, on 4 to 16 warps per SM."""
    for dtype in FORMS:
        for chains, warps_per_sm in ((1, 4), (2, 8), (4, 8), (8, 8), (4, 16)):
            yield dict(dtype=dtype, chains=chains, warps_per_sm=warps_per_sm, repeats=4096)


@operation(mma_points, kind="cuda")
def cuda_warp_mma(dtype: str, chains: int, warps_per_sm: int, repeats: int) -> Call:
    """D += A·B `repeats` times, each warp on `chains` accumulators; D is (warps, chains, 16, 8)."""
    kind, shape, types, accumulator, constraint = FORMS[dtype]
    if warps_per_sm % 4:
        raise ValueError(f"{warps_per_sm=}: expected a multiple of 4")
    warps = multiprocessors() * warps_per_sm
    depth = ROW_BYTES // kind.itemsize
    a, b = random_matrix(dtype, ROWS, depth), random_matrix(dtype, chains * COLUMNS, depth)
    sums = torch.int32 if accumulator == "int" else torch.float32
    d = torch.empty(warps, chains, ROWS, COLUMNS, dtype=sums)
    compiled = kernel(
        SOURCE,
        "warp_mma",
        CHAINS=chains,
        SUM=accumulator,
        CONSTRAINT=f'"{constraint}"',
        INSTRUCTION=f'"mma.sync.aligned.{shape}.row.col.{types}"',
    )
    return compiled.prepare(warps // 4, 128, a, b, d, repeats)


def random_matrix(dtype: str, rows: int, columns: int) -> torch.Tensor:
    """Random operands; for tf32, fp32 numbers that tf32 holds exactly (10 bits of mantissa)."""
    if dtype == "int8":
        return torch.randint(-128, 128, (rows, columns), dtype=torch.int8)
    x = torch.randn(rows, columns)
    if dtype == "tf32":
        return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)
    kinds = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.float8_e4m3fn}
    return x.to(kinds[dtype])


def mma_traffic(
    multiprocessors: int, dtype: str, chains: int, warps_per_sm: int, repeats: int
) -> Traffic:
    """2·16·8·k FLOPs per instruction; each warp reads its operands and writes its sums once."""
    warps, depth = multiprocessors * warps_per_sm, ROW_BYTES // FORMS[dtype][0].itemsize
    flops = warps * chains * repeats * 2 * ROWS * COLUMNS * depth
    read = warps * (ROWS + chains * COLUMNS) * ROW_BYTES
    return Traffic(read, warps * chains * ROWS * COLUMNS * 4, flops)


def check(device: torch.device | str) -> None:
    """Compare with torch in fp64: products are exact, only the fp32 sums round."""
    with torch.device(device):
        for dtype in FORMS:
            for chains in (1, 4):
                call = cuda_warp_mma(dtype, chains, warps_per_sm=4, repeats=5)
                a, b, d = rerun(call)
                exact = 5 * a.double() @ b.double().view(chains, COLUMNS, -1).mT
                slack = 0.0 if dtype == "int8" else 1e-3
                torch.testing.assert_close(
                    d.double(), exact.expand(d.shape), rtol=slack, atol=slack
                )
