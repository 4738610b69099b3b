"""The step over fewer and more GPUs, and what changes it: predictions beside the main one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.answers.answer import batch_and_seq
from app.answers.cluster_choice import ClusterQuestion
from simulator.errors import InputError
from simulator.parallel.prediction import ParallelRegime

_GPUS = 64
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Point:
    """A number of GPUs: the step of as many replicas, each with the same batch, or all together
    with it."""

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
    """A what-if with the step that it leaves; None with the reason why it does not apply."""

    text: str
    period_s: float | None
    needed_bytes: int
    refusal: str


@dataclass(frozen=True)
class StrongQuestion:
    """A step whose batch over all GPUs is shared by fewer and more of them."""

    question: ClusterQuestion


def scaling_points(
    question: ClusterQuestion, progress: Progress, strong: bool = False
) -> tuple[Point, ...]:
    """1, 2, 4 … replicas, up to 64 GPUs or as many as the cluster can have. `strong`: they share
    the batch of the question's replicas; counts that do not divide it are left out."""
    from simulator.parallel.whatifs import scaling  # in the process that predicts alone

    step = question.step
    try:
        wide = replace(step, cluster=step.cluster.of_gpus(max(_GPUS, step.cluster.gpus)))
    except InputError:  # one node without a network
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
    """What would change the step, that which saves most first."""
    from simulator.parallel.whatifs import effects  # in the process that predicts alone

    step = question.step
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
    )
