"""Cases of a sixth set of networks from transformers and timm, predicted before they were measured;
no fit uses them."""

from __future__ import annotations

from dataclasses import replace

from calibration.cases.networks.packages_sixth import SIZED_SIXTH
from calibration.cases.steps.drawn import Draw

_DRAW = Draw(
    "sixth",
    pictures=("deit", "beit", "poolformer", "pvt", "mobilenet-v2"),
    waves=("sew",),
    cut=("codegen", "ctrl", "helium", "arcee", "qwen2-moe"),
    untrained=("qwen2-moe",),
    longest={"ctrl": 256},
)
_TRAINED, _COMPILED = 26, {"inference": 12, "training": 6}

PACKAGES_SIXTH = _DRAW.cases(SIZED_SIXTH, trained=_TRAINED)
"""Eager steps; inference steps as CUDA graphs too."""
PACKAGES_SIXTH_COMPILED = tuple(
    replace(case, mode="compiled")
    for phase, count in _COMPILED.items()
    for case in [case for case in PACKAGES_SIXTH if case.phase == phase][:count]
)
"""Compiled steps of some of them, each timed together with the same step in eager mode."""
