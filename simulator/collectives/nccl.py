"""NCCL's choice of algorithm, protocol and channels, by its own tuning model and constants.

It minimises `latency + bytes / bandwidth` (src/graph/tuning.cc). This decides which kernel runs;
`price` predicts its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path

import msgspec

from simulator.collectives.group import Group

_MOST_BYTES_A_CHANNEL = 32 * 2**19  # 32 steps, each an eighth of its buffer of 4 MiB


class FabricBelief(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """NCCL's own model of a fabric: bus bandwidths, and channels of its rings. `nvls_from` is the
    smallest number of GPUs for which it reduces in the switch (0: never); `send_channels` are the
    channels that the sends to all peers share (0: unknown)."""

    ring_gbytes_per_s: float
    channels: int
    ll_gbytes_per_s: float
    ll128_channel_gbytes_per_s: float
    nvls_from: int
    nvls_gbytes_per_s: float
    send_channels: int = 0


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The constants of one version of NCCL."""

    version: str
    source: str
    base_us: dict[str, float]
    step_us: dict[str, dict[str, float]]
    nvls_us: float
    bytes_a_thread: dict[str, int]
    threads: int
    fabrics: dict[str, FabricBelief]


@dataclass(frozen=True)
class Choice:
    """How NCCL runs a collective; each channel occupies a multiprocessor."""

    algorithm: str
    protocol: str
    channels: int


@lru_cache
def tuning() -> Tuning:
    """The constants of the modelled version."""
    return msgspec.json.decode((Path(__file__).parent / "nccl.json").read_bytes(), type=Tuning)


def steps(kind: str, ranks: int) -> int:
    """Number of sequential messages in a ring: 2(n − 1) for an all-reduce, n − 1 for others, 1 if a
    rank writes to all peers at once."""
    if kind == "all_reduce":
        return 2 * (ranks - 1)
    return 1 if kind in ("send", "recv", "all_to_all") else ranks - 1


def wire_share(kind: str, ranks: int) -> float:
    """Bytes that each rank sends, as a share of the message (nccl-tests, doc/PERFORMANCE.md)."""
    if kind == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if kind in ("all_gather", "reduce_scatter", "all_to_all"):
        return (ranks - 1) / ranks
    return 1.0


def link_share(kind: str, ranks: int) -> float:
    """Bytes that a rank sends and receives, as a share of the message: the mean of the ranks. In a
    broadcast the first rank only sends, and the last only receives."""
    if kind == "broadcast":
        return 2 * (ranks - 1) / ranks
    return wire_share(kind, ranks) * (1 if kind in ("send", "recv") else 2)


def dram_share(kind: str, ranks: int) -> float:
    """Bytes that a rank reads from its input and writes to its result, as a share of the message.
    The partial results of a ring stay in L2."""
    if kind in ("all_reduce", "all_to_all"):
        return 2.0
    return 1 + 1 / ranks if kind in ("all_gather", "reduce_scatter") else 1.0


def choose(kind: str, message_bytes: int, group: Group) -> Choice:
    """The algorithm and protocol that NCCL's model finds fastest."""
    constants = tuning()
    belief = constants.fabrics.get(group.fabric, constants.fabrics["pcie4"])
    if kind in ("send", "recv", "all_to_all"):
        return Choice("direct", "Simple", _channels("Simple", message_bytes, 1, belief))
    times: dict[tuple[str, str], float] = {}
    for protocol in ("LL", "LL128", "Simple"):
        speed = _bus_gbytes_per_s(protocol, belief, group)
        if speed > 0:
            moved = message_bytes * wire_share(kind, group.ranks)
            times["ring", protocol] = _latency_us(protocol, kind, group) + moved / speed / 1e3
    in_switch = group.nodes == 1 and group.multicast and belief.nvls_from
    if kind == "all_reduce" and in_switch and group.ranks >= belief.nvls_from:
        moved = message_bytes * wire_share(kind, group.ranks)
        times["nvls", "Simple"] = constants.nvls_us + moved / belief.nvls_gbytes_per_s / 1e3
    if kind == "all_reduce" and group.nodes > 1:
        for protocol in ("LL", "Simple"):
            speed = _bus_gbytes_per_s(protocol, belief, group) * 0.9
            moved = message_bytes * wire_share(kind, group.ranks)
            times["tree", protocol] = _tree_us(protocol, group) + moved / speed / 1e3
    algorithm, protocol = min(times, key=lambda choice: times[choice])
    return Choice(algorithm, protocol, _channels(protocol, message_bytes, group.ranks, belief))


def _bus_gbytes_per_s(protocol: str, belief: FabricBelief, group: Group) -> float:
    ring = belief.ring_gbytes_per_s
    if group.nodes > 1:
        ring = min(ring, group.network_bytes_per_s / 1e9)
    if protocol == "LL":
        return min(ring / 2, belief.ll_gbytes_per_s)
    if protocol == "LL128":
        return min(0.92 * ring, belief.channels * belief.ll128_channel_gbytes_per_s)
    return ring


def _latency_us(protocol: str, kind: str, group: Group) -> float:
    constants = tuning()
    between = 2 * group.nodes if kind == "all_reduce" else group.nodes
    between = between if group.nodes > 1 else 0
    within = max(0, steps(kind, group.ranks) - between)
    return (
        constants.base_us[protocol]
        + within * constants.step_us[group.kind][protocol]
        + between * constants.step_us["network"][protocol]
    )


def _tree_us(protocol: str, group: Group) -> float:
    constants = tuning()
    return constants.base_us[protocol] + 2 * (
        (group.ranks_per_node - 1) * constants.step_us[group.kind][protocol]
        + group.tree_depth * constants.step_us["network"][protocol]
    )


def _channels(protocol: str, message_bytes: int, ranks: int, belief: FabricBelief) -> int:
    """The number of channels: fewer if a channel would get less than its threads move at once
    (src/enqueue.cc)."""
    constants = tuning()
    least = constants.threads * constants.bytes_a_thread[protocol]
    least *= ranks if protocol == "LL" else 1
    return max(1, min(belief.channels, ceil(message_bytes / least)))


def send_channels(message_bytes: int, group: Group) -> int:
    """The number of channels of a message to one peer, 0 if unknown: its share of all channels,
    doubled while a channel would get more than 16 MiB (`calcP2pChannelCount` of src/enqueue.cc)."""
    belief = tuning().fabrics.get(group.fabric)
    if belief is None or not belief.send_channels or group.nodes > 1:
        return 0
    count = most = belief.send_channels
    while count * group.ranks > belief.send_channels and count > 1:
        count //= 2
    while most * group.ranks > 4 * belief.send_channels and most > 1:
        most //= 2
    while message_bytes > count * _MOST_BYTES_A_CHANNEL and count <= most // 2:
        count *= 2
    return count
