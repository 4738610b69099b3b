"""The order of TensorIterator over its operands: by one linear index, or by an offset per element.

If one linear index serves all operands, the kernel loads vectors. If an operand is converted as it
is read, the kernel loads one element at a time. Otherwise it computes an offset per operand and
element (ATen/native/cuda/CUDALoops.cuh, `gpu_kernel_impl`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from simulator.records import Tensor

THREADS = 128
"""Threads per block (ATen/native/cuda/thread_constants.h)."""
VECTOR_ELEMENTS = 8
"""Elements per thread of a kernel that loads vectors, whatever the size of its operands
(CUDALoops.cuh, `elems_per_thread` since torch 2.7)."""
_WARP = 32
SECTOR, LINE = 32, 128
"""Bytes of the smallest transfer between L2 and a streaming multiprocessor, and of one L1 line."""


def lane_dtype(tensors: Iterable[Tensor]) -> str:
    """Dtype of the vector lanes that compute on these tensors: float64 or float32."""
    wide = any(t.dtype in ("float64", "complex128") for t in tensors if t.device != "cpu")
    return "float64" if wide else "float32"


def aligned(tensors: Iterable[Tensor]) -> bool:
    """True if one linear index serves all tensors: same shape, same strides, no gaps."""
    operands_on_gpu = [t for t in tensors if t.device != "cpu"]
    return all(t.dense for t in operands_on_gpu) and all(
        _same_layout(operands_on_gpu[0], t) for t in operands_on_gpu[1:]
    )


def _same_layout(a: Tensor, b: Tensor) -> bool:
    """Whether shapes are equal, and strides in every dimension of more than one element."""
    return a.shape == b.shape and all(
        n == 1 or s == t for n, s, t in zip(a.shape, a.stride, b.stride, strict=True)
    )


def unrolled_elements(out: Tensor) -> int:
    """Elements per thread of a kernel that computes offsets (`gpu_kernel_impl_nocast`,
    unroll_factor)."""
    return 2 if out.itemsize >= 4 else 4


@dataclass(frozen=True)
class Walk:
    """An iteration over strided operands.

    axes  (size, stride in bytes of each operand), innermost first; two axes are merged if they are
          contiguous in all operands
    runs  32-byte sectors that all blocks touch, summed over the operands; four in one line count
          as 1¾, since a line needs one look-up
    warp_sectors  32-byte sectors that warps touch, summed over the warps
    block_lines   128-byte lines that one block touches
    """

    axes: tuple[tuple[int, tuple[int, ...]], ...]
    runs: int
    warp_sectors: int
    block_lines: int

    @property
    def touched(self) -> dict[str, int]:
        """The counts as entries of `Work.dims`."""
        counts = ("runs", "warp_sectors", "block_lines")
        return {name: getattr(self, name) for name in counts}


def walk(operands: Sequence[Tensor]) -> Walk:
    """The iteration over operands, the last of which is the result; operands on the CPU are
    ignored.

    The axes are ordered by the strides of the result. L1 holds all lines that one block touches.
    """
    operands_on_gpu = [t for t in operands if t.device != "cpu"]
    axes, out = _joined_axes(operands_on_gpu), operands_on_gpu[-1]
    reach, warp = (_reach(axes, count) for count in (THREADS * unrolled_elements(out), _WARP))
    blocks, warps = out.numel / prod(reach), out.numel / prod(warp)
    touched = warp_sectors = block_lines = 0.0
    for place, tensor in enumerate(operands_on_gpu):
        steps = [steps[place] for _, steps in axes]
        sectors, lines = (
            _touched_words(tensor.itemsize, steps, reach, unit) for unit in (SECTOR, LINE)
        )
        touched += blocks * (sectors + 3 * lines) / 4
        warp_sectors += warps * _touched_words(tensor.itemsize, steps, warp, SECTOR)
        block_lines += lines
    return Walk(axes, *(max(1, round(n)) for n in (touched, warp_sectors, block_lines)))


def _reach(axes: Sequence[tuple[int, tuple[int, ...]]], count: int) -> list[float]:
    """The extent of `count` neighbouring elements along each axis."""
    reach, left = list[float](), float(count)
    for size, _ in axes:
        reach.append(min(size, left))
        left = max(1.0, left / size)
    return reach


def _joined_axes(operands: Sequence[Tensor]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    shape = operands[-1].shape
    strides = [_bytes_along(t, shape) for t in operands]
    places = [d for d, size in enumerate(shape) if size != 1]
    places.sort(key=lambda d: (strides[-1][d], -d))
    axes: list[tuple[int, tuple[int, ...]]] = []
    for d in places:
        steps = tuple(stride[d] for stride in strides)
        if axes:
            size, inner = axes[-1]
            if all(step == size * within for step, within in zip(steps, inner, strict=True)):
                axes[-1] = (size * shape[d], inner)
                continue
        axes.append((shape[d], steps))
    return tuple(axes)


def _bytes_along(tensor: Tensor, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in bytes of a tensor broadcast to a shape: 0 along repeated dimensions."""
    lead = len(shape) - len(tensor.shape)
    pairs = zip(tensor.shape, tensor.stride, strict=True)
    own = [0 if size == 1 else step * tensor.itemsize for size, step in pairs]
    return (*[0] * lead, *own)


def _touched_words(itemsize: int, steps: Sequence[int], reach: Sequence[float], unit: int) -> float:
    """Distinct words of `unit` bytes that one operand has in a box of `reach` elements."""
    copies, span = 1.0, float(itemsize)
    for step, count in sorted(zip(steps, reach, strict=True)):
        if step == 0:
            continue
        if step <= max(span, unit):  # neighbours share a word, or are adjacent
            span += step * (count - 1)
        else:
            copies *= count
    return copies * max(1.0, span / unit)


def offset_slots(axes: int, operands: int) -> int:
    """Instructions per element with computed offsets: 20 for the index and bounds and, along each
    axis, a division by multiplication (4) and a multiply-add for each operand."""
    return 20 + axes * (4 + operands)


def converting_slots(operands: int) -> int:
    """Instructions per element of a kernel that converts each operand on load and store, by a
    switch over dtypes (`fetch_and_cast`)."""
    return 20 + 20 * operands
