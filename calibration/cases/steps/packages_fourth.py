"""Cases of a fourth set of networks of transformers and timm: never fitted, and predicted before
they were measured. Precision, batch and length come from the hash of the network's name."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from itertools import zip_longest

from calibration.cases.case import Case
from calibration.cases.networks.packages_fourth import DECODERS, SIZED_FOURTH

_PRECISIONS = ("bf16", "fp16", "autocast", "fp32")
_BATCHES = (1, 2, 4, 8, 16, 32)
_LENGTHS = (32, 64, 128, 256, 512)
_CUT = ("exaone4", "cohere2", "ernie4-5", "olmo3", "stablelm", "phi")
"""Language models with wide layers, which run in half precision."""
_SHORT = {"blenderbot-small": 256, "marian": 256}
_MOST_TOKENS, _SAMPLES = 4096, 32_000
_PICTURES = ("cvt", "regnet", "vit-msn")
_TRAINED = 16


def _digest(name: str) -> bytes:
    return sha256(f"fourth {name}".encode()).digest()


def _drawn(network: str) -> Case:
    """An inference step."""
    seed = _digest(network)
    name = network.removeprefix("hf-").removeprefix("timm:").removesuffix("-decode")
    precision = _PRECISIONS[seed[0] % (2 if name in _CUT else len(_PRECISIONS))]
    batch = _BATCHES[seed[1] % len(_BATCHES)]
    if name == "unispeech":
        return Case(network, precision, "inference", min(batch, 4), _SAMPLES)
    if network.startswith("timm:") or name in _PICTURES:
        return Case(network, precision, "inference", batch)
    lengths = [n for n in _LENGTHS if n <= _SHORT.get(name, _LENGTHS[-1])]
    seq = lengths[seed[2] % len(lengths)]
    return Case(network, precision, "inference", min(batch, _MOST_TOKENS // seq), seq)


def _trained(case: Case) -> Case:
    """A training step of the same network."""
    seed = _digest(case.network)
    return replace(
        case,
        phase="training",
        precision=("autocast", "bf16", "fp32")[seed[3] % 3],
        batch=min(max(case.batch, 2), 8),
        optimizer=("adamw", "sgd", "adamw_fused")[seed[4] % 3],
    )


_STEPS = sorted(map(_drawn, SIZED_FOURTH), key=lambda case: _digest(case.network))
_TRAINABLE = [
    case
    for case in _STEPS
    if not case.network.endswith("-decode")
    and case.network.removeprefix("hf-") not in {*DECODERS, "cohere2"}
]

PACKAGES_FOURTH: tuple[Case, ...] = tuple(
    case
    for pair in zip_longest(_STEPS, map(_trained, _TRAINABLE[:_TRAINED]))
    for case in pair
    if case is not None
)
"""Eager steps, inference also as a CUDA graph."""
