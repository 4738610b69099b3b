"""What-ifs of a step over a cluster, and its scaling curves.

Each what-if changes the cluster or the layout and predicts again; the traces are shared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from simulator.cluster.cluster import Cluster
from simulator.cluster.layout import SCHEDULES, Layout
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.hardware.host import Host
from simulator.parallel.network_step import batch_of
from simulator.parallel.predict_step import predict_network
from simulator.parallel.prediction import ParallelPrediction

_SLOWEST, _FASTEST = 1e-3, 1e3  # factors on the speed of links
_MOST = 1_000_000  # maximum of a whole number, and of a bucket in MiB


@dataclass(frozen=True)
class ClusterStep:
    """A step of a network spread over a cluster; `step.batch` is that of a replica."""

    step: NetworkStep
    layout: Layout
    cluster: Cluster
    host: str | Host | None = None
    mode: str = "eager"

    def predict(self) -> ParallelPrediction:
        return predict_network(self.step, self.layout, self.cluster, self.host, self.mode)


def _speed(name: str, value: float) -> float:
    if not _SLOWEST <= value <= _FASTEST:
        raise InputError(
            f"+{name}={value:g}: expected a number from {_SLOWEST:g} to {_FASTEST:g}; correct it"
        )
    return value


def link_speed(question: ClusterStep, value: float) -> ClusterStep:
    """Multiply the speed of the links within a node."""
    return replace(question, cluster=question.cluster.faster(_speed("link_speed", value)))


def network_speed(question: ClusterStep, value: float) -> ClusterStep:
    """Multiply the speed of the network between nodes."""
    times = _speed("network_speed", value)
    return replace(question, cluster=question.cluster.faster(1.0, times))


def dp(question: ClusterStep, value: float) -> ClusterStep:
    """Set the number of replicas, each with the same batch; the number of GPUs changes
    accordingly."""
    count = _whole_number("dp", value)
    spread = replace(question.layout, dp=count)
    return replace(
        question, layout=spread, cluster=question.cluster.of_gpus(count * spread.tp * spread.pp)
    )


def bucket(question: ClusterStep, value: float) -> ClusterStep:
    """Set the size of DDP's buckets in MiB."""
    if not 0 < value <= _MOST:
        raise InputError(
            f"+bucket={value:g}: expected MiB above 0 and at most {_MOST:,}; correct it"
        )
    size = round(value * 2**20)
    return replace(question, layout=replace(question.layout, bucket_bytes=size))


def microbatches(question: ClusterStep, value: float) -> ClusterStep:
    """Set the number of micro-batches of a replica's batch."""
    count = _whole_number("microbatches", value)
    return replace(question, layout=replace(question.layout, microbatches=count))


def schedule(question: ClusterStep, value: float) -> ClusterStep:
    """Choose the pipeline schedule: 0 is 1f1b, 1 gpipe, 2 interleaved with two chunks."""
    if value not in range(len(SCHEDULES)):
        raise InputError(
            f"+schedule={value:g}: expected 0 (1f1b), 1 (gpipe) or 2 (interleaved); correct it"
        )
    name = SCHEDULES[int(value)]
    spread = replace(question.layout, schedule=name, chunks=2 if name == "interleaved" else 1)
    return replace(question, layout=spread)


def fsdp(question: ClusterStep, value: float) -> ClusterStep:
    """Shard weights, gradients and optimizer state over the replicas (1), or copy them (0)."""
    return replace(question, layout=replace(question.layout, fsdp=_switch("fsdp", value)))


def reshard(question: ClusterStep, value: float) -> ClusterStep:
    """Free FSDP's gathered weights after the forward pass (1), or only after the backward pass
    (0)."""
    return replace(question, layout=replace(question.layout, reshard=_switch("reshard", value)))


def recompute(question: ClusterStep, value: float) -> ClusterStep:
    """Store only the inputs of blocks, and run each block again in the backward pass (1)."""
    return replace(question, layout=replace(question.layout, recompute=_switch("recompute", value)))


def prefetch(question: ClusterStep, value: float) -> ClusterStep:
    """Set the number of blocks whose weights FSDP gathers ahead; 0 is its default."""
    count = 0 if value == 0 else _whole_number("prefetch", value)
    return replace(question, layout=replace(question.layout, prefetch=count))


