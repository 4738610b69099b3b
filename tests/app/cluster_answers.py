"""Answers of the cluster's page with invented figures, without tracing."""

from __future__ import annotations

from dataclasses import replace

from app.answers.cluster.answer import ClusterAnswer, RankAnswer, Span
from app.answers.cluster.choice import ClusterChoice, ClusterQuestion
from app.answers.cluster.page import Clustered
from app.answers.cluster.scaling import Point, WhatIf
from simulator.cluster import cluster
from simulator.collectives.nccl import Choice
from simulator.parallel.prediction import ParallelRegime
from simulator.parallel.rank_parts import Collectives, RankParts
from simulator.parallel.traffic import Traffic
from simulator.scenario.scenario import Scenario

SHARES: dict[ParallelRegime, float] = {
    "compute": 0.654,
    "memory": 0.126,
    "overhead": 0.054,
    "communication": 0.166,
}
CHOICE = ClusterChoice("16xh100-ib", dp=4, tp=2, pp=2)
QUESTION = ClusterQuestion(
    Scenario("gpt2", gpu="h200", batch=8, seq=128, dtype="bf16", training=True), CHOICE
)


def _rank(ranks: tuple[int, ...], bubble_s: float) -> RankAnswer:
    parts = RankParts(60e-3, 10e-3, 5e-3, bubble_s, 25e-3 - bubble_s)
    return RankAnswer(
        ranks,
        900,
        parts,
        (("activation", 30 * 10**9), ("weight", 2 * 10**9), ("workspace", 34 * 10**6)),
        32_034_000_000,
        True,
        (Span("forward", 0.0, 30e-3), Span("backward", 32e-3, 90e-3)),
        (Span("wait", 40e-3, 41e-3, 0), Span("communication", 41e-3, 50e-3, 0)),
        72e-3,
    )


ANSWER = ClusterAnswer(
    cluster("16xh100-ib"),
    CHOICE.layout,
    "eager",
    8,
    128,
    0.1,
    (0.09, 0.12),
    "compute",
    SHARES,
    20e-3,
    15e-3,
    (_rank(tuple(range(8)), 10e-3), _rank(tuple(range(8, 16)), 12e-3)),
    0,
    (
        Collectives(
            "all_reduce", "backward", 4, 12, (4_000_000, 28_000_000), Choice("ring", "Simple", 24),
            1e-3, 12e-3, 11e-3,
        ),
        Collectives(
            "send", "forward", 2, 8, (1_500_000, 1_500_000), Choice("direct", "Simple", 24),
            1e-3, 8e-3, 4e-3,
        ),
    ),
    Traffic(2e9, 12e-3, 4e8, 8e-3),
    (),
)  # fmt: skip
"""Sixteen GPUs in two stages; the step takes 100 ms."""

STEPS: tuple[tuple[int, float, ParallelRegime], ...] = (
    (4, 1.0, "compute"),
    (8, 0.98, "compute"),
    (16, 0.9, "compute"),
    (32, 0.7, "communication"),
)
POINTS = tuple(
    Point(n, n // 4, 0.1, (0.09, 0.12), 20.0 * n * share, share, SHARES, regime)
    for n, share, regime in STEPS
)
WHAT_IFS = (
    WhatIf("link_speed=2", 0.09, 32 * 10**9, ""),
    WhatIf("schedule=2", None, 0, "pp = 2 with 2 chunks does not divide gpt2"),
)
CLUSTERED = Clustered(QUESTION, ANSWER, POINTS, WHAT_IFS)
ALONE = replace(
    CLUSTERED,
    answer=replace(
        ANSWER,
        ranks=(replace(ANSWER.ranks[0], communication=()),),
        collectives=(),
        cluster=cluster("8xh200"),
    ),
    points=POINTS[:1],
)
"""An answer with one distinct rank, without collectives and without points for scaling."""
