"""How a step is spread: "dp=2 tp=2 pp=1 fsdp"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from simulator.cluster.cluster import Cluster
from simulator.errors import InputError

_DEGREES = ("dp", "tp", "pp")
_SHARDINGS = ("ddp", "fsdp")
_EXPECTED = 'expected degrees dp=N, tp=N, pp=N and "fsdp" or "ddp", such as "dp=4 tp=2 fsdp"'


@dataclass(frozen=True)
class Layout:
    """Degrees of data, tensor and pipeline parallelism; `fsdp` shards weights over dp."""

    dp: int
    tp: int = 1
    pp: int = 1
    fsdp: bool = False


def layout(text: str, cluster: Cluster) -> Layout:
    """The layout that `text` names on a cluster; dp is what the others leave where it is not
    given. Raises InputError for an unknown word and where the product is not the GPUs."""
    degrees: dict[str, int] = {}
    sharding = ""
    for word in text.replace(",", " ").split():
        match = re.fullmatch(r"([a-z]+)=(\d+)", word)
        if word in _SHARDINGS and not sharding:
            sharding = word
        elif match and match[1] in _DEGREES and match[1] not in degrees and int(match[2]):
            degrees[match[1]] = int(match[2])
        else:
            raise InputError(f"--parallel {text!r}: {word!r}: {_EXPECTED}; correct it")
    tp, pp = degrees.get("tp", 1), degrees.get("pp", 1)
    dp = degrees.get("dp", max(1, cluster.gpus // (tp * pp)))
    if dp * tp * pp != cluster.gpus:
        raise InputError(
            f"--parallel {text!r}: dp·tp·pp = {dp}·{tp}·{pp} = {dp * tp * pp}, but {cluster.id} "
            f"has {cluster.gpus} GPUs: expected the product to be equal; change a degree or the "
            "cluster"
        )
    return Layout(dp, tp, pp, sharding == "fsdp")
