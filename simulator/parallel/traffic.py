"""The traffic of a step over the links within a node and over the network between nodes."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.collectives.group import group_of
from simulator.collectives.nccl import wire_share
from simulator.parallel.prediction import RankPrediction


@dataclass(frozen=True)
class Traffic:
    """Bytes of a step in one direction, and the seconds in which they move.

    link_bytes     bytes that one GPU sends within its node
    network_bytes  bytes that leave one node, over all its NICs
    """

    link_bytes: float
    link_s: float
    network_bytes: float
    network_s: float


def traffic(rank: RankPrediction) -> Traffic:
    """The traffic of a rank and of its node, whose other ranks are assumed to do the same work."""
    cluster = rank.cluster
    link_bytes = link_s = network_bytes = network_s = 0.0
    for kernel in rank.kernels:
        what = kernel.collective
        if what is None or what.kind == "recv":
            continue
        group = group_of(cluster, what.ranks)
        moved_s = kernel.duration_s - kernel.wait_s
        within = group.ranks if group.nodes == 1 else group.ranks_per_node
        if within > 1:
            link_bytes += what.message_bytes * wire_share(what.kind, within)
            link_s += moved_s
        if group.nodes > 1:
            groups = cluster.gpus_per_node / group.ranks_per_node
            network_bytes += what.message_bytes * wire_share(what.kind, group.ranks) * groups
            network_s += moved_s
    return Traffic(link_bytes, link_s, network_bytes, network_s)
