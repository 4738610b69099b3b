"""Rules that turn the work of an op into the kernels that a GPU launches.

Cost functions are independent of the GPU. Launches that depend on it (split-K and its reduction,
layout conversions around a convolution, the chunks of a foreach optimizer) follow one rule per
family of work. A rule selects the calibration curve of a kernel by `dims["variant"]`.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.costs import Work, works
from simulator.hardware.gpu import GPU
from simulator.records import Signature

Rule = Callable[[Signature, Work, GPU], tuple[Work, ...]]
RULES: dict[str, Rule] = {}


def lowering(family: str) -> Callable[[Rule], Rule]:
    """Register how work of a family becomes launches.

    Raises ValueError if the family already has a rule.
    """

    def decorate(rule: Rule) -> Rule:
        if family in RULES:
            raise ValueError(f"{family!r} already has a lowering rule")
        RULES[family] = rule
        return rule

    return decorate


def launches(op: Signature, gpu: GPU) -> tuple[Work, ...] | None:
    """The kernels of one op: () for a view, None if the op has no cost function."""
    if all(t.device == "cpu" for t in (*op.inputs, *op.outputs)):
        return ()
    op_works = works(op)
    if op_works is None:
        return None
    return tuple(
        kernel
        for work in op_works
        for kernel in (RULES[work.family](op, work, gpu) if work.family in RULES else (work,))
    )
