"""All kernels of a trace, in launch order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.hardware import GPU
from simulator.lowering.registry import launches
from simulator.records import Trace


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
    for number, signature in enumerate(signatures):
        found = launches(signature, gpu)
        if found is None:
            missing.add(number)
            found = ()
        places: list[int] = []
        for work in found:  # equal launches of one op are one object
            if not (places and distinct[-1] is work):
                distinct.append(work)
            places.append(len(distinct) - 1)
        span.append(np.array(places, np.int64))
    kernels = [span[row] for row in rows]
    counts = np.array([k.size for k in kernels], np.int64)
    return Lowered(
        distinct,
        np.concatenate(kernels) if kernels else np.zeros(0, np.int64),
        np.repeat(np.arange(len(rows)), counts),
        [index for index, row in enumerate(rows) if row in missing],
    )
