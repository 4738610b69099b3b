"""The exchange of tokens between GPUs that each have their own sequences and whole experts.

In every layer with experts, each GPU sends the rows of its tokens to the GPUs of their experts, in
the precision of the products, and receives the results in the dtype of the activations: two
all-to-alls. A row is sent to a GPU once, even if several of its experts are there. It reaches at
most one GPU for each of its experts, and, if every GPU has whole groups of experts, one for each
group that a router allows. All GPUs are assumed to have the same number of tokens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.cluster.cluster import Cluster
from simulator.collectives.price import collective_time
from simulator.planning.spec import Workload
from simulator.planning.step.rank_step import (
    BYTES,
    Communication,
    communicated,
    communication,
    traffic,
)
from simulator.planning.step.traced_step import sizes_of
from simulator.timing.profile import learned

_SENT_BYTES = {"fp8": 1.0, "nvfp4": 4.5 / 8}
"""Bytes of each number that is sent, by the precision of the step. In precisions that are not
listed here, numbers are sent in the dtype of the activations."""


def reached(sizes: Mapping[str, Any], gpus: int) -> int:
    """The largest number of GPUs, out of `gpus`, that one token is sent to."""
    whole_groups = sizes["groups"] % gpus == 0
    return min(sizes["top"], gpus, sizes["top_groups"] if whole_groups else gpus)


def moved_by(
    work: Workload,
    points: Sequence[tuple[int, int]],
    dtype: str,
    precision: str,
    group: Cluster,
    mode: str,
    engine: str,
) -> Communication:
    """The communication of one rank in forward passes at points (sequences, new tokens of each)."""
    if work.attention_dp:
        return exchange(work.network, points, dtype, precision, group, mode)
    return communication(work.network, points, dtype, group, mode, engine)


def exchange(
    name: str,
    points: Sequence[tuple[int, int]],
    dtype: str,
    precision: str,
    group: Cluster,
    mode: str,
) -> Communication:
    """The exchanges of a forward pass at points (sequences of one GPU, new tokens of each)."""
    sizes = sizes_of(name)
    layers = sizes["layers"] - sizes["dense"]
    copies = reached(sizes, group.gpus)
    rows: list[tuple[float, ...]] = []
    for sequences, tokens in points:
        numbers = sequences * tokens * copies * sizes["width"]
        message_bytes = [
            round(numbers * each)
            for each in (_SENT_BYTES.get(precision, BYTES[dtype]), BYTES[dtype])
        ]
        sent, returned = (
            collective_time("all_to_all", each, group, mode=mode) for each in message_bytes
        )
        traffics = [traffic("all_to_all", each, group.gpus) for each in message_bytes]
        both = [
            (each.seconds, *each.interval_s, each.issue_s, *moved)
            for each, moved in zip((sent, returned), traffics, strict=True)
        ]
        rows.append(tuple(layers * (a + b) for a, b in zip(*both, strict=True)))
    gap_s = 0.0 if mode == "eager" else 2 * layers * learned(group.gpu.id).graph_gap_s
    return communicated(rows, gap_s)
