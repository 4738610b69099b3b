"""Training with weights, gradients and optimizer state sharded over the GPUs of a node (FSDP2).

A step is simulated as `predict --cluster --parallel fsdp` does: the kernels, collectives and hosts
of its ranks. Gradient accumulation repeats the whole step with its optimizer: an upper bound.
"""

from __future__ import annotations

from typing import Any

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.planning.batches.rows import trained
from simulator.planning.money import bill
from simulator.planning.result import Row
from simulator.planning.spec import Spec
from simulator.planning.step.rank_step import node
from simulator.planning.step.tables import WHATIFS, plain_dtype

MOST_GPUS = 8  # of a node


def shardable(engine: str, precision: str) -> str:
    """Why sharded steps cannot be predicted with an engine in a precision, or an empty string."""
    if engine != "eager":
        return "sharded steps are predicted in eager mode only"
    if precision in WHATIFS:
        return f"sharded steps are not predicted in {precision}: expected bf16, fp16 or fp32"
    return ""


def sharded(
    spec: Spec, card: GPU, common: dict[str, Any], count: int, batch: int, per_sample: int
) -> Row:
    """The row of a run sharded over `count` GPUs, each with `batch` samples of `per_sample` units.
    Raises InputError if the GPUs have no known link, or the network cannot be sharded."""
    # torch is imported only to trace a step
    from simulator.parallel.predict_step import predict_network
    from simulator.tracing.parallel.networks import NetworkStep

    work = spec.workload
    group = node(card, count)
    step = NetworkStep(
        work.network,
        batch,
        work.seq,
        plain_dtype(card, common["precision"]),
        True,
        work.optimizer,
    )
    layout = f"dp={count} fsdp{' recompute' if work.recompute else ''}"
    p = predict_network(step, layout, group, work.host, "eager")
    need = max(rank.needed_bytes for rank in p.ranks)
    names: dict[str, Any] = common | {"sharded": True}
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
        "joules": float("nan"),  # the power of a card during collectives is not modelled
        "memory_bytes": float(need),
    }
    return trained(spec, card, count, names, batch, figures, p.regime, 0.0, per_sample)


def check_count(count: int) -> None:
    """Raise InputError for a number of GPUs over which a step cannot be sharded."""
    if not 2 <= count <= MOST_GPUS:
        raise InputError(f"count {count}: expected 2 to {MOST_GPUS} GPUs of one node to shard over")
