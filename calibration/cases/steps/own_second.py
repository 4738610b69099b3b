"""Cases of a second set of networks as users write them, predicted before they were measured.

No fit uses them.
"""

from __future__ import annotations

from dataclasses import replace

from calibration.cases.case import Case, infer, train
from calibration.cases.steps.own import OWN_CASES, OWN_COMPILED

OWN_SECOND: tuple[Case, ...] = (
    *infer("own-mini-llama", "bf16", 8, 1024),
    *train("own-detector", "autocast", 8, 0, "sgd"),
    *infer("own-unet3d", "fp16", 2),
    *infer("own-gat", "fp32", 4, 1000),
    *train("own-nerf", "fp32", 1024),
    *infer("own-windows", "fp16", 32),
    *infer("own-dlrm", "fp32", 2048),
    *train("own-conformer", "autocast", 16, 800),
    *infer("own-fno", "fp32", 16, 64),
    *infer("own-encoder", "fp16", 32, 256),
    *train("own-kan", "fp32", 4096),
    *infer("own-wavenet", "fp16", 8, 8192),
    *infer("own-vq-vae", "fp32", 64),
    *train("own-mini-llama", "autocast", 8, 512),
    *infer("own-crf", "fp32", 32, 64),
    *infer("own-edsr", "fp16", 16),
    *train("own-clip", "autocast", 64, 77),
    *infer("own-state-space", "fp32", 16, 2048),
    *infer("own-linear-attention", "bf16", 8, 1024),
    *train("own-unet3d", "autocast", 2),
    *infer("own-pointnet", "fp32", 32, 1024),
    *infer("own-neural-ode", "fp32", 256),
    *train("own-gat", "autocast", 4, 500),
    *infer("own-detector", "fp16", 16),
    *infer("own-tcn", "fp32", 32, 512),
    *train("own-wavenet", "fp32", 4, 8000),
    *infer("own-conformer", "fp16", 16, 800),
    *infer("own-perceiver", "bf16", 16, 2048),
    *train("own-dlrm", "fp32", 2048, 0, "sgd"),
    *infer("own-nerf", "fp32", 4096),
    *infer("own-clip", "bf16", 64, 77),
    *train("own-linear-attention", "autocast", 4, 1024),
    *infer("own-kan", "fp32", 4096),
    *train("own-state-space", "fp32", 16, 1024),
    *train("own-crf", "fp32", 32, 64),
    *train("own-windows", "autocast", 32),
    *train("own-vq-vae", "fp32", 32),
    *train("own-fno", "fp32", 16, 64),
    *train("own-encoder", "autocast", 32, 256),
    *train("own-edsr", "fp32", 16),
    *train("own-tcn", "fp32", 32, 512),
    *train("own-pointnet", "fp32", 32, 1024),
    *train("own-neural-ode", "fp32", 256),
    *train("own-perceiver", "autocast", 16, 2048),
)
"""Eager steps (inference steps as CUDA graphs too), ordered so that every prefix covers all
kinds."""

OWN_SECOND_COMPILED: tuple[Case, ...] = tuple(
    replace(case, mode="compiled")
    for case in (
        *infer("own-mini-llama", "bf16", 8, 1024),
        *train("own-kan", "fp32", 4096),
        *infer("own-windows", "fp16", 32),
        *infer("own-nerf", "fp32", 4096),
        *train("own-gat", "autocast", 4, 500),
        *infer("own-linear-attention", "bf16", 8, 1024),
        *infer("own-detector", "fp16", 16),
        *train("own-tcn", "fp32", 32, 512),
        *infer("own-perceiver", "bf16", 16, 2048),
        *infer("own-unet3d", "fp16", 2),
    )
)
"""Compiled steps of some of them, each timed together with the same step in eager mode."""

OWN_THIRD_COMPILED: tuple[Case, ...] = tuple(
    compiled
    for compiled in (replace(case, mode="compiled") for case in (*OWN_SECOND, *OWN_CASES))
    if compiled not in (*OWN_COMPILED, *OWN_SECOND_COMPILED)
)
"""Compiled steps of all other cases of both sets."""
