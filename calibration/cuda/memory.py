"""Bandwidth of DRAM and L2 by size and by the bytes in flight.

A thread requests `vectors` × 16 bytes before it uses the first; an SM holds `blocks_per_sm` blocks
of `threads`. Their product is the bytes in flight of the SM, and by Little's law it determines the
bandwidth until the memory is saturated. Blocks that cover the data in one pass (blocks_per_sm = 0)
copy a tenth faster on an H200's DRAM than a persistent grid with a stride, so both ways are swept.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from calibration.cuda.compile import kernel, multiprocessors
from calibration.cuda.rerun import rerun
from calibration.cuda.traffic import Traffic, ceil_div
from calibration.sweeps.registry import Call, Params, operation

VECTOR_BYTES = 16  # the widest load of one thread
KIB, MIB = 2**10, 2**20
# bytes: 1 KB to 2 GB, dense around L2 sizes of 40 to 60 MB
SIZES_BYTES = [
    *(k * KIB for k in (1, 4, 16, 64, 256)),
    *(m * MIB for m in (1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 128, 256, 512, 2048)),
]
# (blocks per SM, threads, vectors): 0.5 KB to 128 KB in flight on each SM, in several ways
OCCUPANCIES = [
    *((1, threads, 1) for threads in (32, 64, 128)),
    *((blocks, 256, vectors) for vectors in (1, 2, 4) for blocks in (1, 2, 4, 8)),
    *((blocks, 256, 8) for blocks in (1, 2, 4)),
    *((0, 256, vectors) for vectors in (2, 4, 8)),  # one pass: as many blocks as needed
]
RESIDENT_BYTES, STREAMED_BYTES = 16 * MIB, 256 * MIB  # two arrays stay in L2; one does not
FULL = dict(blocks_per_sm=8, threads=256, vectors=4)
ONE_PASS = dict(blocks_per_sm=0, threads=256, vectors=1)

# A block processes tiles of VECTORS × its threads; all loads of a tile precede its stores.
SOURCE = r"""
#define TILES(n)                                                                        \
  const unsigned tile = blockDim.x * VECTORS;                                           \
  _Pragma("unroll 1")                                                                   \
  for (unsigned i = blockIdx.x * tile + threadIdx.x; i < (n); i += gridDim.x * tile)
#define BOUNDS __launch_bounds__(256, VECTORS > 4 ? 4 : 8)
#define EACH _Pragma("unroll") for (int j = 0; j < VECTORS; ++j)
#define AT (i + j * blockDim.x)
#define WHOLE(n) (i + (VECTORS - 1) * blockDim.x < (n))

extern "C" __global__ void BOUNDS
copy(const float4* __restrict__ x, float4* __restrict__ y, unsigned n) {
  TILES(n) {
    if (WHOLE(n)) {
      float4 v[VECTORS];
      EACH v[j] = x[AT];
      EACH y[AT] = v[j];
    } else {
      EACH if (AT < n) y[AT] = x[AT];
    }
  }
}

__device__ float4 multiply_add(float4 a, float4 b) {
  return make_float4(fmaf(3.0f, b.x, a.x), fmaf(3.0f, b.y, a.y),
                     fmaf(3.0f, b.z, a.z), fmaf(3.0f, b.w, a.w));
}

extern "C" __global__ void BOUNDS
triad(const float4* __restrict__ a, const float4* __restrict__ b, float4* __restrict__ y,
      unsigned n) {
  TILES(n) {
    if (WHOLE(n)) {
      float4 v[VECTORS], w[VECTORS];
      EACH { v[j] = a[AT]; w[j] = b[AT]; }
      EACH y[AT] = multiply_add(v[j], w[j]);
    } else {
      EACH if (AT < n) y[AT] = multiply_add(a[AT], b[AT]);
    }
  }
}

