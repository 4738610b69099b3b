"""The distinct ranks of a network's step under a layout, from a trace of a few blocks.

FSDP2 and tensor parallelism are traced as torch runs them, over four blocks; then identical blocks
are repeated, pipeline stages are cut out, and DDP buckets are inserted. Networks whose blocks
differ are traced as a whole.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from simulator.blocks.repetition import repeated
from simulator.blocks.runs import LEAST, UnequalBlocksError, path_of_blocks
from simulator.caches.derived import Derived
from simulator.caches.lru import LRUCache
from simulator.cluster.cluster import Cluster
from simulator.cluster.layout import Layout
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.networks.catalogue import CATALOGUE, depth
from simulator.parallel.buckets import bucketed
from simulator.parallel.rank_0 import rank_0
from simulator.parallel.resharding.resharded import resharded
from simulator.parallel.roles import Roles
from simulator.parallel.schedules import actions
from simulator.parallel.stages import Place, staged
from simulator.records import Trace

_TRACES: LRUCache[tuple[Trace, str]] = LRUCache(48)
_REPEATED: Derived[Trace] = Derived(2)
_RESHARDED: Derived[Trace | None] = Derived(8)
_SHARDED: LRUCache[tuple[tuple[int, ...], Trace, str]] = LRUCache(8)
_ROLES: LRUCache[Roles] = LRUCache(8)


def network_roles(step: NetworkStep, spread: Layout, cluster: Cluster) -> Roles:
    """The traces of the distinct ranks. Raises InputError if the network does not suit the
    layout."""
    key = repr((step, spread, cluster.gpus, cluster.gpus_per_node, cluster.gpu.id))
    return _ROLES.get(key, lambda: _network_roles(step, spread, cluster))


def _network_roles(step: NetworkStep, spread: Layout, cluster: Cluster) -> Roles:
    batch = batch_of(step)
    microbatches = spread.microbatches or _microbatches(batch, spread)
    if batch % microbatches:
        raise InputError(
            f"microbatches={microbatches} does not divide the batch {batch} of a replica: "
            "expected a divisor of the batch; change one of them"
        )
    each = replace(step, batch=batch // microbatches)
    if spread.pp > 1:
        return _pipeline(each, spread, cluster, microbatches)
    ddp = not spread.fsdp and spread.dp > 1 and step.training
    traced = replace(spread, dp=spread.dp if spread.fsdp else 1)
    trace, _ = _trace_of_all_blocks(each, traced, cluster, microbatches if step.training else 1)
    if ddp:
        trace = bucketed(trace, tuple(range(0, cluster.gpus, spread.tp)), spread.bucket_bytes)
    return Roles({0: trace}, (0,) * cluster.gpus)


def _pipeline(step: NetworkStep, spread: Layout, cluster: Cluster, microbatches: int) -> Roles:
    """The traces of pipeline stages; ranks are numbered first within a tensor group, then within a
    stage."""
    if not step.training:
        raise InputError(
            f"pp = {spread.pp} in inference: expected pp=1, because requests are not split into "
            "micro-batches; use tp, or predict training"
        )
    if spread.fsdp and spread.dp > 1:
        raise InputError(
            f"fsdp with pp = {spread.pp}: expected ddp, because each micro-batch would gather all "
            "weights again; remove fsdp, or write make(rank, world_size) and call predict_step"
        )
    layers = layers_of(step)
    parts = spread.pp * spread.chunks
    if layers is None or layers % parts:
        has = "no list of identical blocks" if layers is None else f"{layers} layers"
        raise InputError(
            f"pp = {spread.pp}{f' with {spread.chunks} chunks' if spread.chunks > 1 else ''} does "
            f"not divide {step.network}, which has {has}: expected a divisor; choose another pp"
        )
    part = replace(step, sizes={**step.sizes, "layers": layers // spread.pp})
    traced = replace(spread, dp=1, pp=1)
    trace, blocks = _trace_of_all_blocks(part, traced, cluster, 2)
    size = spread.dp * spread.tp
    stages: dict[int, Trace] = {}
    for stage in range(spread.pp):
        first = stage * size
        place = Place(
            stage, spread.pp, first, (first - size) % cluster.gpus, (first + size) % cluster.gpus
        )
        order = actions(spread.schedule, stage, spread.pp, microbatches, spread.chunks)
        own = staged(trace, blocks, order, place, spread.chunks)
        own = _moved(own, first)
        if spread.dp > 1:
            ranks = tuple(range(first, first + size, spread.tp))
            own = bucketed(own, ranks, spread.bucket_bytes)
        stages[first] = own
    return Roles(stages, tuple(rank // size * size for rank in range(cluster.gpus)))


def _moved(trace: Trace, first: int) -> Trace:
    """The trace with the ranks of its tensor group numbered from `first`."""
    if not first:
        return trace
    ops = [
        msgspec.structs.replace(
            op,
            collective=msgspec.structs.replace(
                op.collective, ranks=tuple(rank + first for rank in op.collective.ranks)
            ),
        )
        if op.collective is not None and op.collective.kind not in ("send", "recv")
        else op
        for op in trace.ops
    ]
    return msgspec.structs.replace(trace, ops=ops)


def batch_of(step: NetworkStep) -> int:
    """The batch of a replica: the default of the network if the step has none."""
    entry = CATALOGUE.get(step.network)
    return step.batch or (entry.batch if entry else 1)


def _microbatches(batch: int, spread: Layout) -> int:
    """The number of micro-batches: 1 without a pipeline, else the largest possible one up to four
    per stage."""
    most = 4 * spread.pp if spread.pp > 1 else 1
    return max(n for n in range(1, most + 1) if batch % n == 0)


def layers_of(step: NetworkStep) -> int | None:
    """The number of identical blocks of a network of the catalogue; None if its blocks differ."""
    return depth(step.network, step.sizes)


def whole_trace(step: NetworkStep, spread: Layout, cluster: Cluster) -> Trace:
    """The trace of rank 0 without pipeline stages and without DDP's buckets."""
    traced = replace(spread, dp=spread.dp if spread.fsdp else 1)
    return _trace_of_all_blocks(step, traced, cluster, 1)[0]


