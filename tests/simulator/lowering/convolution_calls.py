"""Calls of convolutions, and the kernels that they are lowered to."""

from __future__ import annotations

from typing import Any

from simulator.costs import Work
from simulator.hardware.gpu import GPU, gpu
from simulator.lowering import launches
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import Spec, sig

H200 = gpu("h200")
FORWARD, BACKWARD = "aten.convolution.default", "aten.convolution_backward.default"
GRADIENTS = {"output_mask": [True, True, False]}


def geometry(stride: int, groups: int) -> dict[str, Any]:
    return {
        "stride": [stride] * 2,
        "padding": [1, 1],
        "dilation": [1, 1],
        "transposed": False,
        "output_padding": [0, 0],
        "groups": groups,
    }


def conv(dtype: str, x: tuple[int, ...], w: tuple[int, ...], hw: int, **more: Any) -> Signature:
    stride, groups, last = more.get("stride", 1), more.get("groups", 1), more.get("last", False)
    out = (x[0], w[0], hw, hw)
    image = nhwc(x, dtype) if last else (x, dtype)
    output = nhwc(out, dtype) if last else (out, dtype)
    return sig(FORWARD, output, None, geometry(stride, groups), input=image, weight=(w, dtype))


def backward(
    dtype: str,
    x: tuple[int, ...],
    w: tuple[int, ...],
    hw: int,
    grad: Spec | None = None,
    stride: int = 1,
) -> Signature:
    args = geometry(stride, 1) | GRADIENTS
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
