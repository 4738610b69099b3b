"""The measured kernels of compiled functions, with the kernels of our own fusion rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

from msgspec.structs import replace

from calibration.generated.compiled import Trained
from calibration.measure.instruments.kernels import Kernel
from calibration.measure.log import read
from calibration.record.library_samples import Swept, lowered
from calibration.record.read import MEASUREMENTS
from calibration.record.samples import Sample, dirty, merged
from calibration.sweeps.registry import Call, Point, points
from simulator.costs import Work
from simulator.fusion import fused
from simulator.hardware.gpu import GPU
from simulator.records import Trace
from simulator.tracing import trace_call

_GENERATED = "triton_"
_KINDS = {"poi": "pointwise", "per": "reduction", "red": "reduction"}


@dataclass(frozen=True)
class Matched:
    """A generated kernel: its point, name and work. `warm` and `cold` each hold its seconds and the
    share of its bytes in L2. `own` is the share of L2 that holds lines written by the call."""

    point: Point
    name: str
    work: Work
    warm: tuple[float, float]
    cold: tuple[float, float]
    own: float

    def samples(self) -> Iterator[Sample]:
        yield Sample(self.work, *self.warm, self.own)
        yield Sample(self.work, *self.cold, 1.0)


def calls(gpu: GPU, folder: Path | None = None) -> Iterator[Swept]:
    """Every measured function, with its launches as fused by our rules."""
    logs = sorted((folder or MEASUREMENTS / gpu.id).glob("generated_*.jsonl*"))
    rounds = [read(path).samples for path in logs]
    for point in points("generated"):
        rows = [each[point.name]["kernels"] for each in rounds if point.name in each]
        kernels = averaged([row for row in rows if row])
        if kernels:
            trace = fused(traced(point), gpu).trace
            yield lowered(point, trace, {"kernels": kernels}, gpu)


def averaged(rounds: Sequence[Sequence[Kernel]]) -> list[Kernel]:
    """The geometric mean time of each kernel over the rounds that launched the same kernels as the
    last round. Rounds differ because each was tuned again and chose between tiles of nearly equal
    speed."""
    if not rounds:
        return []
    names = [name for name, _, _ in rounds[-1]]
    same_kernels = [each for each in rounds if [name for name, _, _ in each] == names]
    return [
        (
            name,
            geometric_mean(each[i][1] for each in same_kernels),
            geometric_mean(each[i][2] or each[i][1] for each in same_kernels),
        )
        for i, name in enumerate(names)
    ]


def traced(point: Point) -> Trace:
    """A point's ops, with those of its backward pass marked."""
    trace = trace_call(point.make)
    if not point.operation.startswith("generated_train"):
        return trace

    def forward() -> Call:
        call = point.make()
        assert isinstance(call, Trained)
        return call.forward

    before = len(trace_call(forward).ops)
    after = [replace(op, phase="backward") for op in trace.ops[before:]]
    return replace(trace, ops=[*trace.ops[:before], *after])


def matched(call: Swept) -> list[Matched]:
    """A call's generated kernels with their works, in launch order; empty if the rules give other
    kernels than the compiler."""
    works = [each for each in call.launches if each[0].family == "generated"]
    kernels = [each for each in call.kernels if each[0].startswith(_GENERATED)]
    if [_kind(work) for work, _, _ in works] != [_KINDS.get(name[7:10]) for name, _, _ in kernels]:
        return []
    own = dirty([work for work, _, _ in call.launches])
    return [
        Matched(call.point, name, work, (hot, warm_s), (cold, cold_s), own)
        for (work, hot, cold), (name, warm_s, cold_s) in zip(works, kernels, strict=True)
    ]


def _kind(work: Work) -> str:
    return "pointwise" if work.dims["variant"] == "pointwise" else "reduction"


def samples(sweeps: Iterable[Swept], gpu: GPU) -> list[Sample]:
    """The samples for the fit: all except held-out points and functions for which our rules give
    other kernels than the compiler."""
    every = [each for call in sweeps for each in matched(call)]
    others = otherwise(every, gpu)
    return merged(
        sample
        for each in every
        if not each.point.held_out and each.point.operation not in others
        for sample in each.samples()
    )


def otherwise(every: Iterable[Matched], gpu: GPU) -> set[str]:
    """Functions whose kernels agree in number and kind, but not in their work: functions that with
    our work would exceed DRAM's bandwidth, since the compiler recomputes a value in the backward
    pass, and norms, since the compiler sums the gradients of weights and input together."""
    fastest = gpu.bandwidth_bytes_per_s
    large = 2 * (gpu.l2_bytes or 0)
    faster = {
        each.point.operation
        for each in every
        if each.work.bytes > large and each.work.bytes > fastest * each.cold[1]
    }
    return faster | {"generated_train_layer_norm"}
