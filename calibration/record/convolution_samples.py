"""900 random convolutions, forward and backward, as recorded on the H200.

`convolution_sweep.json.gz` holds rows [name, inputs, outputs, kernels] as in a recording. A row
named "S" opens a case: dtype (f, b or h), layout (n or l for channels last), batch, channels in and
out, side, kernel, stride, padding, groups, and whether there is a bias. Operands were where the
allocator put them, and each case ran twice, the second time under the profiler.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

from calibration.record.read import MEASUREMENTS
from simulator.records import Signature, Tensor

_NAMES = {
    "aten.convolution.default": ("input", "weight", "bias"),
    "aten.convolution_backward.default": ("grad_output", "input", "weight"),
}


def cases(gpu: str = "h200_sxm") -> Iterator[tuple[Signature, list[tuple[str, float]]]]:
    """Each recorded convolution and its kernels as (name, seconds), in launch order."""
    with gzip.open(MEASUREMENTS / gpu / "convolution_sweep.json.gz", "rt") as file:
        rows: list[list[Any]] = json.load(file)
    case: list[Any] = []
    for name, inputs, outputs, kernels in rows:
        if name == "S":
            case = inputs
        elif name in _NAMES and kernels:
            yield (
                _signature(name, inputs, outputs, case),
                [(kernel, duration_ns * 1e-9) for kernel, duration_ns in kernels],
            )


def _signature(name: str, inputs: list[Any], outputs: list[Any], case: list[Any]) -> Signature:
    stride, padding, groups, bias = case[7:11]
    args: dict[str, Any] = {
        "stride": [stride] * 2,
        "padding": [padding] * 2,
        "dilation": [1, 1],
        "transposed": False,
        "output_padding": [0, 0],
        "groups": groups,
    }
    if "backward" in name:
        args |= {"output_mask": [case[3] > 4, True, bool(bias)]}
    input_tensors = tuple(_tensor(t) for t in inputs)
    tensors = tuple(_tensor(t) for t in outputs)
    return Signature(name, input_tensors, tensors, _NAMES[name][: len(input_tensors)], args)


def _tensor(fields: list[Any]) -> Tensor:
    shape, dtype, stride, device = fields
    return Tensor(tuple(shape), dtype, tuple(stride), device)
