"""The answer on the cluster page: figures of a step over several GPUs, without traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from app.answers.answer import batch_and_seq
from app.answers.cluster.choice import ClusterQuestion
from app.answers.cluster.words import step_notes
from simulator.cluster.cluster import Cluster
from simulator.cluster.layout import Layout
from simulator.parallel.prediction import ParallelPrediction, ParallelRegime, RankPrediction
from simulator.parallel.rank_parts import (
    CollectiveKey,
    Collectives,
    RankParts,
    collective_key,
    collectives,
    rank_parts,
)
from simulator.parallel.traffic import Traffic, traffic

_SPANS = 1500
"""Two spans of the same kind are merged if the gap between them is at most the period divided by
this number."""


@dataclass(frozen=True)
class Span:
    """A stretch of a rank's time.

    `kind` is "wait", "communication" or the phase of the kernels that run ("forward"). For "wait"
    and "communication", `row` is the index of the collective in the answer, or −1 if the answer
    does not list that collective."""

    kind: str
    start_s: float
    end_s: float
    row: int = -1


@dataclass(frozen=True)
class RankAnswer:
    """A distinct rank and all ranks that do the same work; `memory` holds peak bytes by role, and
    `busy_s` is the time in seconds in which kernels other than collectives run.
    """

    ranks: tuple[int, ...]
    kernels: int
    parts: RankParts
    memory: tuple[tuple[str, int], ...]
    needed_bytes: int
    fits: bool
    compute: tuple[Span, ...]
    communication: tuple[Span, ...]
    busy_s: float


@dataclass(frozen=True)
class ClusterAnswer:
    """The figures of a `ParallelPrediction`, under the same names.

    replica_batch  the batch of a replica; `samples_per_s` counts the samples of all GPUs
    most_exposed   the index of the rank with the most exposed communication, whose collectives
                   are listed
    notes          which times of the hosts the period includes, and which it omits
    """

    cluster: Cluster
    layout: Layout
    mode: str
    replica_batch: int
    seq: int | None
    period_s: float
    interval_s: tuple[float, float]
    regime: ParallelRegime
    shares: dict[ParallelRegime, float]
    communication_s: float
    exposed_s: float
    ranks: tuple[RankAnswer, ...]
    most_exposed: int
    collectives: tuple[Collectives, ...]
    traffic: Traffic
    unmodelled: tuple[tuple[str, int], ...]
    notes: tuple[str, ...] = ()
    watts: float | None = None
    joules: float | None = None

    @property
    def samples_per_s(self) -> float:
        """Samples of all replicas per second."""
        return self.replica_batch * self.layout.dp / self.period_s

    @property
    def largest(self) -> RankAnswer:
        """The rank that needs the most memory."""
        return max(self.ranks, key=lambda rank: rank.needed_bytes)

    @property
    def fits(self) -> bool:
        """Whether every rank fits in memory."""
        return all(rank.fits for rank in self.ranks)


def cluster_answer(question: ClusterQuestion) -> ClusterAnswer:
    """Predict the step. Raises InputError in the same cases as `ridgepoint predict --cluster`."""
    step = question.step
    return answer_of(question, step.predict(), step.layout)


def answer_of(question: ClusterQuestion, p: ParallelPrediction, spread: Layout) -> ClusterAnswer:
    """The figures of a prediction."""
    batch, seq = batch_and_seq(question.scenario)
    exposed = [rank.exposed_communication_s for rank in p.ranks]
    most_exposed = exposed.index(max(exposed))
    rows = collectives(p, p.ranks[most_exposed])
    places = {row.key: place for place, row in enumerate(rows)}
    missing = {name: n for rank in p.ranks for name, n in rank.unmodelled.items()}
    return ClusterAnswer(
        p.cluster,
        spread,
        p.mode,
        batch or 1,
        seq,
        p.period_s,
        p.interval_s,
        p.regime,
        p.shares,
        p.communication_s,
        p.exposed_communication_s,
        tuple(_rank(p, rank, places) for rank in p.ranks),
        most_exposed,
        rows,
        traffic(p.ranks[most_exposed]),
        tuple(missing.items()),
        step_notes(p),
        p.watts,
        p.joules,
    )


def _rank(
    p: ParallelPrediction, rank: RankPrediction, places: Mapping[CollectiveKey, int]
) -> RankAnswer:
    roles = sorted(rank.memory.at_peak.items(), key=lambda item: -item[1])
    memory = [(str(role), nbytes) for role, nbytes in roles]
    memory.append(("workspace", rank.workspace_bytes))
    gap_s = p.period_s / _SPANS
    compute = (Span(k.phase, k.start_s, k.end_s) for k in rank.kernels if k.collective is None)
    return RankAnswer(
        rank.ranks,
        len(rank.kernels),
        rank_parts(p, rank),
        tuple((role, nbytes) for role, nbytes in memory if nbytes),
        rank.needed_bytes,
        rank.fits,
        tuple(_joined(compute, gap_s)),
        tuple(_joined(_communication(p, rank, places), gap_s)),
        rank.gpu_busy_s - rank.exposed_communication_s,
    )


def _communication(
    p: ParallelPrediction, rank: RankPrediction, places: Mapping[CollectiveKey, int]
) -> Iterator[Span]:
    for k in rank.kernels:
        if k.collective is not None:
            row = places.get(collective_key(p, k)[0], -1)
            if k.wait_s > 0:
                yield Span("wait", k.start_s, k.start_s + k.wait_s, row)
            yield Span("communication", k.start_s + k.wait_s, k.end_s, row)


def _joined(spans: Iterator[Span], gap_s: float) -> list[Span]:
    """Spans sorted by time; spans of one kind with a small gap between them are merged."""
    joined: list[Span] = []
    for span in sorted(spans, key=lambda span: span.start_s):
        last = joined[-1] if joined else None
        near = last is not None and span.start_s - last.end_s <= gap_s
        if last is not None and near and (last.kind, last.row) == (span.kind, span.row):
            joined[-1] = replace(last, end_s=max(last.end_s, span.end_s))
        else:
            joined.append(span)
    return joined
