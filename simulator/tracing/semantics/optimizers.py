"""Fused optimizers that have no shape rule: they change their lists in place."""

from __future__ import annotations

from simulator.tracing.semantics.registry import Situation, shape_rule


@shape_rule("_fused_sgd_")
def fused_sgd(situation: Situation, *args: object, **kwargs: object) -> None:
    """`_fused_sgd_` returns nothing (ATen/native/cuda/FusedSgdKernel.cu)."""
