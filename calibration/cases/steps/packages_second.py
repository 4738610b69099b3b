"""Cases of further networks from transformers and timm, drawn by the hash of their names. No fit
uses them, and they were not examined before they were measured."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from calibration.cases.case import Case
from calibration.cases.networks.packages_second import SIDES, SIZED_SECOND

_PRECISIONS = ("bf16", "fp16", "fp32", "autocast", "bf16", "fp16")
_BATCHES = (1, 2, 4, 8, 16, 32, 64)
_LENGTHS = (32, 64, 128, 256, 384, 512, 1024, 2048)
_MOST_TOKENS = 16384
_MOST_PIXELS = 64 * 224**2
_LARGE = ("deepseek-v3", "glm4", "persimmon", "vaultgemma", "flex-olmo")
"""Language models with billions of parameters, which run in half precision, with at most 4,096
tokens per step."""
_LIMITED = {"nystromformer": 384, "roformer": 1024, "mpnet": 384, "convbert": 384, "xlnet": 512,
            "mbart": 1024, "prophetnet": 384, "altclip": 64, "clipseg": 64, "blip": 64,
            "speech-to-text": 64}  # fmt: skip
"""Maximum sequence lengths: the size of a network's position table, or the usual length of its
texts."""
_WAVES = {"conformer": 32000, "sew-d": 80000, "hubert": 160000}
_SIDES = {"yolos": 864, "rt-detr-v2": 640, "upernet": 512, "mask2former": 512, "blip": 384}
_TRAINED = 11
_COMPILED = {"inference": 9, "training": 3}


def digest(name: str) -> bytes:
    return sha256(name.encode()).digest()


def drawn(network: str) -> Case:
    """An inference step with precision, batch and length from the hash of the network's name."""
    seed, name = digest(network), network.removeprefix("hf-").removeprefix("timm:")
    base = name.removesuffix("-decode")
    large = base in _LARGE
    precision = _PRECISIONS[seed[0] % (2 if large else len(_PRECISIONS))]
    batch = _BATCHES[seed[1] % len(_BATCHES)]
    if name in _WAVES:
        return Case(network, precision, "inference", min(batch, 8), _WAVES[name])
    side = SIDES.get(name, _SIDES.get(name, 224))
    if network.startswith("timm:") or name in _PICTURED:
        return Case(network, precision, "inference", min(batch, max(1, _MOST_PIXELS // side**2)))
    lengths = [n for n in _LENGTHS if n <= _LIMITED.get(base, _LENGTHS[-1])]
    seq = lengths[seed[2] % len(lengths)]
    most = 4096 if large and not name.endswith("-decode") else _MOST_TOKENS
    return Case(network, precision, "inference", min(batch, most // seq), seq)


_PICTURED = {"ijepa", "donut-swin", "mobilenet-v1", "data2vec-vision", "pvt-v2", "yolos",
             "rt-detr-v2", "upernet", "mask2former", "prompt-depth"}  # fmt: skip
_NAMES = sorted(SIZED_SECOND, key=digest)


def trained(case: Case) -> Case:
    """A training step of the same network."""
    seed = digest(case.network)
    precision = ("autocast", "fp32", "bf16")[seed[3] % 3]
    by = ("adamw", "sgd", "adamw_fused")[seed[4] % 3]
    return replace(
        case, phase="training", precision=precision, batch=min(max(case.batch, 2), 16), optimizer=by
    )


_STEPS = [drawn(name) for name in _NAMES]
_TRAINABLE = [case for case in _STEPS if not case.network.endswith("-decode")]
_TAUGHT = sorted(_TRAINABLE, key=lambda case: digest(case.name))[:_TRAINED]

PACKAGES_SECOND: tuple[Case, ...] = tuple(
    sorted([*_STEPS, *map(trained, _TAUGHT)], key=lambda case: digest(case.name))
)
"""Eager steps (inference steps as CUDA graphs too), ordered so that every prefix covers all
kinds."""
PACKAGES_SECOND_COMPILED: tuple[Case, ...] = tuple(
    replace(case, mode="compiled")
    for phase, count in _COMPILED.items()
    for case in [each for each in PACKAGES_SECOND if each.phase == phase][:count]
)
"""Compiled steps of the first of them, each timed together with the same step in eager mode."""
