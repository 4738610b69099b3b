"""Cases of a seventh set of networks from transformers and timm, predicted before they were
measured; no fit uses them."""

from __future__ import annotations

from dataclasses import replace

from calibration.cases.networks.packages_seventh import SIZED_SEVENTH
from calibration.cases.steps.drawn import Draw

_DRAW = Draw(
    "seventh",
    pictures=("dinov2-registers", "pp-lcnet", "swiftformer"),
    waves=("wav2vec2-conformer",),
    cut=("hyperclovax", "minicpm3", "jais2", "ministral3"),
    untrained=("switch",),
    longest={"ibert": 256},
)
_TRAINED, _COMPILED = 22, {"inference": 14, "training": 4}

PACKAGES_SEVENTH = _DRAW.cases(SIZED_SEVENTH, trained=_TRAINED)
"""Eager steps; inference steps as CUDA graphs too."""
PACKAGES_SEVENTH_COMPILED = tuple(
    replace(case, mode="compiled")
    for phase, count in _COMPILED.items()
    for case in [case for case in PACKAGES_SEVENTH if case.phase == phase][:count]
)
"""Compiled steps of some of them, each timed together with the same step in eager mode."""
