"""Training with weights, gradients and optimizer state sharded over GPUs (FSDP2).

A step is simulated as `predict --cluster --parallel fsdp` does: the kernels, collectives and hosts
of its ranks. Gradient accumulation repeats the whole step with its optimizer: an upper bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from simulator.cluster.cluster import Cluster, Network
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.planning.batches.rows import trained
from simulator.planning.money import bill
from simulator.planning.result import Row
from simulator.planning.spec import NODE_GPUS, Spec
from simulator.planning.step.rank_step import node
from simulator.planning.step.scenarios import WHATIFS, plain_dtype

if TYPE_CHECKING:
    from simulator.parallel.prediction import ParallelPrediction


def shardable(engine: str, precision: str) -> str:
    """Why steps over several GPUs cannot be predicted with an engine in a precision, or an empty
    string."""
    if engine != "eager":
        return (
            'sharded and split steps are predicted in eager mode only; add "eager" to '
            "candidates.engines"
        )
    if precision in WHATIFS:
        return f"such steps are not predicted in {precision}: expected bf16, fp16 or fp32"
    return ""


def machines(card: GPU, count: int, network_bytes_per_s: float) -> Cluster:
    """`count` linked GPUs: a part of a node, or whole nodes in which each GPU has its own network
    card. Raises InputError for other numbers, and if the GPUs have no known link."""
    if count < 2 or (count > NODE_GPUS and count % NODE_GPUS):
        raise InputError(
            f"count {count}: expected 2 to {NODE_GPUS} GPUs of one node, or a multiple of "
            f"{NODE_GPUS}"
        )
    group = node(card, min(count, NODE_GPUS))
    if count <= NODE_GPUS:
        return group
    return msgspec.structs.replace(
        group,
        id=f"{count}x{card.id}",
        name=f"{count} × {card.name}, {count // NODE_GPUS} nodes",
        nodes=count // NODE_GPUS,
        network=Network("infiniband", network_bytes_per_s, 1.0, 0.0, "the plan's spec"),
    )


def network_step(spec: Spec, card: GPU, precision: str, batch: int) -> NetworkStep:
    """The training step of a plan's network."""
    work = spec.workload
    return NetworkStep(
        work.network, batch, work.seq, plain_dtype(card, precision), True, work.optimizer
    )


def sharded(spec: Spec, group: Cluster, common: dict[str, Any], batch: int, per_sample: int) -> Row:
    """The row of a run sharded over the GPUs of a cluster, each with `batch` samples of
    `per_sample` units. Raises InputError if the network cannot be sharded."""
    # only steps over several GPUs need it
    from simulator.parallel.predict_step import predict_network

    step = network_step(spec, group.gpu, common["precision"], batch)
    layout = f"dp={group.gpus} fsdp{' recompute' if spec.workload.recompute else ''}"
    p = predict_network(step, layout, group, spec.workload.host, "eager")
    return joint_row(spec, group, common | {"sharded": True}, batch, p, per_sample)


def joint_row(
    spec: Spec,
    group: Cluster,
    names: dict[str, Any],
    batch: int,
    p: ParallelPrediction,
    per_sample: int,
) -> Row:
    """The row of a run whose steps use all GPUs of a cluster, with `batch` samples for each."""
    card, count = group.gpu, group.gpus
    need = max(rank.needed_bytes for rank in p.ranks)
    if need > card.memory_bytes:
        paid = bill(card, count, None, spec.prices)
        return Row(
            **names,
            count=count,
            status="no memory",
            binds="capacity",
            memory_share=need / card.memory_bytes,
            usd_per_h=paid.usd_per_h,
            price_source=paid.source,
            reason=f"batch {batch} needs {need / 2**30:.1f} of {card.memory_bytes / 2**30:.1f} GiB "
            "on each GPU",
        )
    low_s, high_s = p.interval_s
    figures = {
        "period_s": p.period_s,
        "low_s": low_s,
        "high_s": high_s,
        "joules": float("nan") if p.joules is None else p.joules / count,
        "memory_bytes": float(need),
    }
    return trained(spec, card, count, names, batch, figures, p.regime, 0.0, per_sample)
