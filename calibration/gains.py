"""What fusing a chain gains: predicted from the chain alone, against the fused Triton kernel.

A fused kernel is one launch that moves the chain's outer bytes and does all its instructions. Its
curve is fitted to the points that are not held out; nothing in it knows which kernel it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.fused import VARIANTS, Traffic
from calibration.log import read
from calibration.outcome import Outcome
from calibration.recordings import MEASUREMENTS
from calibration.samples import L2_REACH, Sample, dirty
from calibration.sweeps import OPERATIONS, Point
from calibration.swept import Swept, kept, lowered
from simulator.costs import Work, works
from simulator.costs.softmaxes import divided
from simulator.fusion.arithmetic import arithmetic
from simulator.fusion.kinds import kind
from simulator.fusion.work import dims
from simulator.hardware import GPU
from simulator.profiles import Profile
from simulator.records import Trace
from simulator.roofline import roofs
from simulator.tracing import trace_call

_IN_REGISTERS = 16384
"""Elements of a row that the variants keep in registers; their softmaxes all do."""


@dataclass(frozen=True)
class Gain:
    """A fused kernel, as one work, and the chain that it replaces."""

    variant: str
    point: Point
    work: Work
    hot: float
    seconds: float
    chain: Swept
    chain_s: float


def fused(chain: Trace, traffic: Traffic, operands: Sequence[int], reach_bytes: float) -> Work:
    """A chain as one launch: what it must move, and every instruction of it. `operands` are bytes
    of what it reads and writes, those of one number an element too. L2 finds what was used up to
    `reach_bytes` before: a smaller operand than the result, which is the last, comes from DRAM each
    time that it is read again where more lies between."""
    ops = [op.signature for op in chain.ops if kind(op.signature) != "none"]
    slots = sum(arithmetic(op, _IN_REGISTERS)[1] for op in ops)
    sums = [op for op in ops if kind(op) == "reduction"]
    every = [work for op in sums for work in works(op) or ()]
    rows = max((work.dims.get("rows", 0) for work in every), default=0)
    elements = max(tensor.numel for op in ops for tensor in (*op.inputs, *op.outputs))
    slots += len(operands) * elements
    how = "reduction" if sums else "pointwise"
    cols = elements // rows if rows else 0
    found = dims(how, slots, rows, cols, elements, len(operands))
    moved = traffic.moved_bytes
    for size in operands:
        times = operands[-1] // max(size, 1)
        if times > 1 and moved / times > reach_bytes:
            moved += size * (times - 1)
    return Work("fused", traffic.flops, moved, instructions=slots, dims=found)


def gains(gpu: GPU, path: Path | None = None) -> Iterator[Gain]:
    """Every measured point of the variants that are no matrix products."""
    measured = read(path or MEASUREMENTS / gpu.id / "samples.jsonl.gz").samples
    for name, variant in VARIANTS.items():
        if variant.matrix:
            continue
        for point in OPERATIONS[variant.fused_operation].points:
            other = Point(variant.unfused_operation, point.params)
            one, many = measured.get(point.name, {}), measured.get(other.name, {})
            if not (one.get("kernels") and many.get("kernels")):
                continue
            trace = trace_call(other.make)
            chain = hiding(lowered(other, trace, many, gpu), variant.zeros(**point.params))
            reach = L2_REACH * (gpu.l2_bytes or 0)
            work = fused(trace, variant.traffic(**point.params), external(trace), reach)
            yield Gain(
                name, point, work, kept(work.bytes / (gpu.l2_bytes or 1)),
                sum(s for _, s, _ in one["kernels"]), chain,
                sum(s for _, s, _ in many["kernels"]),
            )  # fmt: skip


def hiding(chain: Swept, zeros: int) -> Swept:
    """A chain whose softmax makes so many zeros, which no trace shows."""
    launches = [
        (divided(work, zeros), hot, cold) if work.family == "softmax" else (work, hot, cold)
        for work, hot, cold in chain.launches
    ]
    return replace(chain, launches=launches)


def external(trace: Trace) -> list[int]:
    """Bytes of what a call was given, and of its result."""
    sizes: dict[int, int] = {}
    for op in trace.ops:
        for storage, tensor in zip(op.storages, (*op.inputs, *op.outputs), strict=True):
            sizes[storage] = max(sizes.get(storage, 0), tensor.nbytes)
    given = [size for s, size in sizes.items() if trace.storages[s].born < 0]
    return [*given, trace.ops[-1].outputs[0].nbytes]


def samples(found: Iterable[Gain]) -> list[Sample]:
    """The fused kernels that the fit may see."""
    return [
        Sample(g.work, g.hot, g.seconds, dirty([g.work])) for g in found if not g.point.held_out
    ]


def outcomes(found: Iterable[Gain], gpu: GPU, learned: Profile) -> list[Outcome]:
    """Predicted over measured gain of the points that are held out."""
    return [
        Outcome(
            g.point.name, "fused Triton kernels", "gain over the chain", _ratio(g, gpu, learned)
        )
        for g in found
        if g.point.held_out
    ]


def _ratio(g: Gain, gpu: GPU, learned: Profile) -> float:
    works = [g.work, *(work for work, _, _ in g.chain.launches)]
    hot = np.array([g.hot, *(share for _, share, _ in g.chain.launches)])
    filled = np.array([dirty([g.work]), *[dirty(works[1:])] * len(g.chain.launches)])
    compute, held, fixed = roofs(works, gpu, learned).parts(hot, filled)
    predicted = np.maximum(compute, held) + fixed
    return float(predicted[1:].sum() / predicted[0]) / (g.chain_s / g.seconds)
