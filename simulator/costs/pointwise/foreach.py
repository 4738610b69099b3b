"""Ops over lists of tensors: `_foreach_*`.

The tensors of a list are cut into chunks. One launch takes as many chunks as fit into its
arguments, so an op is one work of family "foreach", whose launches `multi_tensor_launches` counts.
Its dims are {"tensors", "elements", "lists", "scalars", "numels"}.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from simulator.costs.kernels.elementwise import Steps, elementwise, read_of
from simulator.costs.kernels.iterator import aligned, lane_dtype
from simulator.costs.pointwise.functions import power, scaled
from simulator.costs.pointwise.tables import BINARY, LOGICAL, UNARY
from simulator.costs.registry import Work, cost
from simulator.costs.tensor_bytes import read_bytes_of, write_bytes_of
from simulator.records import Signature, Tensor

CHUNK = 65536
"""Elements of a tensor that one block processes."""

_MAX_TENSORS = (110, 64, 48, 36, 30)
_MAX_TENSORS_SCALAR_LIST = (96, 64, 48, 36, 30)
_MAX_BLOCKS = 320
"""Limits of one launch; the limit on tensors is by depth, 1 to 5. They hold up to torch 2.11 for
CUDA 13, as recorded; torch 2.13 for CUDA 13 takes about seven times as many tensors."""


class MultiTensorLaunch(NamedTuple):
    """One launch over chunks of tensors."""

    elements: int
    blocks: int
    longest: int  # elements of its longest chunk
    ragged: int  # elements of tensors whose size is not a multiple of 4, loaded one by one


def multi_tensor_launches(
    numels: Sequence[int], depth: int, *, scalar_list: bool = False
) -> list[MultiTensorLaunch]:
    """The launches over `depth` lists (1 to 5) of tensors of `numels` elements.

    A launch is issued when it has the maximum number of blocks, or the maximum number of tensors,
    the last of which is complete; the remainder is one more launch
    (ATen/native/cuda/MultiTensorApply.cuh, `multi_tensor_apply`). With `scalar_list` each tensor
    has its own scalar.
    """
    max_tensors = (_MAX_TENSORS_SCALAR_LIST if scalar_list else _MAX_TENSORS)[depth - 1]
    launches: list[MultiTensorLaunch] = []
    tensors = elements = blocks = longest = ragged = 0
    for numel in numels:
        tensors += numel > 0
        unaligned = numel % 4 != 0
        while numel:
            count = min(numel, (_MAX_BLOCKS - blocks) * CHUNK)
            numel -= count
            elements += count
            blocks += -(-count // CHUNK)
            longest = max(longest, min(count, CHUNK))
            ragged += count * unaligned
            if blocks == _MAX_BLOCKS or (tensors == max_tensors and not numel):
                launches.append(MultiTensorLaunch(elements, blocks, longest, ragged))
                elements = blocks = longest = ragged = 0
                tensors = 1 if numel else 0  # the unfinished tensor opens the next launch
    if blocks:
        launches.append(MultiTensorLaunch(elements, blocks, longest, ragged))
    return launches


_STEPS: dict[str, Steps] = {
    "zero": (0, 1), "copy": (0, 1), "clone": (0, 1), "lerp": (3, 3), "pow": (1, 60),
    "maximum": (1, 2), "minimum": (1, 2), "clamp_min": (1, 2), "clamp_max": (1, 2),
    "max": (1, 2), "norm": (2, 1), "powsum": (2, 1),
    **{name: BINARY[name].steps for name in ("add", "sub", "mul", "div")},
    **{name: LOGICAL[name].steps for name in ("addcmul", "addcdiv")},
    **{
        name: UNARY[name].steps
        for name in (
            "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1",
            "floor", "frac", "lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal",
            "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
        )
    },
}  # fmt: skip

_BY_OPERAND: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("add", "mul", "div"), ("Scalar", "List", "ScalarList", "Tensor")),
    **dict.fromkeys(
        ("sub", "lerp", "maximum", "minimum", "clamp_min", "clamp_max"),
        ("Scalar", "List", "ScalarList"),
    ),
    "pow": ("Scalar", "List", "ScalarList"),
    **dict.fromkeys(("addcmul", "addcdiv"), ("Scalar", "ScalarList", "Tensor")),
}


def _overloads() -> list[str]:
    plain = [name for name in _STEPS if name not in (*_BY_OPERAND, "max", "norm", "powsum")]
    names = [f"{name}.default" for name in plain]
    names += [f"{name}_.default" for name in plain if name != "clone"]
    for name, overloads in _BY_OPERAND.items():
        names += [f"{name}{mark}.{one}" for one in overloads for mark in ("", "_")]
    return [f"aten._foreach_{name}" for name in (*names, "pow.ScalarAndTensor")]


def _lists(op: Signature) -> list[list[Tensor]]:
    """The tensor lists of a call; a single tensor among its arguments is a scalar."""
    names = list(dict.fromkeys(op.names))
    lists = [op.tensors(name) for name in names]
    length = max(map(len, lists), default=0)
    pairs = zip(lists, names, strict=True)
    return [tensors for tensors, name in pairs if name not in _SCALARS and len(tensors) == length]


_SCALARS = ("scalar", "scalars", "inv_scale", "found_inf", "grad_scale", "lr")


def multi_tensor_work(
    op: Signature,
    steps: Steps,
    written: Sequence[str],
    lists: int,
    numels: Sequence[int],
    variant: str | None = None,
) -> Work:
    """All tensors of an op as one work; `written` names the lists that are updated in place."""
    elements = sum(numels)
    write = read_of(op, *written) + write_bytes_of(op)
    flops, instructions = steps
    per_tensor = ("scalars", "other", "exponent", "weight")
    scalars = any(isinstance(op.arg(name), list) for name in per_tensor)
    return Work(
        "foreach",
        flops=flops * elements,
        read_bytes=read_bytes_of(op),
        write_bytes=write,
        dtype=lane_dtype(op.inputs),
        instructions=(instructions + lists) * elements,
        dims={
            "tensors": len(numels),
            "elements": elements,
            "lists": lists,
            "scalars": scalars,
            "numels": list(numels),
            **({"variant": variant} if variant else {}),
        },
    )


def _fast(lists: Sequence[Sequence[Tensor]], mixed: bool) -> bool:
    """Whether all tensors share a dtype, and tensors of equal index share a dense layout
    (ATen/native/ForeachUtils.h, `can_use_fast_route`). `mixed` dtypes may differ by list."""
    dtypes = [{t.dtype for t in tensors} for tensors in lists]
    uniform = (
        all(len(names) == 1 for names in dtypes) if mixed else len(set[str]().union(*dtypes)) == 1
    )
    ids = zip(*(map(id, tensors) for tensors in lists), strict=True)
    distinct = dict(zip(ids, zip(*lists, strict=True), strict=True))
    return uniform and all(map(aligned, distinct.values()))


@cost(*_overloads())
def foreach(op: Signature) -> tuple[Work, ...]:
    """A pointwise op on every tensor of a list; one launch per tensor on the slow path."""
    match = re.match(r"aten\._foreach_(\w+?)(_?)\.", op.name)
    base, mark = match.groups() if match else ("", "")
    steps = scaled(op, _STEPS[base])
    if base == "pow" and "exponent" in op.args:
        steps = power(op.arg("exponent"))
    if base in ("addcmul", "addcdiv") and op.arg("value", 1) == 1:
        steps = (steps[0] - ("scalars" not in op.args and "scalars" not in op.names), steps[1])
    lists = _lists(op)
    if not lists:
        return ()
    results = [list(op.outputs)] if not mark else []
    read = lists[1:] if base == "copy" and len(lists) > 1 else lists
    everything = [*lists, *results]
    numels = [t.numel for t in lists[0]]
    if not sum(numels):
        return ()
    if not _fast(everything, base == "copy"):
        return _one_by_one(op, steps, read, results[0] if results else lists[0])
    work = multi_tensor_work(op, steps, ("self",) if mark else (), len(everything), numels)
    if base == "zero" and mark:
        work = replace(work, read_bytes=0)
    if base == "copy" and mark:
        work = replace(work, read_bytes=read_of(op, "src"))
    return (work,)


def _one_by_one(
    op: Signature, steps: Steps, read: list[list[Tensor]], results: list[Tensor]
) -> tuple[Work, ...]:
    launches: list[Work] = []
    for i, result in enumerate(results):
        inputs = tuple(one[i] for one in read)
        names = tuple(f"self{place}" for place in range(len(inputs)))
        one = replace(op, inputs=inputs, outputs=(result,), names=names, aliases=())
        launches += elementwise(one, steps)
    return tuple(launches)


@cost("aten._foreach_norm.Scalar", "aten._foreach_powsum.Scalar", "aten._foreach_max.default")
def foreach_norm(op: Signature) -> tuple[Work, ...]:
    """Clear the partial results, compute one per chunk, and sum them with one block per tensor
    (ATen/native/cuda/ForeachReduceOp.cu)."""
    tensors = op.tensors("self")
    numels = [t.numel for t in tensors]
    chunks = max((-(-n // CHUNK) for n in numels), default=0)
    if not chunks:
        return ()
    wide = 8 if tensors[0].dtype == "float64" else 4
    partial = len(tensors) * chunks
    zero = Work(
        "fill", write_bytes=partial * wide, instructions=partial, dims={"elements": partial}
    )
    work = multi_tensor_work(op, _STEPS["norm"], (), 1, numels, "norm")
    work = replace(work, write_bytes=wide * sum(-(-n // CHUNK) for n in numels))
    final = Work(
        "reduction",
        flops=partial,
        read_bytes=partial * wide,
        write_bytes=op.write_bytes,
        dtype=work.dtype,
        instructions=2 * partial,
        dims={"rows": len(tensors), "cols": chunks, "inner": 1},
    )
    return (zero, work, final)
