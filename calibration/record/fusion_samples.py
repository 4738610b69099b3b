"""The speed-up from fusing a chain: predicted from the chain alone, and measured with a fused
Triton kernel.

A fused kernel is one launch that moves the chain's outer bytes and executes all its instructions.
Its curve is fitted to the points that are not held out, without knowledge of the kernel's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from calibration.fused import VARIANTS, Traffic
from calibration.measure.log import read
from calibration.outcome import Outcome
from calibration.record.library_samples import Swept, l2_share, lowered
from calibration.record.read import MEASUREMENTS
from calibration.record.samples import L2_REACH, Sample, dirty
from calibration.sweeps import OPERATIONS, Point
from simulator.costs import Work, works
from simulator.costs.reductions.softmaxes import with_zero_exponentials
from simulator.fusion.dataflow import dataflow
from simulator.fusion.kinds import kind
from simulator.fusion.lowering.arithmetic import arithmetic
from simulator.fusion.lowering.contraction import contracted
from simulator.fusion.scheduling import by_hand
from simulator.fusion.scheduling.work import dims
from simulator.hardware.gpu import GPU
from simulator.records import Trace
from simulator.timing.profile import Profile
from simulator.timing.roofline import roofs
from simulator.tracing import trace_call

_LOGS = ("fused.jsonl.gz", "samples.jsonl.gz")


@dataclass(frozen=True)
class FusionSpeedup:
    """A fused kernel, as one work, and the chain that it replaces."""

    variant: str
    point: Point
    work: Work
    hot: float
    seconds: float
    chain: Swept
    chain_s: float


def fused(chain: Trace, traffic: Traffic, operands: Sequence[Operand], reach_bytes: float) -> Work:
    """A chain as one launch, with its outer bytes and all its instructions. `operands` are its
    inputs, followed by its result. L2 still holds data if at most `reach_bytes` of traffic followed
    its last use: an operand smaller than the result is reread from DRAM if there is more traffic in
    between."""
    ops = [op.signature for op in chain.ops if kind(op.signature) != "none"]
    reducing = [op for op in ops if kind(op) == "reduction"]
    every = [work for op in reducing for work in works(op) or ()]
    rows = max((work.dims.get("rows", 0) for work in every), default=0)
    elements = max(tensor.numel for op in ops for tensor in (*op.inputs, *op.outputs))
    cols = elements // rows if rows else 0
    # operands with a single number per row are not counted
    loaded = sum(each.elements != rows for each in operands)
    flow = dataflow(chain)
    makers = {value: i for i in range(len(chain.ops)) for value in flow.makes[i]}
    saved = sum(
        contracted(chain, flow, i, lambda v: makers.get(v, -1)) for i in range(len(chain.ops))
    )
    computed = sum(arithmetic(op, by_hand=True)[1] for op in ops) - saved
    slots = by_hand.slots(computed, loaded, elements, rows, cols)
    how = "reduction" if reducing else "pointwise"
    kernel_dims = dims(how, slots, rows, cols, elements, len(operands))
    moved, reread = traffic.moved_bytes, 0
    for each in operands:
        if each.passes > 1 and moved / each.passes > reach_bytes:
            moved += each.nbytes * (each.passes - 1)
        elif each.nbytes > by_hand.IN_L1:
            reread += each.nbytes * (each.passes - 1)
    kernel_dims |= {
        **by_hand.cut(slots, elements, rows, cols, by_hand.sums(ops)),
        "again": reread / moved,
    }
    return Work("fused", traffic.flops, moved, instructions=slots, dims=kernel_dims)


def fusion_speedups(gpu: GPU, path: Path | None = None) -> Iterator[FusionSpeedup]:
    """Every measured point of the variants that are not matrix products. If a point was measured
    again, its first measurement counts."""
    logs = [path] if path else [MEASUREMENTS / gpu.id / name for name in _LOGS]
    measured = {name: row for log in logs for name, row in read(log).samples.items()}
    for name, variant in VARIANTS.items():
        if variant.matrix:
            continue
        for point in OPERATIONS[variant.fused_operation].points:
            other = Point(variant.unfused_operation, point.params)
            fused_row, unfused = measured.get(point.name, {}), measured.get(other.name, {})
            if not (fused_row.get("kernels") and unfused.get("kernels")):
                continue
            trace = trace_call(other.make)
            chain = hiding(lowered(other, trace, unfused, gpu), variant.zeros(**point.params))
            reach = L2_REACH * (gpu.l2_bytes or 0)
            work = fused(trace, variant.traffic(**point.params), external(trace), reach)
            yield FusionSpeedup(
                name,
                point,
                work,
                l2_share((work.bytes - in_place(trace)) / (gpu.l2_bytes or 1)),
                sum(s for _, s, _ in fused_row["kernels"]),
                chain,
                sum(s for _, s, _ in unfused["kernels"]),
            )


def hiding(chain: Swept, zeros: int) -> Swept:
    """A chain whose softmax produces `zeros` zeros, which a trace does not record."""
    launches = [
        (with_zero_exponentials(work, zeros), hot, cold)
        if work.family == "softmax"
        else (work, hot, cold)
        for work, hot, cold in chain.launches
    ]
    return replace(chain, launches=launches)


class Operand(NamedTuple):
    """An operand that a kernel reads or writes: its storage, and the number of times that the
    kernel passes over it."""

    elements: int
    nbytes: int
    passes: int = 1


def external(trace: Trace) -> list[Operand]:
    """The operands of a call, and its result."""
    operands: dict[int, Operand] = {}
    for op in trace.ops:
        result = op.outputs[0].shape if kind(op.signature) != "none" else ()
        for storage, tensor in zip(op.storages, (*op.inputs, *op.outputs), strict=True):
            each = Operand(tensor.numel, tensor.nbytes, passes(tensor.shape, result))
            operands[storage] = max(operands.get(storage, each), each)
    inputs = [each for s, each in operands.items() if trace.storages[s].born < 0]
    out = trace.ops[-1].outputs[0]
    return [*inputs, Operand(out.numel, out.nbytes)]


def passes(shape: Sequence[int], result: Sequence[int]) -> int:
    """The number of times that a loop over the result passes over a broadcast operand: once for
    each index along the axes outside the operand's own axes."""
    lead = len(result) - len(shape)
    own = next((d for d, size in enumerate(shape) if size > 1), len(shape))
    return prod(result[: lead + own]) if lead >= 0 else 1


