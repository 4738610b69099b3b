"""From ops to the kernels that a given GPU launches for them.

Cost functions know no GPU. What depends on one (split-K and its reduction, layout conversions
around a convolution, the chunks of a foreach optimizer) is a rule here by family of work.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.costs import Work, works
from simulator.hardware.gpu import GPU
from simulator.records import Signature

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
