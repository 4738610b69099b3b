"""The calibration curve that times a kernel: one decorated rule per family with several curves.

A lowering selects a curve of the family by `dims["variant"]`. Without a variant, the family's rule
selects the curve. Without a rule, the curve has the family's name.
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.costs.registry import Work

CurveRule = Callable[[Work], str]
CURVE_RULES: dict[str, CurveRule] = {}


def curve_rule(family: str) -> Callable[[CurveRule], CurveRule]:
    """Register the rule that selects the curve of works of `family` without a variant.

    Raises ValueError if the family already has a rule.
    """

    def decorate(rule: CurveRule) -> CurveRule:
        if family in CURVE_RULES:
            raise ValueError(f"{family!r} already has a curve rule")
        CURVE_RULES[family] = rule
        return rule

    return decorate


def curve(work: Work) -> str:
    """Name of the profile's curve that times a kernel."""
    if "variant" in work.dims:
        return f"{work.family}_{work.dims['variant']}"
    rule = CURVE_RULES.get(work.family)
    return work.family if rule is None else rule(work)
