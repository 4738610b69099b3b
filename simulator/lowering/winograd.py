"""Winograd's algorithm for 3×3 convolutions in single precision, on GPUs without single-precision
tensor cores: 4 × 4 results from 6 × 6 inputs with 36 multiplications instead of 144 (Lavin and
Gray, "Fast Algorithms for Convolutional Neural Networks", 2016). The kernels of cuDNN
(`winograd_nonfused`) transform the image and the weights, multiply 36 matrices in one batch, and
transform the result back."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering.implicit_gemm import Product

_KERNEL = (3, 3)
_TAPS = 9
_RESULTS = 4  # results and inputs along a side of a patch
_PRODUCTS = 36
_TILE, _COLUMNS = 128, 32  # rows and columns of a tile, to which sizes are padded
_ITEM_BYTES = 4
_SLOTS = 6  # approximate instructions per element of a transformation, which is memory-bound


def winograd(c: Product, gpu: GPU) -> Iterator[Work]:
    """Kernels of the algorithm; none if it does not apply or the direct product is faster."""
    d = c.work.dims
    plain = tuple(d["kernel"]) == _KERNEL and max(*d["stride"], *d["dilation"]) == 1
    if not plain or d["groups"] > 1 or c.direction == "wgrad":
        return
    height, width = d["spatial_out" if c.direction == "fwd" else "spatial_in"]
    tiles = d["n"] * -(-height // _RESULTS) * -(-width // _RESULTS)
    rows, channels = -(-tiles // _TILE) * _TILE, c.depth // _TAPS
    image = _PRODUCTS * tiles * channels
    weights = _PRODUCTS * channels * c.columns
    result = _PRODUCTS * tiles * c.columns
    tensor_bytes = sum(_ITEM_BYTES * t.numel for t in (*c.sources, c.target))
    moved_bytes = tensor_bytes + 2 * _ITEM_BYTES * (image + weights + result)
    padded_columns = -(-c.columns // _COLUMNS) * _COLUMNS
    saved_products = padded_columns * (c.rows * c.depth - _PRODUCTS * rows * channels)
    rate = (gpu.peak("vector", "fp32") or 1.0) * (gpu.sustained_vector or 1.0)
    if 2 * saved_products / rate < moved_bytes / gpu.bandwidth_bytes_per_s:
        return
    first, second = (_ITEM_BYTES * t.numel for t in c.sources)
    yield _transformed(image, first, _ITEM_BYTES * image)
    yield _transformed(weights, second, _ITEM_BYTES * weights)
    sizes = {"positions": rows, "columns": c.columns, "depth": channels, "batch": _PRODUCTS}
    yield replace(
        c.work,
        dtype="float32",
        instructions=_PRODUCTS * rows * channels * c.columns,
        read_bytes=_ITEM_BYTES * (image + weights),
        write_bytes=_ITEM_BYTES * result,
        dims=d | sizes | {"variant": "vector"},
    )
    yield _transformed(result, _ITEM_BYTES * result, _ITEM_BYTES * c.target.numel)


def _transformed(elements: int, read_bytes: int, write_bytes: int) -> Work:
    """Transformation into or out of `elements` of 6 × 6 patches."""
    dims = {"elements": elements, "contiguous": True}
    return Work(
        "pointwise",
        0,
        read_bytes,
        write_bytes,
        dtype="float32",
        instructions=_SLOTS * elements,
        dims=dims,
    )
