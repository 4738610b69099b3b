"""Cases of a fourth set of networks from transformers and timm, predicted before they were
measured; no fit uses them."""

from __future__ import annotations

from calibration.cases.networks.packages_fourth import DECODERS, SIZED_FOURTH
from calibration.cases.steps.drawn import Draw

_DRAW = Draw(
    "fourth",
    pictures=("cvt", "regnet", "vit-msn"),
    waves=("unispeech",),
    cut=("exaone4", "cohere2", "ernie4-5", "olmo3", "stablelm", "phi"),
    untrained=(*DECODERS, "cohere2"),
    longest={"blenderbot-small": 256, "marian": 256},
)

PACKAGES_FOURTH = _DRAW.cases(SIZED_FOURTH, trained=16)
"""Eager steps; inference steps as CUDA graphs too."""
