"""What collectives add to the time and the energy of a rank's card, which set its clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from simulator.cluster.cluster import Cluster
from simulator.collectives.group import group_of
from simulator.collectives.nccl import dram_share, link_share
from simulator.parallel.plan import RankPlan
from simulator.records import Collective
from simulator.timing.load import Exchange


def exchange(collectives: Iterable[Collective], plan: RankPlan, cluster: Cluster) -> Exchange:
    """The time and the traffic of a rank's collectives in a step."""
    message_bytes = Counter[tuple[str, tuple[int, ...]]]()
    for each in collectives:
        message_bytes[each.kind, each.ranks] += each.message_bytes
    dram_bytes = link_bytes = 0.0
    for (kind, ranks), count in message_bytes.items():
        size = group_of(cluster, ranks).ranks
        dram_bytes += count * dram_share(kind, size)
        link_bytes += count * link_share(kind, size)
    running_s = sum(part.seconds for parts in plan.parts for part in parts)
    return Exchange(exposed_s(plan), running_s, dram_bytes, link_bytes)


def exposed_s(plan: RankPlan) -> float:
    """Seconds of a step in which only collectives run, if neither the host nor another rank delays
    a kernel, and every kernel takes as long as alone."""
    ends: list[float] = []
    free_s: dict[int, float] = {}
    for stream, seconds, after, parts in zip(
        plan.stream, plan.seconds, plan.after, plan.parts, strict=True
    ):
        start_s = free_s.get(stream, 0.0)
        for awaited in after:
            if awaited >= 0 and ends[awaited] > start_s:
                start_s = ends[awaited]
        end_s = start_s + seconds
        if parts:
            end_s += sum(part.seconds for part in parts)
        free_s[stream] = end_s
        ends.append(end_s)
    return max(0.0, max(ends, default=0.0) - sum(plan.seconds))
