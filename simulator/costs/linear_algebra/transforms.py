"""Fourier transforms as PyTorch passes them to cuFFT (ATen/native/cuda/SpectralOps.cpp).

A work of family "fft" is one cuFFT call over `lengths`, `batch` times; the lowering turns it into
kernels. A transform of n complex numbers counts 5·n·log2 n FLOPs, as in cuFFT's benchmarks; a
transform of real numbers counts half.
"""

from __future__ import annotations

from itertools import pairwise
from math import log2, prod

from simulator.costs.kernels.launches import pointwise, vector_dtype
from simulator.costs.movement.copies import move
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor, row_major

_ITEM_BYTES = {"complex128": 16, "complex64": 8, "complex32": 4}
_DIMS_AT_ONCE = 3
"""Dimensions that one cuFFT call transforms (`cufft_max_ndim`)."""
_AHEAD = (0, 1)
"""Leading dimensions of a transform that PyTorch splits by dimension."""


@cost("aten._fft_r2c.default", "aten._fft_r2c.out")
def real_to_complex(op: Signature) -> tuple[Work, ...]:
    """A real transform along the last of `dim`, then complex ones along the others."""
    x, out, dims = op["self"], op.out, _dims(op)
    onesided = bool(op.arg("onesided", True))
    half = list(x.shape)
    half[dims[-1]] = half[dims[-1]] // 2 + 1
    size = prod(half) * out.itemsize
    if _at_once(dims):
        calls = [*_gathered(x, dims), _call(x, dims, "r2c", x.nbytes, size, out.itemsize)]
    else:
        real = _call(x, dims[-1:], "r2c", x.nbytes, size, out.itemsize)
        calls = [*_gathered(x, dims[-1:]), real, *_complex(half, dims[:-1], out.itemsize)]
    calls += _scaled(op, prod(half), out)
    if not onesided:  # the other half is the conjugate of this one
        rest = out.numel - prod(half)
        calls.append(pointwise(rest, rest * out.itemsize, rest * out.itemsize, flops=1))
    return tuple(work for work in calls if work.bytes)


@cost("aten._fft_c2c.default", "aten._fft_c2c.out")
def complex_to_complex(op: Signature) -> tuple[Work, ...]:
    """At most three dimensions per call, the innermost first."""
    x, out, dims = op["self"], op.out, _dims(op)
    if not dims:
        return move(x, out)
    first = _gathered(x, dims[-_DIMS_AT_ONCE:])
    calls = [*first, *_complex(x.shape, dims, x.itemsize), *_scaled(op, out.numel, out)]
    return tuple(work for work in calls if work.bytes)


@cost("aten._fft_c2r.default", "aten._fft_c2r.out")
def complex_to_real(op: Signature) -> tuple[Work, ...]:
    """Complex transforms along all but the last of `dim`, then a real one. cuFFT may overwrite its
    input and therefore receives a copy."""
    x, out, dims = op["self"], op.out, _dims(op)
    dense = Tensor(x.shape, x.dtype, row_major(x.shape))
    if _at_once(dims):
        calls = [*move(x, dense), _call(out, dims, "c2r", x.nbytes, out.nbytes, x.itemsize)]
    else:
        before = _complex(x.shape, dims[:-1], x.itemsize) if len(dims) > 1 else move(x, dense)
        calls = [*before, _call(out, dims[-1:], "c2r", x.nbytes, out.nbytes, x.itemsize)]
    return tuple(work for work in (*calls, *_scaled(op, out.numel, out)) if work.bytes)


def _dims(op: Signature) -> list[int]:
    rank = len(op["self"].shape)
    return [int(dim) % rank for dim in op.arg("dim", [])] if rank else []


def _at_once(dims: list[int]) -> bool:
    return len(dims) <= _DIMS_AT_ONCE and tuple(dims[:2]) != _AHEAD


def _gathered(x: Tensor, dims: list[int]) -> tuple[Work, ...]:
    """The copy before a call whose batch has no single stride: PyTorch makes one dimension of all
    others, the longest stride first (`_exec_fft`)."""
    batch = sorted(
        (dim for dim in range(len(x.shape)) if dim not in dims), key=lambda dim: -x.stride[dim]
    )
    extents = [(x.shape[dim], x.stride[dim]) for dim in batch if x.shape[dim] > 1]
    if all(outer == size * stride for (_, outer), (size, stride) in pairwise(extents)):
        return ()
    order = [*batch, *dims]
    shape = tuple(x.shape[dim] for dim in order)
    strided = Tensor(shape, x.dtype, tuple(x.stride[dim] for dim in order))
    return move(strided, Tensor(shape, x.dtype, row_major(shape)))


def _complex(shape: tuple[int, ...] | list[int], dims: list[int], itemsize: int) -> list[Work]:
    x = Tensor(tuple(shape), "complex64", row_major(tuple(shape)))
    size, left = prod(shape) * itemsize, list(dims)
    calls: list[Work] = []
    while left:
        calls.append(_call(x, left[-_DIMS_AT_ONCE:], "c2c", size, size, itemsize))
        del left[-_DIMS_AT_ONCE:]
    return calls


def _call(x: Tensor, dims: list[int], kind: str, read: int, write: int, itemsize: int) -> Work:
    """One cuFFT call along `dims`; `x` is the real side of the transform."""
    lengths = tuple(x.shape[dim] for dim in dims)
    n = prod(lengths)
    batch = prod(x.shape) // max(n, 1)
    flops = round(5 * n * log2(max(n, 2))) * batch // (1 if kind == "c2c" else 2)
    dtype = {4: "complex32", 16: "complex128"}.get(itemsize, "complex64")
    last = len(x.shape) - 1 in dims
    return Work(
        "fft",
        flops,
        read,
        write,
        dtype=vector_dtype(dtype),
        instructions=flops,
        dims={
            "kind": kind,
            "lengths": lengths,
            "batch": batch,
            "item_bytes": itemsize,
            "apart": not last,
        },
    )


def _scaled(op: Signature, elements: int, out: Tensor) -> list[Work]:
    """A pass that divides by the length or its root, if normalization is requested."""
    if not op.arg("normalization", op.arg("normalization_mode", 0)):
        return []
    size = elements * out.itemsize
    return [pointwise(elements, size, size, dtype=out.dtype)]
