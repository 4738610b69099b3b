"""Cases of networks from packages that no earlier set used, predicted before they were measured; no
fit uses them.

The lengths of graphs are edges per node, those of sound are frames or samples.
"""

from __future__ import annotations

from dataclasses import replace

from calibration.cases.case import Case, infer, train

LIBRARIES: tuple[Case, ...] = (
    *infer("lib-sd15-unet", "fp16", 2),
    *train("lib-unet-3d", "autocast-fp16", 4),
    *infer("lib-gcn", "fp32", 169_343, 7),
    *train("lib-yolo11s", "autocast", 16, by="sgd"),
    *infer("lib-rotary-decoder", "bf16", 4, 1024),
    *train("lib-conformer", "autocast", 16, 800),
    *infer("lib-swin-unetr", "fp32", 1),
    *train("lib-smp-unet", "fp32", 8),
    *infer("lib-flux", "bf16", 1),
    *train("lib-gin", "fp32", 3200, 2),
    *infer("lib-openclip-vit-b32", "fp16", 64),
    *train("lib-cct-14", "autocast", 64, by="adamw_fused"),
    *infer("lib-ecapa", "fp32", 32, 300),
    *train("lib-plain-decoder", "fp32", 8, 512),
    *infer("lib-sd15-autoencoder", "fp16", 1),
    *train("lib-sage", "fp32", 60_000, 10),
    *infer("lib-rt-detr", "fp16", 8),
    *infer("lib-vnet", "fp32", 1),
    *infer("lib-conv-tasnet", "fp32", 4, 16_000),
    *train("lib-dit-xl", "bf16", 8, num_layers=14),
    *infer("lib-alibi-encoder", "fp16", 8, 512),
    *train("lib-smp-deeplab", "autocast-fp16", 8, by="sgd"),
    *infer("lib-gat", "fp32", 20_000, 10),
    *infer("lib-vivit", "bf16", 8),
    *train("lib-ddpm-unet", "fp32", 4, by="adamw_fused"),
    *infer("lib-segresnet", "autocast", 1),
    *infer("lib-asr-conformer", "autocast", 16, 400),
    *infer("lib-pixart", "bf16", 2),
    *train("lib-openclip-vit-b32", "autocast", 64, by="adamw_fused"),
    *infer("lib-smp-manet", "fp16", 4),
    *infer("lib-plain-ddpm", "autocast-fp16", 8),
    *infer("lib-wan", "bf16", 1),
    *train("lib-vivit", "autocast", 8),
    *infer("lib-hifigan", "fp32", 4, 400),
    *train("lib-equivariant", "fp32", 1600, 16),
    *infer("lib-unetr", "fp16", 2),
    *train("lib-translator", "bf16", 16, 128),
    *infer("lib-sd3", "fp16", 2),
    *infer("lib-regionvit", "fp32", 16),
    *train("lib-pna", "fp32", 3200, 2),
    *infer("lib-yolov8n", "fp16", 1),
    *infer("lib-audio-wav2vec2", "fp16", 8, 80_000),
    *train("lib-edges", "fp32", 4, by="sgd"),
    *infer("lib-sepformer", "autocast", 1, 4000),
    *infer("lib-crossformer", "autocast", 32),
    *train("lib-ecapa", "autocast", 32, 300),
    *infer("lib-sana", "bf16", 2),
    *train("lib-gat", "fp32", 20_000, 10),
    *infer("lib-emformer", "fp32", 8, 516),
    *train("lib-cvt-13", "bf16", 32),
    *infer("lib-hybrid-demucs", "fp32", 1, 220_500),
    *infer("lib-unet-1d", "fp16", 4, 16_384),
    *infer("lib-deep-autoencoder", "bf16", 1),
    *train("lib-alibi-encoder", "bf16", 4, 256),
    *infer("lib-enlarger", "fp16", 1),
    *infer("lib-sd15-controlnet", "bf16", 4),
    *infer("lib-register-vit", "bf16", 32),
)
"""Eager steps (inference steps as CUDA graphs too), ordered so that every prefix covers all
packages."""

_COMPILED = (
    *("unet-3d", "gcn", "rotary-decoder", "smp-unet", "flux", "gin", "cct-14", "ecapa"),
    *("plain-decoder", "conv-tasnet", "alibi-encoder", "gat", "vivit", "unetr", "yolov8n"),
)
_EAGER_ONLY = {("lib-gat", "training"), ("lib-vivit", "training")}
LIBRARIES_COMPILED: tuple[Case, ...] = tuple(
    replace(case, mode="compiled")
    for case in LIBRARIES
    if case.network.removeprefix("lib-") in _COMPILED
    and (case.network, case.phase) not in _EAGER_ONLY
)
"""The steps of networks that compile in short time, compiled."""
