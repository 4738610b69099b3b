"""A quick estimate of a split from four traced blocks: period, and memory of the largest stage.

period = (m + p − 1)·(time of a stage's micro-batch) + optimizer + the part of the gradients'
all-reduce that no backward pass hides. A pass takes the longer of its kernels' time and its host's.
Memory consists of the weights of a stage with their gradients and optimizer state, and the
activations of the micro-batches in flight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simulator.blocks.runs import Run, runs
from simulator.cluster.cluster import Cluster
from simulator.cluster.layout import Layout
from simulator.cluster.step import NetworkStep
from simulator.collectives.group import group_of
from simulator.collectives.price import priced
from simulator.hardware.host import Host
from simulator.parallel.network_step import few_blocks, layers_of, whole_trace
from simulator.records import Trace
from simulator.schedule.launch_plan import issued
from simulator.schedule.memory import memory
from simulator.simulate.step import kernel_times
from simulator.timing.profile import learned


@dataclass(frozen=True)
class Estimate:
    """Seconds of a step, bytes of the rank with the most memory, and a description of that rank."""

    period_s: float
    memory_bytes: float
    largest: str


@dataclass(frozen=True)
class _Costs:
    """Costs from the traced blocks: seconds of one block, of everything else in a micro-batch, and
    of the optimizer; bytes of the weights of one block and of all others, with gradients and
    optimizer state, and without; bytes of the activations that one block and everything else store
    for the backward pass."""

    block_s: float
    other_s: float
    optimizer_s: float
    block_bytes: float
    other_bytes: float
    weight_bytes: float
    activation_bytes: float
    other_activation_bytes: float


def estimate(step: NetworkStep, spread: Layout, cluster: Cluster, host: Host) -> Estimate:
    """The estimate of a split of a replica's step. Raises InputError if the split does not divide
    the step."""
    layers = layers_of(step)
    if spread.pp == 1 or layers is None:
        return _unstaged_estimate(step, spread, cluster, host)
    microbatches = max(1, spread.microbatches)
    each = replace(step, batch=(step.batch or 1) // microbatches)
    costs = _costs(each, spread, cluster, host)
    blocks = layers // spread.pp
    stage_s = blocks * costs.block_s + costs.other_s / 2
    reduce_s = 0.0
    if spread.dp > 1:
        ranks = tuple(range(0, spread.dp * spread.tp, spread.tp))
        nbytes = int(blocks * costs.weight_bytes)
        whole_s = priced("all_reduce", nbytes, group_of(cluster, ranks), "eager").seconds
        reduce_s = max(whole_s / max(1, blocks), whole_s - stage_s / 2)
    period_s = (microbatches + spread.pp - 1) * stage_s + blocks * costs.optimizer_s + reduce_s
    weights = blocks * costs.block_bytes + costs.other_bytes / 2
    if spread.dp > 1:
        weights += blocks * costs.weight_bytes
    first = weights + min(microbatches, spread.pp) * blocks * costs.activation_bytes
    last = weights + blocks * costs.activation_bytes + costs.other_activation_bytes
    return Estimate(
        period_s, max(first, last), "the first stage" if first >= last else "the last stage"
    )


def _unstaged_estimate(step: NetworkStep, spread: Layout, cluster: Cluster, host: Host) -> Estimate:
    """The estimate without stages: the longer of kernels and host, and the communication that no
    backward pass hides."""
    trace = whole_trace(step, spread, cluster)
    busy_s, moving_s, host_s = _seconds(trace, cluster, host)
    ddp = step.training and spread.dp > 1 and not spread.fsdp
    extra = 0.0
    if ddp:
        ranks = tuple(range(0, cluster.gpus, spread.tp))
        extra = sum(s.nbytes for s in trace.storages if s.role == "gradient")
        moving_s = priced("all_reduce", int(extra), group_of(cluster, ranks), "eager").seconds
    serial_s = 0.0
    if spread.tp > 1 and not spread.fsdp:
        serial_s, moving_s = (moving_s, 0.0) if not ddp else (0.0, moving_s)
    gpu_s = max(busy_s, moving_s) + 0.1 * min(busy_s, moving_s) + serial_s
    return Estimate(max(gpu_s, host_s), memory(trace).peak_bytes + extra, "a rank")


def _seconds(trace: Trace, cluster: Cluster, host: Host) -> tuple[float, float, float]:
    """Seconds of kernels, of collectives and of the host."""
    gpu_s, moving_s, host_s = _by_op(trace, cluster, host)
    return float(gpu_s.sum()), float(moving_s.sum()), float(host_s.sum())


def _by_op(trace: Trace, cluster: Cluster, host: Host) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    profile = learned(cluster.gpu.id)
    plan = issued(trace, cluster.gpu)
    columns = kernel_times(plan, cluster.gpu, profile, host)
    count = len(trace.ops)
    op_of = plan.lowered.op_of
    alone = np.array([op.collective is None for op in trace.ops], np.float64)
    gpu_s = np.bincount(op_of, columns.duration_s + profile.gap_s, count) * alone
    moving_s = np.array(
        [
            priced(c.kind, c.message_bytes, group_of(cluster, c.ranks), "eager").seconds
            if (c := op.collective) is not None
            else 0.0
            for op in trace.ops
        ]
    )
    return gpu_s, moving_s, np.bincount(op_of, plan.by(host).host_s, count)


_COSTS: dict[str, _Costs] = {}


def _costs(step: NetworkStep, spread: Layout, cluster: Cluster, host: Host) -> _Costs:
    key = repr((step, spread.tp, cluster, host.id))
    if key not in _COSTS:
        trace, blocks = few_blocks(step, spread, cluster)
        _COSTS[key] = _costs_of(trace, runs(trace, blocks), cluster, host)
    return _COSTS[key]


def _costs_of(trace: Trace, entries: list[Run], cluster: Cluster, host: Host) -> _Costs:
    count = 1 + max(run.block for run in entries if run.block is not None)
    gpu_s, moving_s, host_s = _by_op(trace, cluster, host)
    passes = [run for run in entries if run.block is not None]
    half = passes[len(passes) // 2 :]  # the second micro-batch

    def seconds(entered: list[Run]) -> float:
        total = [
            sum(each[run.start : run.end].sum() for run in entered) for each in (gpu_s, host_s)
        ]
        moved = sum(moving_s[run.start : run.end].sum() for run in entered)
        return float(max(total[0] + moved, total[1]))

    inner = [run for run in half if run.block == 1]
    block_s = seconds(inner)
    other_s = max(0.0, seconds(half) - count * block_s)
    optimizer = [run for run in entries if run.block is None]
    ours = {
        s
        for run in inner
        for op in trace.ops[run.start : run.end]
        for s in op.storages
        if trace.storages[s].role in ("weight", "gradient")
    }
    total = {
        role: sum(s.nbytes for s in trace.storages if s.role == role)
        for role in ("weight", "gradient", "optimizer")
    }
    weight = sum(trace.storages[s].nbytes for s in ours if trace.storages[s].role == "weight")
    share = weight / total["weight"] if total["weight"] else 0.0
    state_bytes = float(sum(total.values()))
    turn = next(i for i, op in enumerate(trace.ops) if op.phase == "backward")
    activation_bytes, other_activation_bytes = 0.0, 0.0
    forward = next(run for run in passes if run.block == 1 and run.phase == "forward")
    for s in trace.storages:
        if s.role == "activation" and 0 <= s.born < turn and (s.freed is None or s.freed > turn):
            if s.born in forward.ops:
                activation_bytes += s.nbytes
            else:
                other_activation_bytes += s.nbytes
    return _Costs(
        block_s,
        other_s,
        sum(seconds([run]) for run in optimizer) * share,
        state_bytes * share,
        state_bytes * (1 - count * share),
        weight,
        activation_bytes,
        max(0.0, other_activation_bytes - (count - 1) * activation_bytes),
    )
