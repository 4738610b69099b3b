"""Fused optimizers without a shape rule in torch: they update lists of tensors in place."""

from __future__ import annotations

from simulator.tracing.semantics.registry import Situation, shape_rule


@shape_rule("_fused_sgd_")
def fused_sgd(situation: Situation, *args: object, **kwargs: object) -> None:
    """`_fused_sgd_` returns nothing (ATen/native/cuda/FusedSgdKernel.cu)."""
