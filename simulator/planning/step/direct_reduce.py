"""The all-reduce of serving engines for small messages, which was not measured.

Over NVLink, engines replace NCCL's all-reduce by kernels in which each rank reads the buffers of
all others at once. One exchange bounds their time from below, for any number of ranks.
"""

from __future__ import annotations

from math import inf

from simulator.cluster.cluster import Cluster, cluster
from simulator.collectives.price import collective_time

_MOST_BYTES = 8 * 2**20
"""Assumed: reported as vLLM's default limit; its source was not read."""
_LATENCY_BYTES = 1024


def direct_s(message_bytes: float, group: Cluster) -> float:
    """Seconds on the GPU: NCCL's latency between two ranks, plus the bytes that a rank receives in
    both halves of an all-reduce, divided by the bandwidth of one direction of its link. Infinite if
    engines use NCCL for this size."""
    link, both_ways = group.gpu.interconnect or "", group.gpu.interconnect_bytes_per_s
    if not link.startswith("NVLink") or both_ways is None or message_bytes > _MOST_BYTES:
        return inf
    pair = cluster(f"2x{group.gpu.id}")
    latency_s = collective_time("all_reduce", _LATENCY_BYTES, pair, mode="cuda_graph").seconds
    ranks = group.gpus
    return latency_s + 2 * (ranks - 1) / ranks * message_bytes / (both_ways / 2)
