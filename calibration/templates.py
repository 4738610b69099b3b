"""Products with loops in the epilogue of one Triton kernel, as the variants' GELU was measured:
what the curve of max-autotune's templates is fitted to.

The kernel is the calibration's own: five tiles, no bulk loads. What autotuning finds is
faster, by how much no sample says.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from calibration.fused import VARIANTS
from calibration.log import read
from calibration.recordings import MEASUREMENTS
from calibration.samples import Sample, dirty
from calibration.sweeps import OPERATIONS, Point
from calibration.swept import kept
from simulator.costs import Work, works
from simulator.fusion.arithmetic import arithmetic
from simulator.hardware import GPU
from simulator.tracing import trace_call

VARIANT = "gemm_gelu"


def samples(gpu: GPU, path: Path | None = None) -> Iterator[Sample]:
    """The fused kernel warm and, after a flush, cold, at each point that is not held out."""
    measured = read(path or MEASUREMENTS / gpu.id / "samples.jsonl.gz").samples
    variant = VARIANTS[VARIANT]
    for point in OPERATIONS[variant.fused_operation].points:
        seen = measured.get(point.name, {}).get("kernels")
        if not seen or point.held_out:
            continue
        work = _template(Point(variant.unfused_operation, point.params))
        _, warm_s, cold_s = seen[0]
        warm = kept(work.bytes / (gpu.l2_bytes or 1))
        yield Sample(work, round(warm, 2), warm_s, dirty([work]))
        if cold_s is not None:
            yield Sample(work, 0.0, cold_s, 1.0)


def _template(chain: Point) -> Work:
    """The product with the instructions of the loop behind it, which writes what that wrote."""
    product, loop = (op.signature for op in trace_call(chain.make).ops if works(op.signature))
    work = list(works(product) or ())[-1]
    flops, instructions = arithmetic(loop)
    return replace(
        work, flops=work.flops + flops, instructions=work.instructions + instructions,
        dims=work.dims | {"template": True},
    )  # fmt: skip
