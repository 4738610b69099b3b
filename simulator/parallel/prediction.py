"""The prediction of a step over several GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from simulator.cluster.cluster import Cluster
from simulator.hardware.host import Host
from simulator.parallel.jitter import jitter
from simulator.prediction import workspace_bytes
from simulator.records import Collective, Phase, Trace
from simulator.schedule.launch_plan import issued
from simulator.schedule.memory import Memory, memory
from simulator.timing.power import Power

ParallelRegime = Literal["compute", "memory", "overhead", "communication"]
PARALLEL_REGIMES: tuple[ParallelRegime, ...] = ("compute", "memory", "overhead", "communication")


@dataclass(frozen=True)
class RankKernel:
    """One launch on one rank, in seconds from the rank's first kernel. `wait_s` is the time for
    which a collective waits for its last rank."""

    index: int
    op: int
    name: str
    module: str
    phase: Phase
    stream: int
    issue_s: float
    start_s: float
    end_s: float
    wait_s: float
    collective: Collective | None

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True)
class RankPrediction:
    """The prediction of one distinct rank, and the ranks that do the same work."""

    ranks: tuple[int, ...]
    trace: Trace
    cluster: Cluster
    launches: Callable[[], Sequence[RankKernel]]
    host_s: float
    gpu_busy_s: float
    communication_s: float
    exposed_communication_s: float
    waiting_s: float
    waiting_alone_s: float
    unmodelled: dict[str, int]

    @cached_property
    def kernels(self) -> Sequence[RankKernel]:
        """The kernels in launch order, listed at the first use."""
        return self.launches()

    @cached_property
    def memory(self) -> Memory:
        return memory(self.trace)

    @property
    def peak_memory_bytes(self) -> int:
        return self.memory.peak_bytes

    @cached_property
    def workspace_bytes(self) -> int:
        """Bytes of cuBLAS workspaces."""
        return workspace_bytes(issued(self.trace, self.cluster.gpu).lowered.works, self.cluster.gpu)

    @property
    def needed_bytes(self) -> int:
        """Peak bytes of the rank's tensors and workspaces."""
        return self.peak_memory_bytes + self.workspace_bytes

    @property
    def fits(self) -> bool:
        return self.needed_bytes <= self.cluster.gpu.memory_bytes


@dataclass(frozen=True)
class ParallelPrediction:
    """The prediction of a step over several GPUs. Times in seconds, memory in bytes.

    period_s        time per back-to-back step, on the slowest rank
    interval_s      80% interval of period_s
    communication_s time in which collectives move data, on the rank with the most
    exposed_communication_s  the part of communication_s in which no other kernel runs
    waiting_s       seconds that collectives wait for another rank, summed over streams
    shares          elasticities of period_s; the four sum to 1
    powers          the power of each distinct rank's card; None if its energies are unknown
    ranks           a prediction for each distinct rank
    """

    cluster: Cluster
    host: Host
    mode: str
    period_s: float
    interval_s: tuple[float, float]
    elasticities: Callable[[], dict[ParallelRegime, float]]
    drawn: Callable[[], list[Power | None]]
    ranks: tuple[RankPrediction, ...]
    notes: tuple[str, ...]

    @cached_property
    def shares(self) -> dict[ParallelRegime, float]:
        """The shares of the period by regime, computed at first use by three more simulations."""
        return self.elasticities()

    @cached_property
    def powers(self) -> list[Power | None]:
        """The powers of `ranks`, computed at first use."""
        return self.drawn()

    @cached_property
    def joules(self) -> float | None:
        """Energy of a step on all cards; None if a card's energies are unknown."""
        return self._total([each and each.joules for each in self.powers])

    @cached_property
    def joules_interval(self) -> tuple[float, float] | None:
        """80% interval of `joules`: all cards err alike."""
        low_j, high_j = (
            self._total([each and each.joules_interval[end] for each in self.powers])
            for end in (0, 1)
        )
        return None if low_j is None or high_j is None else (low_j, high_j)

    @property
    def watts(self) -> float | None:
        """Mean power of all cards; None if a card's energies are unknown."""
        return self._total([each and each.watts for each in self.powers])

    def _total(self, of_ranks: Sequence[float | None]) -> float | None:
        """The sum over all cards of a figure of each distinct rank; None if one is unknown."""
        total = 0.0
        for figure, rank in zip(of_ranks, self.ranks, strict=True):
            if figure is None:
                return None
            total += figure * len(rank.ranks)
        return total

    @property
    def peak_memory_bytes(self) -> int:
        return max(rank.peak_memory_bytes for rank in self.ranks)

    @property
    def communication_s(self) -> float:
        return max(rank.communication_s for rank in self.ranks)

    @property
    def exposed_communication_s(self) -> float:
        return max(rank.exposed_communication_s for rank in self.ranks)

    @property
    def waiting_s(self) -> float:
        return max(rank.waiting_s for rank in self.ranks)

    @property
    def slowest(self) -> RankPrediction:
        """The rank whose GPU is busy for the longest time."""
        return max(self.ranks, key=lambda rank: rank.gpu_busy_s)

    @property
    def idle(self) -> dict[str, float]:
        """Seconds of a step in which no kernel computes on the busiest rank, by cause."""
        rank = self.slowest
        link_s, wait_s = rank.exposed_communication_s, rank.waiting_alone_s
        host_s = self.period_s - (rank.gpu_busy_s - link_s) - link_s - wait_s
        return {
            "waits for a link": link_s,
            "waits for another rank": wait_s,
            "waits for the host": max(0.0, host_s),
        }

    @cached_property
    def jitter_s(self) -> float:
        """Seconds that the slowest of all ranks' hosts adds to a step, if their speeds vary from
        step to step as a single host's do: σ·E[maximum of n normal numbers] times the host-bound
        part."""
        return self.shares["overhead"] * self.period_s * jitter().share(self.cluster.gpus)

    @property
    def regime(self) -> ParallelRegime:
        return max(PARALLEL_REGIMES, key=lambda regime: self.shares[regime])

    @property
    def fits(self) -> bool:
        return all(rank.fits for rank in self.ranks)
