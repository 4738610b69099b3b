"""The words of lessons about steps over several GPUs, and the prediction of such steps."""

from __future__ import annotations

from collections.abc import Callable

from app.answers.cluster.answer import ClusterAnswer, cluster_answer
from app.answers.cluster.choice import ClusterQuestion
from simulator.prediction import Prediction

Figures = Prediction | ClusterAnswer
"""The source of a lesson's words: a step on one GPU, or over several GPUs."""
Cancelled = Callable[[], bool]
OnCluster = Callable[[ClusterQuestion, Cancelled], ClusterAnswer]
"""A function that predicts a step over several GPUs."""


def predicted_here(question: ClusterQuestion, cancelled: Cancelled) -> ClusterAnswer:
    """Predict in this process, which imports torch."""
    return cluster_answer(question)


def _bubble(answer: ClusterAnswer) -> float:
    waits_s = sum(rank.parts.bubble_s * len(rank.ranks) for rank in answer.ranks)
    return waits_s / answer.cluster.gpus / answer.period_s


FIGURES: dict[str, Callable[[ClusterAnswer], float]] = {
    "period": lambda answer: answer.period_s,
    "per_sample": lambda answer: 1 / answer.samples_per_s,
    "throughput": lambda answer: answer.samples_per_s,
    "batch": lambda answer: answer.replica_batch * answer.layout.dp,
    "memory": lambda answer: answer.largest.needed_bytes,
    "compute": lambda answer: answer.shares["compute"],
    "bytes_share": lambda answer: answer.shares["memory"],
    "overhead": lambda answer: answer.shares["overhead"],
    "communication": lambda answer: answer.shares["communication"],
    "gpus": lambda answer: answer.cluster.gpus,
    "moving": lambda answer: answer.communication_s,
    "exposed": lambda answer: answer.exposed_s,
    "bubble": _bubble,
}
"""Words by name."""
NAMED = ("regime", "interval")
"""Further words of a step over several GPUs, whose values are not figures."""
