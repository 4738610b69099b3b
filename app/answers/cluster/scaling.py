"""Further predictions of a step: over fewer and more GPUs, and under what-ifs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.answers.answer import batch_and_seq
from app.answers.cluster.choice import ClusterQuestion, with_what_if
from simulator.errors import InputError
from simulator.parallel.prediction import ParallelRegime

_GPUS = 64
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Point:
    """The step on a number of GPUs, with the batch of each replica or of all replicas unchanged."""

    gpus: int
    replicas: int
    period_s: float
    interval_s: tuple[float, float]
    samples_per_s: float
    efficiency: float
    shares: dict[ParallelRegime, float]
    regime: ParallelRegime


@dataclass(frozen=True)
class WhatIf:
    """A what-if with the time of the step under it, or None with the reason why it does not
    apply."""

    text: str
    period_s: float | None
    needed_bytes: int
    refusal: str


@dataclass(frozen=True)
class StrongQuestion:
    """A step whose total batch is shared among fewer or more GPUs."""

    question: ClusterQuestion


def scaling_points(
    question: ClusterQuestion, progress: Progress, strong: bool = False
) -> tuple[Point, ...]:
    """The step on 1, 2, 4 … replicas, up to 64 GPUs or the cluster's limit. If `strong`, they share
    the total batch of the question; counts that do not divide it are left out."""
    from simulator.parallel.whatifs import scaling  # imported only in the process that predicts

    step = question.step
    try:
        wide = replace(step, cluster=step.cluster.of_gpus(max(_GPUS, step.cluster.gpus)))
    except InputError:  # a single node has no network
        wide = step
    batch = batch_and_seq(question.scenario)[0] or 1
    dp, group = step.layout.dp, step.layout.tp * step.layout.pp
    return tuple(
        Point(
            each.gpus,
            each.gpus // group,
            each.prediction.period_s,
            each.prediction.interval_s,
            batch * (dp if strong else each.gpus // group) / each.prediction.period_s,
            each.efficiency,
            each.prediction.shares,
            each.prediction.regime,
        )
        for each in scaling(wide, strong, progress)
    )


def what_ifs(question: ClusterQuestion, progress: Progress) -> tuple[WhatIf, ...]:
    """The what-ifs of a step over several GPUs, the largest saving first. Those that the choice
    already contains are left out: applying them again would change nothing."""
    from simulator.parallel.whatifs import effects  # imported only in the process that predicts

    step, now = question.step, {*question.choice.parallel.split()}
    return tuple(
        WhatIf(each.text, None, 0, each.refusal)
        if each.prediction is None
        else WhatIf(
            each.text,
            each.prediction.period_s,
            max(rank.needed_bytes for rank in each.prediction.ranks),
            "",
        )
        for each in effects(step, progress)
        if {*with_what_if(question.choice, each.text).parallel.split()} != now
    )