def few_blocks(step: NetworkStep, spread: Layout, cluster: Cluster) -> tuple[Trace, str]:
    """Two micro-batches of a few blocks on one rank of a tensor group, and the blocks' path."""
    few = replace(step, sizes={**step.sizes, "layers": LEAST})
    return _traced(few, replace(spread, dp=1, pp=1, microbatches=0), cluster, 2)


def _trace_of_all_blocks(
    step: NetworkStep, spread: Layout, cluster: Cluster, passes: int
) -> tuple[Trace, str]:
    """The trace of rank 0 with all blocks, and the path of the blocks. A step that differs from a
    traced one only in the number of ranks that share its weights is not traced again."""
    if not spread.fsdp or spread.dp == 1:
        return _all_blocks(step, spread, cluster, passes)
    ranks = tuple(range(0, spread.dp * spread.tp, spread.tp))
    traced_ranks, trace, blocks = _SHARDED.get(
        repr((step, replace(spread, dp=1), passes, cluster.gpu.id)),
        lambda: (ranks, *_all_blocks(step, spread, cluster, passes)),
    )
    if traced_ranks == ranks:
        return trace, blocks
    other = _RESHARDED.get(trace, lambda: resharded(trace, traced_ranks, ranks), ranks)
    return (other, blocks) if other is not None else _all_blocks(step, spread, cluster, passes)


def _all_blocks(
    step: NetworkStep, spread: Layout, cluster: Cluster, passes: int
) -> tuple[Trace, str]:
    layers = layers_of(step)
    if layers is not None and layers > LEAST:
        few, blocks = _traced(
            replace(step, sizes={**step.sizes, "layers": LEAST}), spread, cluster, passes
        )
        try:
            return _REPEATED.get(few, lambda: repeated(few, blocks, layers), layers), blocks
        except UnequalBlocksError:
            pass
    return _traced(step, spread, cluster, passes)


def _traced(step: NetworkStep, spread: Layout, cluster: Cluster, passes: int) -> tuple[Trace, str]:
    """The trace of rank 0, and the path of the blocks."""
    how = (spread.dp, spread.tp, spread.fsdp, spread.reshard, spread.prefetch, spread.recompute)
    key = repr((step, how, passes, cluster.gpu.id))

    def traced() -> tuple[Trace, str]:
        trace = rank_0(step, spread, cluster, passes)
        return trace, path_of_blocks(trace)

    return _TRACES.get(key, traced)
