"""From ops to the kernels that a given GPU launches for them.

Cost functions know no GPU. What depends on one (split-K and its reduction, layout conversions
around a convolution, the chunks of a foreach optimizer) is a rule here by family of work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work, works
from simulator.hardware import GPU
from simulator.records import Signature, Trace

Rule = Callable[[Signature, Work, GPU], tuple[Work, ...]]
RULES: dict[str, Rule] = {}


def lowering(family: str) -> Callable[[Rule], Rule]:
    """Register how work of a family becomes launches; a second rule for it raises."""

    def decorate(rule: Rule) -> Rule:
        if family in RULES:
            raise ValueError(f"{family!r} has a lowering rule already")
        RULES[family] = rule
        return rule

    return decorate


def launches(op: Signature, gpu: GPU) -> tuple[Work, ...] | None:
    """The kernels of one op: () for a view, None where the op has no cost function."""
    if all(t.device == "cpu" for t in (*op.inputs, *op.outputs)):
        return ()
    found = works(op)
    if found is None:
        return None
    return tuple(
        kernel
        for work in found
        for kernel in (RULES[work.family](op, work, gpu) if work.family in RULES else (work,))
    )


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
        span.append(np.arange(len(distinct), len(distinct) + len(found)))
        distinct += found
    kernels = [span[row] for row in rows]
    counts = np.array([k.size for k in kernels], np.int64)
    return Lowered(
        distinct,
        np.concatenate(kernels) if kernels else np.zeros(0, np.int64),
        np.repeat(np.arange(len(rows)), counts),
        [index for index, row in enumerate(rows) if row in missing],
    )
