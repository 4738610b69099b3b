"""Cases of a third set of networks as users write them, predicted before they were measured.

No fit uses them, but for one recurrent inference step in the fit of the host
(`calibration.fit.host_rows`).
"""

from __future__ import annotations

from dataclasses import replace

from calibration.cases.case import Case, infer, train

OWN_FOURTH: tuple[Case, ...] = (
    *infer("own-dit", "bf16", 16),
    *train("own-lora", "bf16", 8, 512),
    *infer("own-mobile", "fp16", 64),
    *train("own-soft-actor-critic", "fp32", 256),
    *infer("own-cached-decoder", "fp16", 16, 128),
    *train("own-molecules", "fp32", 128),
    *infer("own-flow", "fp32", 4),
    *train("own-patched-series", "autocast", 64),
    *infer("own-vocoder", "fp16", 8, 128),
    *train("own-dense", "autocast", 64),
    *infer("own-scans", "bf16", 8, 2048),
    *train("own-conv-lstm", "fp32", 16, 10),
    *infer("own-relative-bias", "bf16", 16, 512),
    *train("own-modulated", "fp32", 16),
    *infer("own-large-kernels", "bf16", 32),
    *train("own-listener", "autocast", 16, 32000),
    *infer("own-induced", "fp32", 32, 1024),
    *train("own-video", "autocast", 8),
    *infer("own-real-nvp", "fp32", 8192),
    *train("own-contrast", "fp32", 128),
    *infer("own-waves", "fp32", 65536),
    *train("own-prototypes", "fp32", 15),
    *infer("own-lora", "bf16", 4, 1024),
    *train("own-dit", "autocast", 32),
    *infer("own-molecules", "fp32", 256),
    *train("own-mobile", "autocast", 64),
    *infer("own-video", "fp16", 8),
    *train("own-real-nvp", "fp32", 4096),
    *infer("own-patched-series", "fp16", 128),
    *train("own-vocoder", "fp32", 8, 64),
    *infer("own-dense", "fp16", 64),
    *train("own-scans", "autocast", 4, 2048),
    *infer("own-conv-lstm", "fp16", 16, 10),
    *train("own-relative-bias", "autocast", 16, 256),
    *infer("own-modulated", "fp16", 8),
    *train("own-large-kernels", "autocast", 32),
    *infer("own-listener", "fp16", 16, 32000),
    *train("own-induced", "autocast", 32, 1024),
    *infer("own-contrast", "fp16", 128),
    *train("own-waves", "fp32", 65536),
    *train("own-flow", "autocast", 4),
)
"""Eager steps (inference steps as CUDA graphs too), ordered so that every prefix covers all
kinds."""

OWN_FOURTH_COMPILED: tuple[Case, ...] = tuple(
    replace(case, mode="compiled")
    for case in OWN_FOURTH
    if case.network not in ("own-cached-decoder", "own-listener", "own-conv-lstm")
)
"""The same steps compiled, but for networks whose loops make compilation long."""
