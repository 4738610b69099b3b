"""The time of a collective: a latency for each step, the bytes over the busiest link, and a local
copy.

    LL          base + d0·log2(1 + S/1 KiB) + [k·(step + d1·log2(1 + S/1 KiB)), X/B_LL]
    Simple      base + [k·step, (X/B + c·S/n)·(X/X0)^−γ]
    direct      base + d·log2(1 + S/1 KiB) + (X/B + c·S/n)·(X/X0)^−γ
    NVLS        base + X/B·(X/X0)^−γ

S is the message in bytes, n the number of ranks, k the number of steps, X the bytes that each rank
sends (S·2(n−1)/n, S·(n−1)/n or S); c·S/n copies a rank's own part. [latency, transfer] is the
p-norm of two times that overlap; with p = 1 it is their sum. γ is the ramp up to full bandwidth.
The constants are fitted per fabric by least squares of ln(measured/predicted)
(`calibration.fit.collectives`); each names its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log2
from pathlib import Path

import msgspec

from simulator.cluster.cluster import Cluster
from simulator.collectives.group import Group, group_of
from simulator.collectives.nccl import Choice, choose, send_channels, steps, wire_share
from simulator.errors import InputError

KINDS = (
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send", "recv",
    "barrier",
)  # fmt: skip
_RAMP_BYTES = 5e8  # X0, the size at which the fitted bandwidths are reached
_RAMP_LEAST = 1e5
_PACK_BYTES = 16  # NCCL copies in packs if each rank's part begins at a multiple of this
_PIPELINED = ("send", "broadcast")
"""Collectives with the steeper `direct_ramp` and one step, in which no rank waits for the reduction
of another."""
_MOST_DOUBLINGS = {"LL": 6.0, "direct": 9.0}


class Fabric(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fitted constants of a fabric: microseconds, and GB/s by kind.

    ll_overlap, simple_overlap   exponent of the overlap of latency and transfer (1: none)
    send_channel  GB/s of one channel of a send (0: as fast as the links)
    misaligned    slowdown by kind of a transfer whose parts are not multiples of 16 bytes
    sharing       slowdown by each rank beyond two on shared links (PCIe trees)
    spread_small, spread_large   80% half-width of ln(measured/predicted) under and over 1 MiB
    transferred   the fabric whose constants are scaled; empty if this one was measured
    """

    source: str
    ll_base: float
    ll_step: float
    ll_d0: float
    ll_d1: float
    ll_bandwidth: float
    ll128_base: float
    ll128_share: float
    simple_base: float
    simple_step: float
    ramp: float
    direct_ramp: float
    direct_base: dict[str, float]
    direct_d: dict[str, float]
    nvls_base: float
    nvls_bandwidth: float
    bandwidth: dict[str, float]
    copy: dict[str, float]
    sharing: float
    spread_small: float
    spread_large: float
    ll_overlap: float = 1.0
    simple_overlap: float = 1.0
    send_channel: float = 0.0
    misaligned: dict[str, float] = {}
    transferred: str = ""


