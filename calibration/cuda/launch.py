"""The cost of a launch: an empty kernel, and small kernels that wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from calibration.cuda.compile import kernel
from calibration.cuda.traffic import Traffic, ceil_div
from calibration.sweeps.registry import Call, Params, operation

THREADS = 256
SOURCE = r"""
extern "C" __global__ void empty() {}

extern "C" __global__ void increment(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1.0f;
}
"""


def empty_points() -> Iterator[Params]:
    """One warp, and grids up to the size at which distributing blocks takes longer than the
    launch."""
    yield dict(blocks=1, threads=32)
    for blocks in (1, 132, 1056, 8448, 67584):
        yield dict(blocks=blocks, threads=THREADS)


@operation(empty_points, kind="cuda")
def cuda_empty(blocks: int, threads: int) -> Call:
    """A kernel without instructions: the minimum time of every kernel, in a stream or a graph."""
    return kernel(SOURCE, "empty").prepare(blocks, threads)


def empty_traffic(multiprocessors: int, blocks: int, threads: int) -> Traffic:
    """Nothing is read, written or computed."""
    return Traffic(0, 0)


def chain_points() -> Iterator[Params]:
    """1 to 128 kernels: the slope is the time of a kernel with its gap, and the intercept is the
    start of the graph."""
    for array_bytes in (2**12, 2**20):
        for kernels in (1, 2, 8, 32, 128):
            yield dict(kernels=kernels, array_bytes=array_bytes)


@operation(chain_points, kind="cuda")
def cuda_kernel_chain(kernels: int, array_bytes: int) -> Call:
    """`kernels` kernels that each add 1 to the same array, so that each waits for the previous
    one."""
    x = torch.randn(array_bytes // 4)
    step = kernel(SOURCE, "increment").prepare(ceil_div(x.numel(), THREADS), THREADS, x, x.numel())

    def call() -> object:
        for _ in range(kernels):
            step()
        return x

    return call


def chain_traffic(multiprocessors: int, kernels: int, array_bytes: int) -> Traffic:
    """Each kernel reads and writes the array once, with one addition per element of 4 bytes."""
    moved = kernels * array_bytes
    return Traffic(moved, moved, flops=moved // 4)


def check(device: torch.device | str) -> None:
    """Check that the chain adds its length. Raises AssertionError otherwise."""
    with torch.device(device):
        cuda_empty(blocks=3, threads=32)()
        for kernels, array_bytes in ((1, 4), (5, 4 * 1027)):
            call = cuda_kernel_chain(kernels, array_bytes)
            x = call()
            assert isinstance(x, torch.Tensor)
            before = x.clone()
            call()
            torch.testing.assert_close(x, before + kernels)
