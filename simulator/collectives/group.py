"""The group of a collective's ranks: the numbers of ranks and nodes that its time depends on."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

from simulator.cluster.cluster import PCIE_BYTES_PER_S, Cluster

_NOMINAL_BYTES_PER_S = {"nvlink2": 150e9, "nvlink3": 300e9, "nvlink4": 450e9, "nvlink5": 900e9} | {
    f"pcie{generation}": speed for generation, speed in PCIE_BYTES_PER_S.items()
}
"""One-way bandwidth of the links to which each fabric's constants were fitted: all NVLinks of an
SXM card, or 16 lanes."""
_SHARED_NICS = 8
"""With at least this many GPUs per node, NICs reach a smaller share of their rate."""


@dataclass(frozen=True)
class Group:
    """The ranks of a collective. `fabric` names the links within a node ("nvlink4"), `kind` their
    kind; `network_bytes_per_s` is the rate of all NICs of a node's ranks in one direction."""

    ranks: int
    nodes: int
    fabric: str
    kind: str
    multicast: bool
    peer_to_peer: bool
    gpus_per_node: int
    network_bytes_per_s: float = 0.0
    network_latency_s: float = 0.0
    link_times: float = 1.0

    @property
    def ranks_per_node(self) -> int:
        return ceil(self.ranks / self.nodes)

    @property
    def tree_depth(self) -> int:
        return ceil(log2(self.nodes)) if self.nodes > 1 else 0

    @property
    def crowded(self) -> bool:
        """Whether ranks of a node that use the network at the same time slow each other down."""
        return self.ranks_per_node >= _SHARED_NICS


def group_of(cluster: Cluster, ranks: tuple[int, ...]) -> Group:
    """The group of these global ranks of a cluster. The constants of the fabric are
    scaled if the links are slower or faster, as by the what-if `link_speed`."""
    nodes = len({cluster.node_of(rank) for rank in ranks})
    link, network = cluster.link, cluster.network
    nominal = _NOMINAL_BYTES_PER_S.get(link.fabric, link.bandwidth_bytes_per_s)
    per_node = ceil(len(ranks) / nodes)
    speed = 0.0
    latency = 0.0
    if network is not None and nodes > 1:
        speed = network.bandwidth_bytes_per_s * network.nics_per_gpu * per_node
        latency = network.latency_s
    return Group(
        len(ranks),
        nodes,
        link.fabric,
        link.kind,
        link.multicast,
        link.peer_to_peer,
        cluster.gpus_per_node,
        speed,
        latency,
        link.times * link.bandwidth_bytes_per_s / nominal,
    )