// Sums words as integers, so that a reference agrees to the bit; a thread writes one word.
extern "C" __global__ void BOUNDS
read(const uint4* __restrict__ x, unsigned* __restrict__ sums, unsigned n) {
  unsigned sum = 0;
  TILES(n) {
    uint4 v[VECTORS];
    EACH v[j] = WHOLE(n) || AT < n ? x[AT] : make_uint4(0, 0, 0, 0);
    EACH sum += v[j].x + v[j].y + v[j].z + v[j].w;
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def grid(
    multiprocessors: int, array_bytes: int, blocks_per_sm: int, threads: int, vectors: int
) -> int:
    """Blocks of a launch: enough for one pass, but at most `blocks_per_sm` per SM (0: no limit)."""
    if array_bytes <= 0 or array_bytes % VECTOR_BYTES:
        raise ValueError(f"array_bytes={array_bytes}: expected a multiple of {VECTOR_BYTES}")
    one_pass = ceil_div(array_bytes // VECTOR_BYTES, threads * vectors)
    return min(one_pass, blocks_per_sm * multiprocessors) if blocks_per_sm else one_pass


def copy_points() -> Iterator[Params]:
    """Every size, both ways to cover it, and every occupancy on L2 and on DRAM."""
    yield from (dict(array_bytes=size, **ONE_PASS) for size in SIZES_BYTES)
    yield from (dict(array_bytes=size, **FULL) for size in SIZES_BYTES[1::3])
    yield from occupancy_points()


def read_points() -> Iterator[Params]:
    """Every second size, and every occupancy on L2 and on DRAM."""
    yield from (dict(array_bytes=size, **FULL) for size in SIZES_BYTES[::2])
    yield from occupancy_points()


def triad_points() -> Iterator[Params]:
    """Every second size."""
    yield from (dict(array_bytes=size, **ONE_PASS) for size in SIZES_BYTES[1::2])


def occupancy_points() -> Iterator[Params]:
    """The sweep of bytes in flight, at a size that fits in L2 and at one that does not."""
    for size in (RESIDENT_BYTES, STREAMED_BYTES):
        for blocks, threads, vectors in OCCUPANCIES:
            point = dict(blocks_per_sm=blocks, threads=threads, vectors=vectors)
            if point != FULL:  # already in the sweep over sizes
                yield dict(array_bytes=size, **point)


@operation(copy_points, kind="cuda")
def cuda_copy(array_bytes: int, blocks_per_sm: int, threads: int, vectors: int) -> Call:
    """y = x, on two fp32 arrays of `array_bytes`."""
    x = torch.randn(array_bytes // 4)
    blocks = grid(multiprocessors(), array_bytes, blocks_per_sm, threads, vectors)
    compiled = kernel(SOURCE, "copy", VECTORS=vectors)
    return compiled.prepare(blocks, threads, x, torch.empty_like(x), array_bytes // VECTOR_BYTES)


def copy_traffic(
    multiprocessors: int, array_bytes: int, blocks_per_sm: int, threads: int, vectors: int
) -> Traffic:
    """Reads and writes the array once."""
    return Traffic(array_bytes, array_bytes)


@operation(triad_points, kind="cuda")
def cuda_triad(array_bytes: int, blocks_per_sm: int, threads: int, vectors: int) -> Call:
    """y = a + 3·b, on three fp32 arrays of `array_bytes`."""
    a, b = torch.randn(2, array_bytes // 4).unbind()
    blocks = grid(multiprocessors(), array_bytes, blocks_per_sm, threads, vectors)
    compiled = kernel(SOURCE, "triad", VECTORS=vectors)
    y = torch.empty_like(a)
    return compiled.prepare(blocks, threads, a, b, y, array_bytes // VECTOR_BYTES)


def triad_traffic(
    multiprocessors: int, array_bytes: int, blocks_per_sm: int, threads: int, vectors: int
) -> Traffic:
    """Reads two arrays and writes one; a multiply-add for each 4 bytes."""
    return Traffic(2 * array_bytes, array_bytes, flops=2 * (array_bytes // 4))


@operation(read_points, kind="cuda")
def cuda_read(array_bytes: int, blocks_per_sm: int, threads: int, vectors: int) -> Call:
    """The sum of an array's words, with one partial sum per thread."""
    x = torch.randint(-(2**31), 2**31 - 1, (array_bytes // 4,), dtype=torch.int32)
    blocks = grid(multiprocessors(), array_bytes, blocks_per_sm, threads, vectors)
    sums = torch.empty(blocks * threads, dtype=torch.int32)
    compiled = kernel(SOURCE, "read", VECTORS=vectors)
    return compiled.prepare(blocks, threads, x, sums, array_bytes // VECTOR_BYTES)


def read_traffic(
    multiprocessors: int, array_bytes: int, blocks_per_sm: int, threads: int, vectors: int
) -> Traffic:
    """Reads the array and writes one word per thread; integer additions are not counted."""
    blocks = grid(multiprocessors, array_bytes, blocks_per_sm, threads, vectors)
    return Traffic(array_bytes, 4 * blocks * threads)


def check(device: torch.device | str) -> None:
    """Compare with torch, bit for bit, on sizes that end inside a tile. Raises AssertionError if
    they differ."""
    with torch.device(device):
        for array_bytes in (16, 16 * 999, 16 * 100_003):
            for blocks, threads, vectors in ((0, 256, 1), (1, 32, 1), (2, 256, 4), (1, 256, 8)):
                shape = (array_bytes, blocks, threads, vectors)
                x, y = rerun(cuda_copy(*shape))
                torch.testing.assert_close(y, x, rtol=0, atol=0)
                a, b, y = rerun(cuda_triad(*shape))
                exact = a.double() + 3 * b.double()
                torch.testing.assert_close(y.double(), exact, rtol=1e-6, atol=1e-6)
                x, sums = rerun(cuda_read(*shape))
                assert (int(x.long().sum()) - int(sums.long().sum())) % 2**32 == 0, shape
