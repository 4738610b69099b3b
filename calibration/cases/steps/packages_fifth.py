"""Cases of a fifth set of networks from transformers and timm, most of them trained. They were
predicted before they were measured; no fit uses them."""

from __future__ import annotations

from calibration.cases.networks.packages_fifth import SIZED_FIFTH
from calibration.cases.steps.drawn import Draw

_DRAW = Draw(
    "fifth",
    pictures=("swin", "resnet-50", "convnext", "levit", "mobilevit", "bit"),
    waves=("data2vec-audio",),
    cut=("gptj", "llama", "gemma", "nemotron", "olmo", "granite-moe"),
    untrained=("gemma", "granite-moe", "nemotron"),
    longest={},
)

PACKAGES_FIFTH = _DRAW.cases(SIZED_FIFTH, trained=40)
"""Eager steps; inference steps as CUDA graphs too."""