def in_place(trace: Trace) -> int:
    """Bytes of the operands that a call also writes: they are moved twice, but occupy L2 once."""
    written = {
        storage: tensor.nbytes
        for op in trace.ops
        if kind(op.signature) != "none"
        for storage, tensor in zip(op.storages[len(op.inputs) :], op.outputs, strict=True)
        if trace.storages[storage].born < 0
    }
    return sum(written.values())


def samples(speedups: Iterable[FusionSpeedup]) -> list[Sample]:
    """The fused kernels for the fit."""
    return [
        Sample(g.work, g.hot, g.seconds, dirty([g.work])) for g in speedups if not g.point.held_out
    ]


def outcomes(speedups: Iterable[FusionSpeedup], gpu: GPU, learned: Profile) -> list[Outcome]:
    """Predicted over measured speed-ups of the held-out points."""
    return [
        Outcome(
            g.point.name, "fused Triton kernels", "gain over the chain", _ratio(g, gpu, learned)
        )
        for g in speedups
        if g.point.held_out
    ]


def _ratio(g: FusionSpeedup, gpu: GPU, learned: Profile) -> float:
    works = [g.work, *(work for work, _, _ in g.chain.launches)]
    hot = np.array([g.hot, *(share for _, share, _ in g.chain.launches)])
    filled = np.array([dirty([g.work]), *[dirty(works[1:])] * len(g.chain.launches)])
    compute, memory, fixed = roofs(works, gpu, learned).parts(hot, filled)
    predicted = np.maximum(compute, memory) + fixed
    return float(predicted[1:].sum() / predicted[0]) / (g.chain_s / g.seconds)
