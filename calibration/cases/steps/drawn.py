"""Cases of networks from packages, with precision, batch, length and optimizer drawn from the hash
of the network's name, so that they are not chosen by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import zip_longest
from typing import NamedTuple

from calibration.cases.case import Case

_PRECISIONS = ("bf16", "fp16", "autocast", "fp32")
_BATCHES = (1, 2, 4, 8, 16, 32)
_LENGTHS = (32, 64, 128, 256, 512)
_MOST_TOKENS, _SAMPLES, _MOST_WAVES = 4096, 32_000, 4


class Draw(NamedTuple):
    """How the cases of one set of networks are drawn."""

    salt: str
    """Prefix of a network's name in the hashed text."""
    pictures: Collection[str]
    """Networks from transformers whose input is an image."""
    waves: Collection[str]
    """Networks whose input is sound."""
    cut: Collection[str]
    """Language models with wide layers, which run in half precision."""
    untrained: Collection[str]
    """Networks that are not trained."""
    longest: Mapping[str, int]
    """Maximum sequence lengths below 512."""

    def _digest(self, network: str) -> bytes:
        return sha256(f"{self.salt} {network}".encode()).digest()

    def _inference(self, network: str) -> Case:
        seed = self._digest(network)
        name = _short(network)
        precision = _PRECISIONS[seed[0] % (2 if name in self.cut else len(_PRECISIONS))]
        batch = _BATCHES[seed[1] % len(_BATCHES)]
        if name in self.waves:
            return Case(network, precision, "inference", min(batch, _MOST_WAVES), _SAMPLES)
        if network.startswith("timm:") or name in self.pictures:
            return Case(network, precision, "inference", batch)
        lengths = [n for n in _LENGTHS if n <= self.longest.get(name, _LENGTHS[-1])]
        seq = lengths[seed[2] % len(lengths)]
        return Case(network, precision, "inference", min(batch, _MOST_TOKENS // seq), seq)

    def _training(self, case: Case) -> Case:
        seed = self._digest(case.network)
        return replace(
            case,
            phase="training",
            precision=("autocast", "bf16", "fp32")[seed[3] % 3],
            batch=min(max(case.batch, 2), 8),
            optimizer=("adamw", "sgd", "adamw_fused")[seed[4] % 3],
        )

    def cases(self, networks: Iterable[str], trained: int) -> tuple[Case, ...]:
        """An inference step of each network, alternating with training steps of the first `trained`
        networks that can be trained."""
        steps = sorted(map(self._inference, networks), key=lambda case: self._digest(case.network))
        trainable = [
            case
            for case in steps
            if not case.network.endswith("-decode") and _short(case.network) not in self.untrained
        ]
        pairs = zip_longest(steps, map(self._training, trainable[:trained]))
        return tuple(case for pair in pairs for case in pair if case is not None)


def _short(network: str) -> str:
    return network.removeprefix("hf-").removeprefix("timm:").removesuffix("-decode")
