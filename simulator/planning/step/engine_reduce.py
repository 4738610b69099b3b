"""The all-reduce of serving engines for small messages over NVLink.

Each rank reads the buffers of all others. For the smallest messages it reads them whole and adds
them up itself; for larger ones it adds up its share, and then reads the others' sums:

    once   base + (n − 1)·S / B
    twice  base + 2·(n − 1)/n·S / B

S is the message in bytes, n the number of ranks. The constants of a fabric are fitted to measured
kernels by least squares of ln(measured/predicted), and engines take the faster way.
"""

from __future__ import annotations

from math import exp
from typing import NamedTuple

from simulator.cluster.cluster import Cluster
from simulator.collectives.group import group_of
from simulator.planning.step.engine_attention import engine_kernels

_MOST_BYTES = 8 * 2**20  # vLLM's limit, above which the measured times are NCCL's


class Reduction(NamedTuple):
    """Seconds on the GPU, with the ends of the 80% interval."""

    seconds: float
    low_s: float
    high_s: float


def engine_reduce(engine: str, message_bytes: float, cluster: Cluster) -> Reduction | None:
    """The engine's own all-reduce among the GPUs of a node; None if it uses NCCL's."""
    group = group_of(cluster, tuple(range(cluster.gpus)))
    fabric = engine_kernels(engine).get("all_reduce", {}).get(group.fabric)
    if fabric is None or message_bytes > _MOST_BYTES:
        return None
    n = cluster.gpus
    seconds = min(
        fabric["once_s"] + (n - 1) * message_bytes / fabric["once_bytes_per_s"],
        fabric["twice_s"] + 2 * (n - 1) / n * message_bytes / fabric["twice_bytes_per_s"],
    )
    spread = exp(fabric["spread"])
    return Reduction(seconds, seconds / spread, seconds * spread)
