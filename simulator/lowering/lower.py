"""All kernels of a trace, in launch order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.caches.identity import ByIdentity
from simulator.costs import Work, works
from simulator.hardware.gpu import GPU
from simulator.lowering.registry import RULES
from simulator.records import Signature, Trace


@dataclass(frozen=True)
class Lowered:
    """The kernels of a trace. `works` are distinct; `work_of[k]` and `op_of[k]` index kernel k's
    work and op. `unmodelled` lists ops without a cost function, by index."""

    works: list[Work]
    work_of: NDArray[np.int64]
    op_of: NDArray[np.int64]
    unmodelled: list[int]


def lower(trace: Trace, gpu: GPU) -> Lowered:
    """Every kernel of a trace in launch order."""
    signatures, rows = trace.signatures
    distinct: list[Work] = []
    span: list[NDArray[np.int64]] = []
    missing: set[int] = set()
    for number, (signature, known) in enumerate(zip(signatures, _works(trace), strict=True)):
        found = () if known is None else _launches(signature, known, gpu)
        if known is None:
            missing.add(number)
        places: dict[int, int] = {}
        for work in found:  # equal launches of one op are one object
            if places.setdefault(id(work), len(distinct)) == len(distinct):
                distinct.append(work)
        span.append(np.array([places[id(work)] for work in found], np.int64))
    kernels = [span[row] for row in rows]
    counts = np.array([k.size for k in kernels], np.int64)
    return Lowered(
        distinct,
        np.concatenate(kernels) if kernels else np.zeros(0, np.int64),
        np.repeat(np.arange(len(rows)), counts),
        [index for index, row in enumerate(rows) if row in missing],
    )


_MANY = 32  # tensors, as an optimizer's ops have: what is made of those is worth keeping
_WORKS: ByIdentity[tuple[Work, ...] | None] = ByIdentity(512)
_LAUNCHES: ByIdentity[list[Work]] = ByIdentity(2048)
_OF_TRACE = Derived[list[tuple[Work, ...] | None]]()


def _works(trace: Trace) -> list[tuple[Work, ...] | None]:
    """The work of each distinct signature, which no GPU changes."""
    return _OF_TRACE.get(trace, lambda: list(map(_shared_works, trace.signatures[0])))


def _shared_works(op: Signature) -> tuple[Work, ...] | None:
    return _WORKS.get(op, None, partial(_costed, op)) if len(op.inputs) > _MANY else _costed(op)


def _costed(op: Signature) -> tuple[Work, ...] | None:
    on_cpu = all(t.device == "cpu" for t in (*op.inputs, *op.outputs))
    return () if on_cpu else works(op)


def _launches(op: Signature, found: tuple[Work, ...], gpu: GPU) -> list[Work]:
    """As `simulator.lowering.launches`, for an op whose work is known."""
    if len(op.inputs) > _MANY:
        kind = (gpu.units, gpu.compute_capability, gpu.vendor, tuple(gpu.tensor_flops_per_s))
        return _LAUNCHES.get(op, kind, lambda: _ruled(op, found, gpu))
    return _ruled(op, found, gpu)


def _ruled(op: Signature, found: tuple[Work, ...], gpu: GPU) -> list[Work]:
    kernels: list[Work] = []
    for work in found:
        rule = RULES.get(work.family)
        kernels += (work,) if rule is None else rule(op, work, gpu)
    return kernels
