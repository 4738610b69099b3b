"""Calls of convolutions, and the kernels that they are lowered to."""

from __future__ import annotations

from typing import Any

from simulator.costs import Work
from simulator.hardware.gpu import GPU, gpu
from simulator.lowering import launches
from simulator.lowering.implicit_gemm import Product
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import Spec, sig, tensor

H200 = gpu("h200")
FORWARD, BACKWARD = "aten.convolution.default", "aten.convolution_backward.default"
GRADIENTS = {"output_mask": [True, True, False]}


def geometry(stride: int, groups: int, dilation: int = 1) -> dict[str, Any]:
    return {
        "stride": [stride] * 2,
        "padding": [1, 1],
        "dilation": [dilation] * 2,
        "transposed": False,
        "output_padding": [0, 0],
        "groups": groups,
    }


def conv(dtype: str, x: tuple[int, ...], w: tuple[int, ...], hw: int, **more: Any) -> Signature:
    stride, groups, last = more.get("stride", 1), more.get("groups", 1), more.get("last", False)
    out = (x[0], w[0], hw, hw)
    image = nhwc(x, dtype) if last else (x, dtype)
    output = nhwc(out, dtype) if last else (out, dtype)
    how = geometry(stride, groups, more.get("dilation", 1))
    return sig(FORWARD, output, None, how, input=image, weight=(w, dtype))


def backward(
    dtype: str,
    x: tuple[int, ...],
    w: tuple[int, ...],
    hw: int,
    grad: Spec | None = None,
    stride: int = 1,
    groups: int = 1,
) -> Signature:
    args = geometry(stride, groups) | GRADIENTS
    signature = grad or ((x[0], w[0], hw, hw), dtype)
    outs = [(x, dtype), (w, dtype)]
    return sig(
        BACKWARD, outs, None, args, grad_output=signature, input=(x, dtype), weight=(w, dtype)
    )


def nhwc(shape: tuple[int, ...], dtype: str) -> Tensor:
    n, c, h, w = shape
    return Tensor((n, c, h, w), dtype, (h * w * c, 1, w * c, c))


def kernels(op: Signature, card: GPU = H200) -> tuple[Work, ...]:
    works = launches(op, card)
    assert works is not None
    return works


def families(op: Signature, card: GPU = H200) -> list[str]:
    return [work.family for work in kernels(op, card)]


_OF_PRODUCTS = ("rows", "columns", "depth", "blocks", "hopper", "planar", "few", "sliced")


def one_way(
    direction: str = "fwd", adds: float = 3e8, dtype: str = "float16", **given: Any
) -> Product:
    """A direction of a convolution of 128 to 128 channels with a kernel of 3 × 3, of 2 · 14 · 14
    pixels, unless other sizes are given."""
    own: dict[str, Any] = {
        "cin": 128, "cout": 128, "groups": 1, "n": 2, "kernel": (3, 3), "stride": (1, 1),
        "spatial_in": (14, 14), "spatial_out": (14, 14), "channels_last": False, "dims": 2,
    }  # fmt: skip
    dims = own | {name: value for name, value in given.items() if name not in _OF_PRODUCTS}
    taps = dims["kernel"][0] * dims["kernel"][-1]
    stored = "float32" if dtype == "tf32" else dtype
    image, weight = tensor(((2, 128, 14, 14), stored)), tensor(((128, 128, 3, 3), stored))
    half = dtype in ("float16", "bfloat16")
    sizes: dict[str, Any] = {"rows": 392, "columns": 128, "depth": 1152, "blocks": 4.0} | {
        name: value for name, value in given.items() if name in _OF_PRODUCTS
    }
    return Product(
        Work("conv", flops=2 * int(adds), engine="tensor", dtype=dtype, dims=dims),
        direction,
        (image, weight),
        image,
        half=half,
        unit=taps == 1,
        strided=dims["stride"] != (1, 1),
        **{"hopper": True, "planar": False, "few": dims["cin"] < 8} | sizes,
    )
