"""Cases of a fourth set of networks as users write them, predicted before they were measured.

No fit uses them.
"""

from __future__ import annotations

from dataclasses import replace

from calibration.cases.case import Case, infer, train

OWN_FIFTH: tuple[Case, ...] = (
    *infer("own-attention-gates", "fp16", 16),
    *train("own-two-towers", "fp32", 4096, 50),
    *infer("own-static-cache", "bf16", 8, 512),
    *train("own-grouped-attention", "autocast", 64),
    *infer("own-retention", "bf16", 4, 1024),
    *train("own-isomorphism", "fp32", 512),
    *infer("own-enlarger", "fp16", 8),
    *train("own-hourglass", "fp32", 16),
    *infer("own-residual-codec", "fp32", 8, 48000),
    *train("own-shared-layers", "autocast-fp16", 16, 256),
    *infer("own-pyramid-detector", "fp16", 8),
    *train("own-crosses", "fp32", 8192, by="sgd"),
    *infer("own-recurrent-memory", "fp32", 8, 256),
    *train("own-masked-patches", "autocast", 64),
    *infer("own-spatial-transformer", "fp32", 128),
    *train("own-text-attention", "fp32", 64, 200),
    *infer("own-feature-tokens", "fp32", 1024),
    *train("own-cycle", "fp32", 4),
    *infer("own-basis-series", "fp32", 1024),
    *train("own-action-diffusion", "autocast", 256, 16),
    *infer("own-heartbeats", "fp16", 64, 4096),
    *train("own-capsules", "fp32", 64),
    *infer("own-questions", "fp16", 128, 30),
    *train("own-paired-translator", "autocast", 8),
    *infer("own-autocorrelation", "fp32", 64),
    *train("own-attention-gates", "autocast", 16),
    *infer("own-grouped-attention", "bf16", 64),
    *train("own-retention", "autocast", 4, 1024),
    *infer("own-cycle", "fp16", 16),
    *train("own-enlarger", "fp32", 4),
    *infer("own-shared-layers", "fp16", 16, 384),
    *train("own-pyramid-detector", "autocast", 8),
    *infer("own-crosses", "fp16", 16384),
    *train("own-recurrent-memory", "autocast", 8, 256),
    *infer("own-two-towers", "fp32", 1024, 50),
    *train("own-basis-series", "fp32", 1024),
    *infer("own-hourglass", "bf16", 32),
    *train("own-residual-codec", "fp32", 8, 24000),
    *infer("own-action-diffusion", "fp32", 64, 16),
)
"""Eager steps (inference steps as CUDA graphs too), ordered so that every prefix covers all
kinds."""

_COMPILED = (
    *("attention-gates", "static-cache", "retention", "isomorphism", "shared-layers"),
    *("crosses", "masked-patches", "spatial-transformer", "feature-tokens", "capsules"),
    *("basis-series", "action-diffusion", "heartbeats", "two-towers"),
)
OWN_FIFTH_COMPILED: tuple[Case, ...] = tuple(
    replace(case, mode="compiled")
    for case in OWN_FIFTH
    if case.network.removeprefix("own-") in _COMPILED
)
"""The steps of networks that compile in short time, compiled."""