def _switch(name: str, value: float) -> bool:
    if value not in (0, 1):
        raise InputError(f"+{name}={value:g}: expected 0 or 1; correct it")
    return bool(value)


def _whole_number(name: str, value: float) -> int:
    if not 1 <= value <= _MOST or value != int(value):
        raise InputError(
            f"+{name}={value:g}: expected a whole number from 1 to {_MOST:,}; correct it"
        )
    return int(value)


WHATIFS: dict[str, Callable[[ClusterStep, float], ClusterStep]] = {
    each.__name__: each
    for each in (
        link_speed, network_speed, dp, bucket, microbatches, schedule, fsdp, reshard, prefetch,
        recompute,
    )
}  # fmt: skip
"""What-ifs by name; each takes a number."""


def changed(question: ClusterStep, text: str) -> ClusterStep:
    """The step under a what-if such as "link_speed=2". Raises InputError for an unknown what-if or
    an unsuitable number."""
    name, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if name not in WHATIFS or not math.isfinite(number):
        usages = ", ".join(f"{each}=N" for each in WHATIFS)
        raise InputError(f"+{text}: expected one of {usages} with --cluster; correct it")
    return WHATIFS[name](question, number)


@dataclass(frozen=True)
class Effect:
    """A what-if and its effect; `refusal` is the reason why it does not apply."""

    text: str
    prediction: ParallelPrediction | None
    refusal: str = ""


def effects(
    question: ClusterStep, progress: Callable[[str], None] = lambda text: None
) -> list[Effect]:
    """The what-ifs that apply to a step, ordered by the time that they save, largest first."""
    spread = question.layout
    texts = ["link_speed=2"]
    if question.cluster.nodes > 1:
        texts.append("network_speed=2")
    if question.step.training:
        texts.append("recompute=1")
        if spread.pp > 1:
            texts += [f"microbatches={2 * max(1, spread.microbatches)}", "schedule=2"]
        elif spread.dp > 1:
            texts += ["fsdp=0", "reshard=0", "prefetch=2"] if spread.fsdp else ["fsdp=1"]
        if spread.dp > 1 and not spread.fsdp:
            texts.append("bucket=100")
    listed: list[Effect] = []
    for text in texts:
        progress(f"predicting +{text}")
        try:
            listed.append(Effect(text, changed(question, text).predict()))
        except InputError as error:
            listed.append(Effect(text, None, str(error)))
    return sorted(listed, key=lambda e: e.prediction.period_s if e.prediction else float("inf"))


@dataclass(frozen=True)
class ScalingPoint:
    """A number of GPUs: `efficiency` is the speed per GPU, relative to the speed per GPU on the
    smallest number of GPUs."""

    gpus: int
    prediction: ParallelPrediction
    efficiency: float


def scaling(
    question: ClusterStep,
    strong: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> list[ScalingPoint]:
    """The step on 1, 2, 4 … GPUs, up to the number of the cluster, with more replicas.

    In weak scaling each replica keeps its batch; in strong scaling all replicas together keep the
    batch of the whole cluster. Counts that do not divide the GPUs or the batch are left out.
    """
    group = question.layout.tp * question.layout.pp
    total = batch_of(question.step) * question.layout.dp
    points: list[tuple[int, ParallelPrediction]] = []
    count = 1
    while count * group <= question.cluster.gpus:
        gpus = count * group
        progress(f"predicting {gpus} GPU{'s' if gpus > 1 else ''}")
        each = total // count if strong else question.step.batch
        if not strong or total % count == 0:
            try:
                replicas = dp(replace(question, step=replace(question.step, batch=each)), count)
                points.append((count * group, replicas.predict()))
            except InputError:
                if count * group == question.cluster.gpus:
                    raise
        count *= 2
    if not points:
        return []
    first, base = points[0]
    return [
        ScalingPoint(n, p, base.period_s / p.period_s * (first / n if strong else 1.0))
        for n, p in points
    ]


def takeover(points: list[ScalingPoint]) -> int | None:
    """The smallest number of GPUs at which communication is the largest share of the step; None if
    it never is."""
    return next((p.gpus for p in points if p.prediction.regime == "communication"), None)
