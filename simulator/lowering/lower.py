"""Lower a whole trace to kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.caches.identity import ByIdentity
from simulator.costs import Work, works
from simulator.hardware.gpu import GPU
from simulator.lowering.inner_ops import inner_ops
from simulator.lowering.registry import RULES
from simulator.records import Signature, Trace


@dataclass(frozen=True)
class Lowered:
    """The kernels of a trace in launch order.

    The `works` are distinct; `work_of[k]` and `op_of[k]` are the indices of the work and op of
    kernel k. `inner_ops` counts the other ops that each op calls [ops]; `unmodelled` lists the
    indices of ops without a cost function.
    """

    works: list[Work]
    work_of: NDArray[np.int64]
    op_of: NDArray[np.int64]
    inner_ops: NDArray[np.int64]
    unmodelled: list[int]


def lower(trace: Trace, gpu: GPU) -> Lowered:
    """All kernels of a trace in launch order."""
    signatures, rows = trace.signatures
    distinct: list[Work] = []
    places: list[int] = []
    launches: list[int] = []
    inner: list[int] = []
    missing: set[int] = set()
    common = _COMMON.get(trace, dict[int, _SignatureKernels])
    for row, (signature, op_works) in enumerate(zip(signatures, _works(trace), strict=True)):
        if op_works is None:
            missing.add(row)
        known = common.get(id(signature))
        kernels = known.kernels.get(_kind(gpu)) if known else None
        if kernels is None:
            kernels = _kernels(signature, op_works or (), gpu)
            if known:
                known.kernels[_kind(gpu)] = kernels
        begin = len(distinct)
        places += [begin + place for place in kernels.places]
        launches.append(len(kernels.places))
        distinct += kernels.works
        inner.append(kernels.inner_ops)
    of = np.array(rows, np.int64)
    counts = np.array(launches, np.int64)
    op_of = np.repeat(np.arange(of.size), counts[of])
    return Lowered(
        distinct,
        _joined(np.array(places, np.int64), counts, of),
        op_of,
        np.array(inner, np.int64)[of],
        [index for index, row in enumerate(rows) if row in missing] if missing else [],
    )


def _joined(
    numbers: NDArray[np.int64], counts: NDArray[np.int64], of: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The parts `of` of these numbers, one after another; `counts` are the lengths of all parts."""
    if not of.size:
        return np.zeros(0, np.int64)
    begins, times = np.cumsum(counts) - counts, counts[of]
    before = np.cumsum(times) - times
    return numbers[np.repeat(begins[of] - before, times) + np.arange(int(times.sum()))]


class _Kernels(NamedTuple):
    """The kernels of an op: their distinct works, the place of each launch's work among these, and
    the number of other ops that the op calls."""

    works: list[Work]
    places: list[int]
    inner_ops: int


def _kernels(op: Signature, works: tuple[Work, ...], gpu: GPU) -> _Kernels:
    def kernels() -> _Kernels:
        launches = lower_op(op, works, gpu)
        places: dict[int, int] = {}
        distinct: list[Work] = []
        for work in launches:  # equal launches of one op are one object
            if places.setdefault(id(work), len(distinct)) == len(distinct):
                distinct.append(work)
        each = [places[id(work)] for work in launches]
        return _Kernels(distinct, each, inner_ops(op, launches))

    return _KERNELS.get(op, _kind(gpu), kernels) if _is_large(op) else kernels()


_MANY_TENSORS = 32  # the works and launches of an op with more inputs (an optimizer's) are cached
_WORKS: ByIdentity[tuple[Work, ...] | None] = ByIdentity(512)
_LAUNCHES: ByIdentity[list[Work]] = ByIdentity(2048)
_KERNELS: ByIdentity[_Kernels] = ByIdentity(2048)
_OF_TRACE = Derived[list[tuple[Work, ...] | None]]()


def _works(trace: Trace) -> list[tuple[Work, ...] | None]:
    """The work of each distinct signature, the same on every GPU."""
    return _OF_TRACE.get(trace, lambda: _works_of(trace))


def _works_of(trace: Trace) -> list[tuple[Work, ...] | None]:
    common = _COMMON.get(trace, dict[int, _SignatureKernels])
    return [
        common[id(signature)].works if id(signature) in common else _shared_works(signature)
        for signature in trace.signatures[0]
    ]


class _SignatureKernels(NamedTuple):
    """A signature with its works, and its kernels by kind of GPU."""

    signature: Signature
    works: tuple[Work, ...] | None
    kernels: dict[tuple[object, ...], _Kernels]


_COMMON = Derived[dict[int, _SignatureKernels]]()


def share_kernels(source: Trace, other: Trace) -> None:
    """Let `other`, a trace with most of the signatures of `source`, share their works and kernels.
    Only those of `source` are stored, while one of the traces exists."""
    common = _COMMON.get(source, dict[int, _SignatureKernels])
    if not common:
        for signature, op_works in zip(source.signatures[0], _works(source), strict=True):
            common[id(signature)] = _SignatureKernels(signature, op_works, {})
    _COMMON.share(source, other)


def _shared_works(op: Signature) -> tuple[Work, ...] | None:
    if _is_large(op):
        return _WORKS.get(op, None, partial(gpu_works, op))
    return gpu_works(op)


def gpu_works(op: Signature) -> tuple[Work, ...] | None:
    """The work of an op on the GPU: () if all its tensors are on the CPU, None without a cost."""
    on_cpu = all(t.device == "cpu" for t in (*op.inputs, *op.outputs))
    return () if on_cpu else works(op)


def lower_op(op: Signature, works: tuple[Work, ...], gpu: GPU) -> list[Work]:
    """`simulator.lowering.launches` for an op whose work is already computed."""
    if _is_large(op):
        return _LAUNCHES.get(op, _kind(gpu), lambda: _apply_rules(op, works, gpu))
    return _apply_rules(op, works, gpu)


def _is_large(op: Signature) -> bool:
    return len(op.inputs) > _MANY_TENSORS


def _kind(gpu: GPU) -> tuple[object, ...]:
    return gpu.units, gpu.compute_capability, gpu.vendor, tuple(gpu.tensor_flops_per_s)


def _apply_rules(op: Signature, works: tuple[Work, ...], gpu: GPU) -> list[Work]:
    kernels: list[Work] = []
    for work in works:
        rule = RULES.get(work.family)
        kernels += (work,) if rule is None else rule(op, work, gpu)
    return kernels
