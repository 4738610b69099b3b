"""What fusing a chain gains: predicted from the chain alone, against the fused Triton kernel.

A fused kernel is one launch that moves the chain's outer bytes and does all its instructions. Its
curve is fitted to the points that are not held out; nothing in it knows which kernel it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibration.fused import VARIANTS
from calibration.log import read
from calibration.outcome import Outcome
from calibration.recordings import MEASUREMENTS
from calibration.samples import L2_REACH, Sample, dirty
from calibration.sweeps import OPERATIONS, Point
from calibration.swept import Swept, lowered
from simulator.costs import Work
from simulator.hardware import GPU
from simulator.profiles import Profile
from simulator.roofline import roofs
from simulator.tracing import trace_call


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


def fused(chain: Iterable[Work], moved_bytes: int, flops: int) -> Work:
    """A chain as one launch: what it must move, and every instruction of it."""
    works = list(chain)
    reduces = any(w.family not in ("pointwise", "random", "copy", "fill") for w in works)
    rows = max((w.dims.get("rows", 0) for w in works if w.family in ("norm", "softmax")), default=0)
    dims = {"variant": "reduction" if reduces else "pointwise"} | ({"rows": rows} if rows else {})
    return Work(
        "fused", flops, moved_bytes, instructions=sum(w.instructions for w in works), dims=dims
    )


def gains(gpu: GPU, path: Path | None = None) -> Iterator[Gain]:
    """Every measured point of the variants that are no matrix products."""
    measured = read(path or MEASUREMENTS / gpu.id / "samples.jsonl.gz").samples
    reach = (gpu.l2_bytes or 0) * L2_REACH
    for name, variant in VARIANTS.items():
        if variant.matrix:
            continue
        for point in OPERATIONS[variant.fused_operation].points:
            other = Point(variant.unfused_operation, point.params)
            one, many = measured.get(point.name, {}), measured.get(other.name, {})
            if not (one.get("kernels") and many.get("kernels")):
                continue
            chain = lowered(other, trace_call(other.make), many, gpu)
            traffic = variant.traffic(**point.params)
            work = fused([w for w, _, _ in chain.launches], traffic.moved_bytes, traffic.flops)
            yield Gain(
                name, point, work, float(traffic.moved_bytes <= reach),
                sum(s for _, s, _ in one["kernels"]), chain,
                sum(s for _, s, _ in many["kernels"]),
            )  # fmt: skip


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
