"""Cases of networks as users write them. No fit uses them, but for two recurrent inference steps in
the fit of the host (`calibration.fit.host_rows`)."""

from __future__ import annotations

from dataclasses import replace

from calibration.cases.case import Case, infer, train

OWN_CASES: tuple[Case, ...] = (
    *infer("own-nanogpt", "bf16", 8, 512),
    *infer("own-hand-unet", "fp16", 4),
    *infer("own-tagger", "fp32", 32, 50),
    *train("own-nanogpt", "autocast", 12, 256),
    *infer("own-graph", "fp32", 4, 2500),
    *infer("own-ddpm", "fp16", 64),
    *infer("own-moe-loop", "bf16", 4, 256),
    *train("own-ddpm", "autocast", 64),
    *infer("own-einsum-vit", "fp16", 32),
    *infer("own-dqn", "fp32", 32),
    *infer("own-gru-cells", "fp32", 16, 48),
    *train("own-dqn", "fp32", 32),
    *infer("own-seq2seq", "fp32", 32, 40),
    *infer("own-se-resnet", "fp16", 32),
    *infer("own-masked", "bf16", 16, 200),
    *train("own-se-resnet", "autocast", 32, 0, "sgd"),
    *infer("own-ppo", "fp32", 256),
    *infer("own-vae", "fp32", 128),
    *infer("own-spectrogram", "fp32", 16, 64000),
    *train("own-graph", "fp32", 4, 2500),
    *infer("own-siamese", "bf16", 64),
    *infer("own-gan", "fp16", 64),
    *infer("own-mixup", "fp32", 128),
    *train("own-tabular", "fp32", 1024),
    *infer("own-factorized", "fp32", 8192),
    *infer("own-tabular", "fp32", 1000),
    *train("own-gan", "fp32", 64),
    *train("own-ppo", "fp32", 256),
    *train("own-factorized", "fp32", 8192, 0, "sgd"),
    *train("own-tagger", "fp32", 32, 50),
    *train("own-mixup", "autocast", 128, 0, "sgd"),
    *train("own-gru-cells", "fp32", 16, 48),
)
"""Eager steps (inference steps as CUDA graphs too), ordered so that every prefix covers all
kinds."""

OWN_COMPILED: tuple[Case, ...] = tuple(
    replace(case, mode="compiled")
    for case in (
        *infer("own-nanogpt", "bf16", 8, 512),
        *train("own-nanogpt", "autocast", 12, 256),
        *infer("own-einsum-vit", "fp16", 32),
        *infer("own-hand-unet", "fp16", 4),
        *train("own-vae", "fp32", 128),
        *infer("own-masked", "bf16", 16, 200),
        *infer("own-ppo", "fp32", 256),
    )
)
"""Compiled steps of some of them, each timed together with the same step in eager mode."""
