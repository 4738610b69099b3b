"""The contents of the cluster page: its question, its figures, and its progress."""

from __future__ import annotations

from dataclasses import dataclass

from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.choice import ClusterQuestion
from app.answers.cluster.scaling import Point, WhatIf
from app.answers.cluster.splits import SplitSearch


@dataclass(frozen=True)
class Clustered:
    """`answer` belongs to `question` unless it is `stale`; `points`, `what_ifs` and, once `strong`
    scaling is shown, `strong_points` come later and are None until then. `progress` names the
    current work, or is empty; `error` is the reason for a missing answer. `search` is the
    search for the fastest split, running or done."""

    question: ClusterQuestion
    answer: ClusterAnswer | None = None
    points: tuple[Point, ...] | None = None
    what_ifs: tuple[WhatIf, ...] | None = None
    strong_points: tuple[Point, ...] | None = None
    strong: bool = False
    stale: bool = False
    progress: str = ""
    error: str = ""
    search: SplitSearch | None = None

    @property
    def empty(self) -> str:
        """The text in place of the figures before the first prediction."""
        return "Predicting …" if self.progress else "No prediction yet"

    @property
    def efficiency(self) -> float | None:
        """The throughput as a share of the ideal, which is one replica's throughput times the
        replicas."""
        answer = self.answer
        if answer is None:
            return None
        gpus = answer.layout.dp * answer.layout.tp * answer.layout.pp
        return next((each.efficiency for each in self.points or () if each.gpus == gpus), None)
