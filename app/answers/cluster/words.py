"""Texts for a step over several GPUs: its ranks, its collectives, its fabric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from app.answers.cluster.choice import ClusterChoice
from app.drawing.colours import PatternKind
from app.quantities import joules, number, seconds
from simulator.cluster.cluster import Cluster
from simulator.cluster.layout import Layout
from simulator.errors import InputError
from simulator.parallel.prediction import ParallelPrediction
from simulator.parallel.rank_parts import Collectives, RankParts

Name = TypeVar("Name", bound=str)

PARTS: dict[PatternKind, str] = {
    "compute": "compute",
    "memory": "memory",
    "overhead": "overhead and host",
    "bubble": "waits for a rank",
    "communication": "exposed communication",
}
"""The parts of a rank's period by the name of their pattern, in the order of the bar."""
SHARES_HEAD = "shares of the critical path"
PARTS_HEAD = "shares of a rank's time"
SHARES_TIP = (
    "Shares of the critical path: how much of a slowdown of compute, memory or links lengthens the "
    "step; overhead is the rest. Work that another limit hides has no share."
)
PARTS_TIP = (
    "Shares of a rank's time: what its GPU does from the start to the end of the step, hidden "
    "or not."
)
_ROLES = {
    "weight": "weights",
    "gradient": "gradients",
    "optimizer": "optimizer",
    "activation": "activations",
    "input": "inputs",
    "buffer": "buffers",
    "workspace": "cuBLAS workspace",
}
_TOPOLOGIES = {"nvswitch": "NVSwitch", "mesh": "NVLink mesh", "tree": "PCIe", "none": "no links"}
_NETWORKS = {"infiniband": "InfiniBand", "ethernet": "Ethernet", "roce": "RoCE"}


def ranks_words(ranks: tuple[int, ...]) -> str:
    """The name of ranks that do the same work: "rank 0", "ranks 0 to 7"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if ranks == tuple(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    return f"ranks {', '.join(map(str, ranks[:6]))}{', …' if len(ranks) > 6 else ''}"


def part_seconds(parts: RankParts) -> dict[PatternKind, float]:
    """Seconds of a rank by the pattern of its bar, in the order of `PARTS`."""
    return {
        "compute": parts.compute_s,
        "memory": parts.memory_s,
        "overhead": parts.overhead_s,
        "bubble": parts.bubble_s,
        "communication": parts.exposed_s,
    }


def power_words(p: ParallelPrediction) -> str:
    """The mean power of all GPUs and the energy of a step: "1,380 W on 2 GPUs (limit 1,400 W), 33 J
    a step (80%: 31 to 38 J)"."""
    watts, energy, interval = p.watts, p.joules, p.joules_interval
    if watts is None or energy is None or interval is None:
        return f"unknown: no power data for {p.cluster.gpu.name}"
    limit_w = sum(
        each.limit_w * len(rank.ranks)
        for rank, each in zip(p.ranks, p.powers, strict=True)
        if each is not None
    )
    low, high = (joules(end, 2) for end in interval)
    gpus = "1 GPU" if p.cluster.gpus == 1 else f"{p.cluster.gpus} GPUs"
    return (
        f"{number(watts)} W on {gpus} (limit {number(limit_w)} W), "
        f"{joules(energy)} a step (80%: {low} to {high})"
    )


def role_words(role: str) -> str:
    """The name of a memory role: "weights"."""
    return _ROLES.get(role, role)


def stage_words(layout: Layout, first_rank: int) -> str:
    """The pipeline stage of a rank: "stage 2 of 4", or an empty string."""
    if layout.pp == 1:
        return ""
    return f"stage {first_rank // (layout.dp * layout.tp) + 1} of {layout.pp}"


def collective_words(row: Collectives) -> tuple[str, str]:
    """The name of a collective and its purpose: "all-reduce", "backward, 8 ranks"."""
    return row.kind.replace("_", "-"), f"{row.phase}, {row.ranks} ranks"


def link_words(cluster: Cluster) -> str:
    """The name of the link between the GPUs of a node: "NVSwitch", or "Infinity Fabric x7" if the
    data sheet of the GPU has a link of another vendor."""
    link, own = cluster.link, cluster.gpu.interconnect or ""
    if link.kind == "pcie":
        of_sheet = 2 * link.bandwidth_bytes_per_s == cluster.gpu.interconnect_bytes_per_s
        return own if of_sheet and not own.startswith("PCIe") else "PCIe"
    return _TOPOLOGIES.get(link.topology, link.topology)


def network_words(cluster: Cluster) -> str:
    """The name of the network between the nodes: "InfiniBand"; empty for one node."""
    network = cluster.network
    if network is None or cluster.nodes == 1:
        return ""
    return _NETWORKS.get(network.kind, network.kind)


def step_notes(p: ParallelPrediction) -> tuple[str, ...]:
    """The notes of a prediction: what its time includes, and what the hosts' jitter may add."""
    if p.jitter_s <= 0:
        return p.notes
    return (
        *p.notes,
        "jitter of the hosts around their usual speeds is not part of the step time; "
        f"it may add {seconds(p.jitter_s)}",
    )


def whole_percents(shares: Mapping[Name, float]) -> dict[Name, int]:
    """Shares as whole percents that sum to 100: the largest remainders are rounded up."""
    exact = {name: 100 * share for name, share in shares.items()}
    floors = {name: int(value) for name, value in exact.items()}
    order = sorted(exact, key=lambda name: floors[name] - exact[name])
    for name in order[: 100 - sum(floors.values())]:
        floors[name] += 1
    return floors


def product_words(choice: ClusterChoice) -> tuple[str, bool]:
    """The product of the degrees with a tick if it equals the number of GPUs, else the error."""
    try:
        spread = choice.layout
    except InputError as error:
        return str(error), False
    gpus = choice.machine.gpus
    return f"{spread.dp} × {spread.tp} × {spread.pp} = {gpus} GPU{'s' * (gpus > 1)} ✓", True


def what_if_words(text: str) -> str:
    """The words of a what-if of `simulator.parallel.whatifs`: "Links 2 times as fast"."""
    name, _, value = text.partition("=")
    return {
        "link_speed": f"Links {value} times as fast",
        "network_speed": f"Network {value} times as fast",
        "recompute": "Recompute blocks in the backward pass",
        "microbatches": f"{value} micro-batches",
        "schedule": "Interleave two chunks per stage",
        "fsdp": "Shard the weights" if value == "1" else "Copy the weights",
        "reshard": "Keep gathered weights",
        "prefetch": f"Gather {value} blocks ahead",
        "bucket": f"Buckets of {value} MiB",
    }.get(name, text)
