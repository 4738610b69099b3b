"""The layout of a step over a cluster: "dp=2 tp=2 pp=2 microbatches=8"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from simulator.cluster.cluster import Cluster
from simulator.errors import InputError
from simulator.formats.toml import shown

_DEGREES = ("dp", "tp", "pp")
_COUNTS = ("microbatches", "chunks", "bucket")
_SHARDINGS = ("ddp", "fsdp")
SCHEDULES = ("1f1b", "gpipe", "interleaved")
BUCKET_BYTES = 25 * 2**20
"""DDP's default; only with this size does DDP reduce the first bucket at 1 MiB."""
_EXPECTED = (
    'expected degrees dp=N, tp=N, pp=N, "fsdp" or "ddp", microbatches=N, '
    "schedule=1f1b|gpipe|interleaved, chunks=N, bucket=MiB, recompute, such as "
    '"dp=2 tp=2 pp=2 microbatches=8"'
)


@dataclass(frozen=True)
class Layout:
    """Degrees of data, tensor and pipeline parallelism.

    fsdp          shard weights, gradients and optimizer state over dp
    microbatches  number of parts into which the batch of a replica is cut; 0 chooses it
    schedule      order of a pipeline's passes: "1f1b", "gpipe" or "interleaved", which gives each
                  rank `chunks` parts of the network
    bucket_bytes  size at which DDP reduces a bucket
    reshard       FSDP frees gathered weights after the forward pass
    prefetch      blocks that FSDP gathers ahead; 0 is its default
    recompute     run blocks again in the backward pass instead of storing activations
    """

    dp: int
    tp: int = 1
    pp: int = 1
    fsdp: bool = False
    microbatches: int = 0
    schedule: str = "1f1b"
    chunks: int = 1
    bucket_bytes: int = BUCKET_BYTES
    reshard: bool = True
    prefetch: int = 0
    recompute: bool = False

    def __str__(self) -> str:
        words = [f"{name}={n}" for name in _DEGREES if (n := getattr(self, name)) > 1]
        if self.dp > 1:
            words.append("fsdp" if self.fsdp else "ddp")
        if self.microbatches > 1:
            words.append(f"microbatches={self.microbatches}")
        if self.pp > 1 and self.schedule != "1f1b":
            words.append(f"schedule={self.schedule}")
        if self.chunks > 1:
            words.append(f"chunks={self.chunks}")
        if self.bucket_bytes != BUCKET_BYTES:
            words.append(f"bucket={self.bucket_bytes / 2**20:g}")
        if self.recompute:
            words.append("recompute")
        return " ".join(words) or "dp=1"


def layout(text: str, cluster: Cluster) -> Layout:
    """The layout that `text` names on a cluster; without dp, it is the number of GPUs over tp·pp.
    Raises InputError for an unknown word, or if dp·tp·pp is not the number of GPUs."""
    numbers: dict[str, int] = {}
    sharding = schedule = ""
    recompute = False
    for word in text.replace(",", " ").split():
        name, _, value = word.partition("=")
        if word in _SHARDINGS and not sharding:
            sharding = word
        elif word == "recompute" and not recompute:
            recompute = True
        elif name == "schedule" and value in SCHEDULES and not schedule:
            schedule = value
        elif (
            name in (*_DEGREES, *_COUNTS)
            and name not in numbers
            and re.fullmatch(r"[0-9]{1,9}", value)
            and int(value)
        ):
            numbers[name] = int(value)
        else:
            raise InputError(f"--parallel {shown(text)}: {shown(word)}: {_EXPECTED}; correct it")
    tp, pp = numbers.get("tp", 1), numbers.get("pp", 1)
    dp = numbers.get("dp", max(1, cluster.gpus // (tp * pp)))
    if dp * tp * pp != cluster.gpus:
        raise InputError(
            f"--parallel {text!r}: dp·tp·pp = {dp}·{tp}·{pp} = {dp * tp * pp}, but {cluster.id} "
            f"has {cluster.gpus} GPUs: expected the product to be equal; change a degree or the "
            "cluster"
        )
    chunks = numbers.get("chunks", 2 if schedule == "interleaved" else 1)
    if chunks > 1 and schedule != "interleaved":
        raise InputError(
            f"--parallel {text!r}: chunks={chunks} without schedule=interleaved: expected chunks "
            "only with that schedule; add it, or remove chunks"
        )
    return Layout(
        dp,
        tp,
        pp,
        fsdp=sharding == "fsdp",
        microbatches=numbers.get("microbatches", 0),
        schedule=schedule or "1f1b",
        chunks=chunks,
        bucket_bytes=numbers.get("bucket", 25) * 2**20,
        recompute=recompute,
    )
