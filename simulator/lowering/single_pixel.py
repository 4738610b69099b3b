"""Convolutions of images of one pixel, as in squeeze-excite and classifier heads.

A 1×1 convolution of a 1×1 image is a linear layer: cuDNN calls cuBLAS with one product of all
images (`cutlass_80_tensorop_s1688gemm_…_tn`, `nvjet_sm90_hsh_…_TNT`; TF32 for float32), not a batch
of products of one column each.
"""

from __future__ import annotations

from math import prod

from msgspec.structs import replace

from simulator.costs import Work
from simulator.costs.matmul.products import as_matvec
from simulator.hardware.gpu import GPU
from simulator.lowering.product import product
from simulator.records import Signature, Tensor

_LOAD_BYTES = 16
_DEEP = 1024
"""Minimum elements of a row at which cuDNN's products in TF32 are split, as 12 of 16 recorded ones
were. With shorter rows, 6 of 90 products were split; in half precision, 3 of 178."""
_STEP = 32  # elements of a row that a block multiplies at a time


def is_linear_layer(work: Work) -> bool:
    """Whether a 1×1 convolution of one group has 1×1 images before and after it."""
    d = work.dims
    sides = (*d["kernel"], *d["spatial_in"], *d["spatial_out"])
    return d["groups"] == 1 and prod(sides) == 1


def linear_layer(op: Signature, work: Work, gpu: GPU) -> tuple[Work, ...]:
    """The kernels of x [n, cin] @ weight [cout, cin].T, of the gradient of x [n, cout] @ [cout,
    cin], or of the gradient of the weight [n, cout].T @ [n, cin]."""
    d = work.dims
    n, cin, cout = d["n"], d["cin"], d["cout"]
    m, columns, depth = {
        "fwd": (n, cout, cin),
        "dgrad": (n, cin, cout),
        "wgrad": (cout, cin, n),
    }[d["direction"]]
    item_bytes = op["weight"].itemsize
    align_bytes = min(_line_bytes(size * item_bytes) for size in (cin, cout))
    dims = {
        "b": 1,
        "m": m,
        "n": columns,
        "k": depth,
        "transa": d["direction"] == "wgrad",
        "transb": d["direction"] == "fwd",
        "epilogue": None,
        "align_bytes": align_bytes,
    }
    kernels = product(op, as_matvec(replace(work, family="gemm", dims=dims)), gpu)
    if kernels[-1].family != "reduction" or (work.dtype == "tf32" and depth > _DEEP):
        return kernels
    steps = -(-depth // _STEP)  # `aten.mm` would be split; here a block multiplies whole rows
    return (replace(kernels[0], dims=kernels[0].dims | {"variant": "serial", "steps": steps}),)


def _line_bytes(size: int) -> int:
    """The largest power of two, at most the size of a load, that divides a line of `size` bytes."""
    return min(_LOAD_BYTES, size & -size)


def has_one_pixel(tensor: Tensor) -> bool:
    """Whether NCHW and NHWC are the same: no conversion between them is needed."""
    return prod(tensor.shape[2:]) == 1
