"""Steps of mixtures of experts with fewer layers than the published networks: those of the
catalogue, and those from transformers."""

from __future__ import annotations

from calibration.cases.case import Case, infer, train

EXPERTS: tuple[Case, ...] = (
    *infer("gpt-oss-120b-decode", "bf16", 8, 1024, layers=4),
    *infer("gpt-oss-120b-decode", "bf16", 64, 1024, layers=4),
    *infer("gpt-oss-120b", "bf16", 1, 2048, layers=4),
    *infer("qwen3-30b-decode", "bf16", 32, 2048, layers=8),
    *infer("qwen3-30b", "bf16", 1, 1024, layers=8),
    *infer("minimax-m2-decode", "bf16", 16, 4096, layers=4),
    *infer("gpt-oss-120b-decode", "bf16", 1, 1024, layers=4),
    *infer("minimax-m2", "bf16", 1, 512, layers=4),
    *infer("gpt-oss-120b-decode", "bf16", 256, 512, layers=4),
    *train("qwen3-30b", "bf16", 1, 2048, layers=4),
    *train("gpt-oss-20b", "bf16", 2, 1024, layers=4),
    *infer("gpt-oss-20b", "bf16", 4, 2048, layers=8),
)
"""Most useful first, in case a run ends early."""

MIXTURES: tuple[Case, ...] = (
    *infer("hf-qwen3-moe", "bf16", 1, 512),
    *infer("hf-gpt-oss", "bf16", 1, 512),
    *infer("hf-mixtral-8x7b", "bf16", 8, 128),
    *infer("hf-olmoe", "bf16", 8, 256),
    *infer("hf-minimax-m2", "bf16", 1, 512),
    *infer("hf-glm4-moe", "bf16", 1, 2048),
    *infer("hf-deepseek-v3-moe", "bf16", 1, 512),
    *infer("hf-phimoe", "bf16", 2, 512),
    *infer("hf-granite-moe", "bf16", 4, 512),
    *train("hf-olmoe", "bf16", 2, 512),
    *train("hf-granite-moe", "bf16", 4, 512),
    *infer("hf-qwen3-moe", "bf16", 8, 1024),
    *infer("hf-gpt-oss", "bf16", 4, 1024),
    *infer("hf-mixtral-8x7b", "bf16", 1, 32),
    *infer("hf-olmoe", "bf16", 1, 16),
    *train("hf-qwen3-moe", "bf16", 1, 1024),
    *infer("hf-deepseek-v3-moe", "bf16", 2, 1024),
    *infer("hf-phimoe", "fp16", 1, 256),
)
"""Predicted before they were measured; no fit uses them."""
