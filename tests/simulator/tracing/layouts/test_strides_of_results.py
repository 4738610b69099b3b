"""Strides of results, compared with TensorIterator's on the CPU and with those that a GPU recorded.

The CPU and CUDA share TensorIterator, `empty_like` and the checks of most ops, so that their
results have the same strides, also in dimensions of size 1.
"""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from calibration.record.read import MEASUREMENTS
from simulator.tracing.layouts.results import laid_out_by_cuda
from simulator.tracing.layouts.strides import Layout, packed

aten = torch.ops.aten
ROUNDS = 8
OTHER_ON_CUDA = {"native_dropout_backward", "log_sigmoid_forward"}
"""Ops that the CPU implements otherwise: it multiplies, or returns a row-major result."""
UNTAGGED = """
_log_softmax_backward_data _prelu_kernel complex elu_backward floor_divide hardsigmoid_backward
hardswish hardswish_backward hardtanh_backward leaky_relu_backward log_sigmoid_backward polar
silu_backward softplus_backward tril triu
""".split()


@cache
def _overloads() -> dict[str, Any]:
    """Every functional overload that torch tags as elementwise, and further ones with a rule."""
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    ops: dict[str, Any] = {}
    for name in sorted(names):
        base, _, overload = name.removeprefix("aten::").partition(".")
        func = getattr(getattr(aten, base), overload or "default", None)
        if func is None or base in OTHER_ON_CUDA or any(a.alias_info for a in _arguments(func)):
            continue
        if any(str(value.type) != "Tensor" for value in func._schema.returns):
            continue
        composite = torch._C._dispatch_has_kernel_for_dispatch_key(
            name, "CompositeImplicitAutograd"
        )
        tagged = torch.Tag.pointwise in func.tags
        if (tagged or base in UNTAGGED) and not composite:
            ops[name.removeprefix("aten::")] = func
    return ops


def _arguments(func: Any) -> list[Any]:
    return func._schema.arguments


def _shape(rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.choice([1, 1, 2, 3, 4]) for _ in range(rng.choice([2, 3, 4, 4, 4, 5])))