class NetworkConstants(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The constants between nodes: the achieved share of a NIC's rate, alone and with 8 GPUs per
    node, and microseconds per step."""

    source: str
    share: float
    share_crowded: float
    step_us: float
    spread: float


class Issue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds of the default host to issue one collective in eager mode.

    `seconds` is the total of a call in a loop, by kind; `beyond_s` is the part of a call in a step
    that exceeds the Python and op costs of the host's profile. `wrapped_s` is added for each of
    the sharded tensors that `Op.wrapped` counts."""

    source: str
    seconds: dict[str, float]
    beyond_s: float
    wrapped_s: float


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The constants of all fabrics, of the network between nodes, and of the host."""

    version: int
    fabrics: dict[str, Fabric]
    network: NetworkConstants
    issue: Issue
    host_memory_share: float


@dataclass(frozen=True)
class CollectiveTime:
    """A collective alone: `seconds` on the GPU with their 80% interval, NCCL's choice, and
    `issue_s` on the host (0 in a CUDA graph)."""

    seconds: float
    interval_s: tuple[float, float]
    choice: Choice
    issue_s: float
    tier: str

    @property
    def period_s(self) -> float:
        """Seconds per back-to-back call: the GPU's or the host's time, whichever is longer."""
        return max(self.seconds, self.issue_s)


@lru_cache
def profile() -> Profile:
    """The packaged constants, read once."""
    path = Path(__file__).parent / "profiles" / "collectives.json"
    return msgspec.json.decode(path.read_bytes(), type=Profile)


def collective_time(
    kind: str,
    message_bytes: int,
    cluster: Cluster,
    ranks: tuple[int, ...] | None = None,
    mode: str = "eager",
) -> CollectiveTime:
    """The time of a collective over `message_bytes` on these ranks (default: all GPUs).

    `message_bytes` is the size of the whole array, as in nccl-tests. Raises InputError for an
    unknown kind, and for ranks outside the cluster.
    """
    if kind not in KINDS:
        raise InputError(
            f"unknown collective {kind!r}: expected one of {', '.join(KINDS)}; correct the name"
        )
    if message_bytes < 0:
        raise InputError(f"message_bytes = {message_bytes}: expected 0 or more; correct the size")
    members = tuple(range(cluster.gpus)) if ranks is None else ranks
    outside = [rank for rank in members if not 0 <= rank < cluster.gpus]
    if outside:
        raise InputError(
            f"rank {outside[0]} on {cluster.id}, which has {cluster.gpus} GPUs: expected ranks 0 "
            f"to {cluster.gpus - 1}; choose a larger cluster"
        )
    return priced(kind, message_bytes, group_of(cluster, members), mode)


@lru_cache(maxsize=65536)
def priced(kind: str, message_bytes: int, group: Group, mode: str) -> CollectiveTime:
    """`collective_time` for a group."""
    constants = profile()
    called = kind
    kind = {"recv": "send", "barrier": "all_reduce"}.get(kind, kind)
    choice = choose(kind, message_bytes, group)
    fabric = constants.fabrics.get(group.fabric, constants.fabrics["pcie4"])
    issue_s = constants.issue.seconds[called] if mode == "eager" else 0.0
    if group.ranks == 1:
        return CollectiveTime(2e-6, (1e-6, 4e-6), choice, issue_s, "interpolated")
    if group.link_times != 1.0:
        fabric = _faster(fabric, group.link_times)
    if not group.peer_to_peer:
        fabric = _through_host(fabric, constants.host_memory_share)
    seconds = 1e-6 * within_us(kind, message_bytes, group, choice, fabric)
    spread = fabric.spread_small if message_bytes <= 2**20 else fabric.spread_large
    if group.nodes > 1:
        seconds = max(seconds, _network_s(kind, message_bytes, group, constants.network))
        seconds += _network_steps(kind, group, choice) * (
            constants.network.step_us * 1e-6 + group.network_latency_s
        )
        spread = max(spread, constants.network.spread)
    tier = "transferred" if fabric.transferred or group.nodes > 1 else "interpolated"
    low, high = seconds / (1 + spread), seconds * (1 + spread)
    return CollectiveTime(seconds, (low, high), choice, issue_s, tier)


def _faster(fabric: Fabric, times: float) -> Fabric:
    """The fabric with links `times` as fast."""
    return msgspec.structs.replace(
        fabric,
        bandwidth={k: v * times for k, v in fabric.bandwidth.items()},
        ll_bandwidth=fabric.ll_bandwidth * times,
        nvls_bandwidth=fabric.nvls_bandwidth * times,
        send_channel=fabric.send_channel * times,
        transferred="links of another speed",
    )


def _through_host(fabric: Fabric, share: float) -> Fabric:
    """The fabric without peer-to-peer transfers: each byte goes through host memory and therefore
    crosses the links twice."""
    return msgspec.structs.replace(
        fabric,
        bandwidth={k: v * share for k, v in fabric.bandwidth.items()},
        ll_bandwidth=fabric.ll_bandwidth * share,
        transferred="peer-to-peer",
    )


def within_us(kind: str, message_bytes: int, group: Group, choice: Choice, fabric: Fabric) -> float:
    """Microseconds of a collective within a node, with this algorithm and protocol."""
    ranks = group.ranks if group.nodes == 1 else group.ranks_per_node
    if ranks == 1:
        return fabric.ll_base
    count = 1 if kind in _PIPELINED else steps(kind, ranks)
    sent = message_bytes * wire_share(kind, ranks)
    shared = 1 + fabric.sharing * (ranks - 2)
    doublings = log2(1 + message_bytes / 1024)
    if choice.protocol == "LL":
        doublings = min(doublings, _MOST_DOUBLINGS["LL"])
        latency = count * (fabric.ll_step + fabric.ll_d1 * doublings)
        transfer = sent / fabric.ll_bandwidth / 1e3 * shared
        overlapped = _overlapped(latency, transfer, fabric.ll_overlap)
        return fabric.ll_base + fabric.ll_d0 * doublings + overlapped
    ramp = (max(sent, _RAMP_LEAST) / _RAMP_BYTES) ** -(
        fabric.direct_ramp if kind in _PIPELINED else fabric.ramp
    )
    if choice.algorithm == "nvls":
        return fabric.nvls_base + sent / fabric.nvls_bandwidth / 1e3 * ramp
    bandwidth = fabric.bandwidth[kind]
    if kind == "send" and (channels := send_channels(message_bytes, group)):
        bandwidth = min(bandwidth, channels * fabric.send_channel or bandwidth)
    moved = sent / bandwidth * shared + message_bytes / ranks * fabric.copy[kind] * 1e-3
    moved *= ramp / 1e3
    if message_bytes // ranks % _PACK_BYTES:
        moved *= fabric.misaligned.get(kind, 1.0)
    if choice.algorithm == "direct":
        growth = fabric.direct_d[kind] * min(doublings, _MOST_DOUBLINGS["direct"])
        return fabric.direct_base[kind] + growth + moved
    if choice.protocol == "LL128":
        return fabric.ll128_base + moved / fabric.ll128_share
    return fabric.simple_base + _overlapped(
        fabric.simple_step * count, moved, fabric.simple_overlap
    )


def _overlapped(first: float, second: float, exponent: float) -> float:
    """The p-norm of two times: their sum if the exponent is 1, nearly the longer one if it is
    large."""
    if exponent == 1.0:
        return first + second
    return (first**exponent + second**exponent) ** (1 / exponent)


def _network_s(kind: str, message_bytes: int, group: Group, network: NetworkConstants) -> float:
    """Seconds for the bytes that leave a node, over all its NICs."""
    share = network.share_crowded if group.crowded else network.share
    if kind == "all_to_all":
        leaving = message_bytes * (group.ranks - group.ranks_per_node) / group.ranks
        return leaving * group.ranks_per_node / (group.network_bytes_per_s * share)
    speed = group.network_bytes_per_s * share
    if kind == "send":  # each rank uses its own NICs
        speed /= group.ranks_per_node
    return message_bytes * wire_share(kind, group.ranks) / speed


def _network_steps(kind: str, group: Group, choice: Choice) -> int:
    if kind in ("send", "all_to_all"):
        return 1
    if choice.algorithm == "tree":
        return 2 * group.tree_depth
    return (2 if kind == "all_reduce" else 1) * (group.nodes - 1)
