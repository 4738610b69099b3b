"""Cases of popular networks from transformers and timm. No fit uses them, and they were not
examined before they were measured. Precision, batch and length come from the hash of the network's
name."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from calibration.cases.case import Case
from calibration.cases.networks.packages_third import SIZED_THIRD

_PRECISIONS = ("bf16", "fp16", "bf16", "autocast", "fp32")
_BATCHES = (1, 2, 4, 8, 16, 32)
_LENGTHS = (64, 128, 256, 512, 1024)
_LIMITED = {"fnet": 512, "pegasus": 512, "m2m": 512}
"""Maximum sequence lengths."""
_MOST_TOKENS = 8192
_CUT = ("gemma3", "olmo2", "smollm3", "granite", "lfm2", "starcoder2")
"""Language models with wide layers, which run in half precision."""
_MOST = {"ast": 8, "videomae": 4, "wavlm": 4, "dpt": 8}
"""Maximum batches of networks with large inputs."""
_SAMPLES = 48_000
_TRAINED, _COMPILED = 7, {"inference": 12, "training": 4}


def _digest(name: str) -> bytes:
    return sha256(f"third {name}".encode()).digest()


def _drawn(network: str) -> Case:
    """An inference step."""
    seed = _digest(network)
    name = network.removeprefix("hf-").removeprefix("timm:").removesuffix("-decode")
    precision = _PRECISIONS[seed[0] % (2 if name in _CUT else len(_PRECISIONS))]
    batch = min(_BATCHES[seed[1] % len(_BATCHES)], _MOST.get(name, 64))
    if name == "wavlm":
        return Case(network, precision, "inference", batch, _SAMPLES)
    if network.startswith("timm:") or name in ("siglip", "dinov3", "hiera", "focalnet", *_MOST):
        return Case(network, precision, "inference", batch)
    lengths = [n for n in _LENGTHS if n <= _LIMITED.get(name, _LENGTHS[-1])]
    seq = lengths[seed[2] % len(lengths)]
    return Case(network, precision, "inference", min(batch, _MOST_TOKENS // seq), seq)


def _trained(case: Case) -> Case:
    """A training step of the same network."""
    seed = _digest(case.network)
    return replace(
        case,
        phase="training",
        precision=("autocast", "bf16")[seed[3] % 2],
        batch=min(max(case.batch, 2), 16),
        optimizer=("adamw", "sgd", "adamw_fused")[seed[4] % 3],
    )


_STEPS = sorted(map(_drawn, SIZED_THIRD), key=lambda case: _digest(case.network))
_TRAINABLE = [case for case in _STEPS if not case.network.endswith("-decode")]

PACKAGES_THIRD: tuple[Case, ...] = (*_STEPS, *map(_trained, _TRAINABLE[::-1][:_TRAINED]))
"""Eager steps; inference steps as CUDA graphs too."""
PACKAGES_THIRD_COMPILED: tuple[Case, ...] = tuple(
    replace(case, mode="compiled")
    for phase, count in _COMPILED.items()
    for case in [each for each in PACKAGES_THIRD if each.phase == phase][-count:]
)
"""Compiled steps of some of them, each timed together with the same step in eager mode."""

_FURTHER_TRAINED, _FURTHER_COMPILED = 8, 14
_MEASURED = {(case.network, case.phase) for case in (*PACKAGES_THIRD, *PACKAGES_THIRD_COMPILED)}


def _small(case: Case) -> Case:
    """A step with few tokens or images, host-bound in most cases."""
    return replace(case, batch=1 + _digest(case.network)[5] % 2, seq=min(case.seq, 128))


_UNTRAINED = [case for case in _TRAINABLE if (case.network, "training") not in _MEASURED]
_UNCOMPILED = [
    case for case in _STEPS if case.network not in {c.network for c in PACKAGES_THIRD_COMPILED}
]
PACKAGES_FURTHER: tuple[Case, ...] = tuple(
    _small(_trained(case)) for case in _UNTRAINED[:_FURTHER_TRAINED]
)
"""Small eager training steps of networks whose training was not measured before."""
PACKAGES_FURTHER_COMPILED: tuple[Case, ...] = tuple(
    replace(_small(case), mode="compiled")
    for case in [*_UNCOMPILED[:_FURTHER_COMPILED], *map(_trained, _UNTRAINED[-3:])]
)
"""Small compiled steps of networks whose compiled steps were not measured before."""