def _smaller(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `shape`."""
    sizes = [1 if rng.random() < 0.2 else size for size in shape]
    return tuple(sizes[rng.randrange(len(sizes)) :] if rng.random() < 0.15 else sizes)


def _layout(rng: random.Random, shape: tuple[int, ...]) -> Layout:
    """A random layout: any order of dimensions, gaps, repeated elements, and for dimensions of
    size 1 any stride that views produce."""
    order = [*range(len(shape))]
    if rng.random() < 0.3 and len(shape) > 2:
        order = [0, *order[2:], 1]
    elif rng.random() < 0.5:
        rng.shuffle(order)
    strides = [*packed(shape, order[::-1])]
    if rng.random() < 0.15:
        strides = [2 * step for step in strides]
    for dim, size in enumerate(shape):
        if size == 1 and rng.random() < 0.5:
            others = zip(strides, shape, strict=True)
            strides[dim] = rng.choice([1, *strides, *(step * count for step, count in others)])
        elif size > 1 and rng.random() < 0.04:
            strides[dim] = 0
    return shape, tuple(strides)


def _tensor(layout: Layout, dtype: torch.dtype, device: str) -> Tensor:
    shape, strides = layout
    count = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    if device == "meta":
        return torch.empty_strided(shape, strides, dtype=dtype, device="meta")
    return torch.zeros(count, dtype=dtype).as_strided(shape, strides)


PLAIN = {"number": 2.0, "int": 1, "float": 0.5, "bool": False, "Optional[number]": 1.0}


def _drawn(func: Any, rng: random.Random) -> dict[str, Any]:
    """Arguments by name; a tensor is a layout."""
    shape, drawn = _shape(rng), dict[str, Any]()
    same = rng.random() < 0.5 or torch.Tag.pointwise not in func.tags
    for argument in _arguments(func):
        kind = str(argument.type)
        layouts = [value for value in drawn.values() if isinstance(value, tuple)]
        if kind in ("Tensor", "Optional[Tensor]"):
            whole = same or not layouts
            value = _layout(rng, shape if whole else _smaller(rng, shape))
            drawn[argument.name] = layouts[0] if layouts and rng.random() < 0.3 else value
        elif not argument.has_default_value() or argument.name in ("min", "max"):
            drawn[argument.name] = PLAIN.get(kind)
    return drawn


def _result(func: Any, values: dict[str, Any], device: str) -> Any:
    values = {**values}
    args = [values.pop(a.name) for a in _arguments(func) if a.name in values and not a.kwarg_only]
    result = func(*args, **values)
    if device == "meta":
        result = laid_out_by_cuda(func, tuple(args), values, result)
    return result


def _tensors(drawn: dict[str, Any], dtype: torch.dtype, device: str) -> dict[str, Any]:
    return {
        name: _tensor(value, dtype, device) if isinstance(value, tuple) else value
        for name, value in drawn.items()
    }


def _results(func: Any, drawn: dict[str, Any]) -> tuple[Any, Any] | None:
    """The results on the CPU and on `meta`, in a dtype that the CPU has; None if it has none."""
    for dtype in (torch.float32, torch.bool, torch.int32):
        try:
            on_cpu = _result(func, _tensors(drawn, dtype, "cpu"), "cpu")
        except RuntimeError:  # no kernel for this dtype
            continue
        return on_cpu, _result(func, _tensors(drawn, dtype, "meta"), "meta")
    return None


def _strides(result: Any) -> list[tuple[int, ...]]:
    results = result if isinstance(result, tuple) else (result,)
    return [t.stride() for t in results if t.numel()]


def test_elementwise_results_have_the_strides_of_the_cpu() -> None:
    compared, differing = 0, dict[str, Any]()
    for name, func in _overloads().items():
        rng = random.Random(zlib.crc32(name.encode()))
        for _ in range(ROUNDS):
            drawn = _drawn(func, rng)
            results = _results(func, drawn)
            if results is None:
                continue
            on_cpu, on_meta = map(_strides, results)
            compared += 1
            if on_cpu != on_meta:
                differing[name] = drawn, on_cpu, on_meta
    composed = {"ldexp.Tensor"}  # of two ops, of which the second has the wrong rule on `meta`
    assert differing.keys() <= composed, differing
    assert compared > 150 * ROUNDS


def _recorded(suite: str) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Names, operands and results of the different ops that a GPU recorded."""
    seen: set[str] = set()
    with gzip.open(MEASUREMENTS / "h200_sxm" / f"{suite}.jsonl.gz", "rt") as lines:
        for line in lines:
            for signature in json.loads(line).get("signatures", []):
                text = json.dumps(signature)
                if text not in seen:
                    seen.add(text)
                    yield signature


def _called(func: Any, operands: list[Any]) -> dict[str, Any]:
    """The arguments of a recorded call, whose numbers were not recorded."""
    left, args = [*operands], dict[str, Any]()
    for argument in _arguments(func):
        kind = str(argument.type)
        if kind == "Tensor" and left:
            shape, dtype, strides, _ = left.pop(0)
            args[argument.name] = torch.empty_strided(
                shape, strides, dtype=getattr(torch, dtype), device="meta"
            )
        elif not argument.has_default_value() or argument.name in ("min", "max"):
            args[argument.name] = 2.0 if kind == "Tensor" else PLAIN.get(kind)
    return args


@pytest.mark.parametrize("suite", ["libraries", "own_fifth", "packages_seventh"])
def test_elementwise_results_have_the_strides_that_a_gpu_recorded(suite: str) -> None:
    recorded = {f"aten.{f.__name__}": f for f in _overloads().values()}
    compared, differing = 0, list[Any]()
    for name, operands, results in _recorded(suite):
        func = recorded.get(name)
        if func is None or func is aten.clone.default or not operands or 0 in results[0][0]:
            continue  # what format a clone was given was not recorded
        strides = _strides(_result(func, _called(func, operands), "meta"))
        compared += 1
        if strides[0] != tuple(results[0][2]):
            differing.append((name, operands, results, strides))
    assert differing == []
    assert compared > 900
