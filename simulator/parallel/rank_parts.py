"""The parts of a step's time on one rank, and its collectives one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simulator.collectives.group import group_of
from simulator.collectives.nccl import Choice
from simulator.collectives.price import priced
from simulator.parallel.plan import kernel_seconds
from simulator.parallel.prediction import ParallelPrediction, RankKernel, RankPrediction
from simulator.records import Phase
from simulator.schedule.launch_plan import issued
from simulator.simulate.step import kernel_times
from simulator.timing.profile import learned

CollectiveKey = tuple[str, Phase, int, str, str]
"""The key of similar collectives: kind, phase, number of ranks, algorithm and protocol."""


@dataclass(frozen=True)
class RankParts:
    """Seconds of a step on one rank; the five sum to the period.

    compute_s, memory_s  kernels, by the largest limit of each
    overhead_s           kernels limited most by their fixed part, and waits for the host
    bubble_s             waits for other ranks while no kernel runs; limited to the rest of the
                         period if the rank begins its step before other ranks end theirs
    exposed_s            collectives that move data while no kernel runs
    """

    compute_s: float
    memory_s: float
    overhead_s: float
    bubble_s: float
    exposed_s: float


@dataclass(frozen=True)
class Collectives:
    """Similar collectives of one rank in a step.

    ranks      number of ranks of their group
    bytes_each the smallest and the largest message
    each_s     mean seconds of a collective alone
    all_s      seconds in which data moves, including those with other kernels
    exposed_s  seconds in which data moves and no other kernel runs; no time is counted twice
    """

    kind: str
    phase: Phase
    ranks: int
    count: int
    bytes_each: tuple[int, int]
    choice: Choice
    each_s: float
    all_s: float
    exposed_s: float

    @property
    def key(self) -> CollectiveKey:
        """The key that similar collectives share."""
        choice = self.choice
        return self.kind, self.phase, self.ranks, choice.algorithm, choice.protocol


def rank_parts(p: ParallelPrediction, rank: RankPrediction) -> RankParts:
    """The parts of the period on a rank."""
    bound_s = _bound_seconds(p, rank)
    kernels_s = rank.gpu_busy_s - rank.exposed_communication_s
    total_s = sum(bound_s)
    compute_s, memory_s, fixed_s = (
        kernels_s * each / total_s if total_s else 0.0 for each in bound_s
    )
    exposed_s = rank.exposed_communication_s
    rest_s = max(0.0, p.period_s - kernels_s - exposed_s)
    bubble_s = min(rank.waiting_alone_s, rest_s)
    idle_s = rest_s - bubble_s
    return RankParts(compute_s, memory_s, fixed_s + idle_s, bubble_s, exposed_s)


def _bound_seconds(p: ParallelPrediction, rank: RankPrediction) -> tuple[float, float, float]:
    """Seconds of kernels limited most by compute, by memory and by their fixed part."""
    gpu = p.cluster.gpu
    run = issued(rank.trace, gpu)
    columns = kernel_times(run, gpu, learned(gpu.id), p.host)
    parts_s = [
        kernel_seconds(run, each) for each in (columns.compute_s, columns.memory_s, columns.fixed_s)
    ]
    alone = np.array([kernel.collective is None for kernel in rank.kernels])
    took_s = np.array([kernel.duration_s for kernel in rank.kernels]) * alone
    bound = np.argmax(np.array(parts_s).reshape(3, -1), axis=0)
    compute_s, memory_s, fixed_s = (float(took_s[bound == n].sum()) for n in range(3))
    return compute_s, memory_s, fixed_s


def collectives(p: ParallelPrediction, rank: RankPrediction) -> tuple[Collectives, ...]:
    """The collectives of a rank, those with the most exposed time first. Their exposed times sum to
    the rank's `exposed_communication_s`."""
    groups: dict[CollectiveKey, list[tuple[RankKernel, float, Choice]]] = {}
    for kernel, exposed_s in exposed(rank.kernels):
        key, choice = collective_key(p, kernel)
        groups.setdefault(key, []).append((kernel, exposed_s, choice))
    rows = [_row(p, each) for each in groups.values()]
    return tuple(sorted(rows, key=lambda row: (-row.exposed_s, -row.all_s)))


def collective_key(p: ParallelPrediction, kernel: RankKernel) -> tuple[CollectiveKey, Choice]:
    """The key of a kernel's collective, and NCCL's choice."""
    collective = kernel.collective
    assert collective is not None
    choice = priced(
        collective.kind, collective.message_bytes, group_of(p.cluster, collective.ranks), p.mode
    ).choice
    key = collective.kind, kernel.phase, len(collective.ranks), choice.algorithm, choice.protocol
    return key, choice


def _row(p: ParallelPrediction, each: list[tuple[RankKernel, float, Choice]]) -> Collectives:
    collectives = [kernel.collective for kernel, _, _ in each if kernel.collective is not None]
    kernel, _, choice = each[0]
    sizes = [collective.message_bytes for collective in collectives]
    alone_s = [
        priced(
            collective.kind, collective.message_bytes, group_of(p.cluster, collective.ranks), p.mode
        ).seconds
        for collective in collectives
    ]
    return Collectives(
        collectives[0].kind,
        kernel.phase,
        len(collectives[0].ranks),
        len(each),
        (min(sizes), max(sizes)),
        choice,
        sum(alone_s) / len(alone_s),
        sum(kernel.duration_s - kernel.wait_s for kernel, _, _ in each),
        sum(exposed_s for _, exposed_s, _ in each),
    )


def exposed(kernels: Sequence[RankKernel]) -> Iterator[tuple[RankKernel, float]]:
    """Each collective of a rank with the seconds in which it moves data and no other kernel runs;
    if several collectives run at once, only the one that began first counts."""
    covered = sorted((k.start_s, k.end_s) for k in kernels if k.collective is None)
    moving = [k for k in kernels if k.collective is not None]
    place, until = 0, float("-inf")
    merged: list[tuple[float, float]] = []
    for start, end in covered:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    for kernel in sorted(moving, key=lambda k: k.start_s + k.wait_s):
        start, end = max(kernel.start_s + kernel.wait_s, until), kernel.end_s
        until = max(until, end)
        while place < len(merged) and merged[place][1] <= start:
            place += 1
        alone_s, at = max(0.0, end - start), place
        while at < len(merged) and merged[at][0] < end:
            alone_s -= max(0.0, min(end, merged[at][1]) - max(start, merged[at][0]))
            at += 1
        yield kernel, max(0.0, alone_s)
