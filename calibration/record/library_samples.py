"""The recorded sweep of the libraries' kernels: each point's launches and their seconds."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from calibration.measure.log import Row, read
from calibration.record.read import MEASUREMENTS
from calibration.record.samples import Launched, Sample, alone, dirty, match, merged
from calibration.sweeps import Point, points
from simulator.costs import Work
from simulator.costs.curves import curve
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.records import Trace
from simulator.tracing import trace_call
from simulator.whatif.edits.tensor_float import TensorFloat


@dataclass(frozen=True)
class Swept:
    """One call, lowered and measured.

    `launches` are (work, share of its bytes in L2 warm, and cold), `kernels` (name, seconds warm,
    and cold), all in launch order.
    """

    point: Point
    launches: list[tuple[Work, float, float]]
    kernels: list[tuple[str, float, float]]

    def samples(self) -> Iterator[Sample]:
        """The launches as samples, warm and cold. Cold means after a flush, which leaves L2 full of
        written lines."""
        works = [work for work, _, _ in self.launches]
        own = dirty(works)
        warm = {id(work): share for work, share, _ in self.launches}
        cold = {id(work): share for work, _, share in self.launches}
        for work, seconds in match(works, [(name, s) for name, s, _ in self.kernels]):
            yield Sample(work, warm[id(work)], seconds, own)
        for work, seconds in match(works, [(name, s) for name, _, s in self.kernels]):
            yield Sample(work, cold[id(work)], seconds, 1.0)


FILES = ("samples", "kernels", "factorizations", "varied", "along")
"""Sweeps in a GPU's folder, in the order of measurement."""


def sampled(gpu: GPU, path: Path | None = None) -> dict[str, Row]:
    """The measurements of each point on a GPU, by the point's name, from one file or all files."""
    every = [path] if path else [MEASUREMENTS / gpu.id / f"{name}.jsonl.gz" for name in FILES]
    return {
        name: row for each in every if each.is_file() for name, row in read(each).samples.items()
    }


def swept(
    gpu: GPU, path: Path | None = None, held_out: bool | None = None, only: str = ""
) -> Iterator[Swept]:
    """Every measured point of a library's call, traced again: either the held-out points or the
    others. Here and below, `only` is a regular expression for whole names of operations, or
    of functions of torch; empty allows all."""
    measured = sampled(gpu, path)
    for point in points("library"):
        sample = measured.get(point.name)
        used = held_out in (None, point.held_out) and _matches(point, only)
        if used and sample and sample.get("kernels"):
            yield lowered(point, trace_call(point.make), sample, gpu)


FURTHER = (
    "drawn",
    "further",
    "drawn_second",
    "further_second",
    "experts_calls",
    "grouped",
    "resized",
    "functions_second",
)
"""Further points, drawn as in the sweeps, the blind calls and the functions."""
LAYERS = (
    "network_layers",
    "network_products",
    "first_layers",
    "dilated_layers",
    "dilated_layers_second",
    "users_layers",
    "common_sizes",
    "common_sizes_second",
    "common_layers",
    "recurrent_layers",
    "recurrent_cells",
)
"""Calls with the sizes of networks' layers. They come before further points where a curve has more
samples than its fit uses, since people run these sizes."""


def further(gpu: GPU, only: str = "") -> Iterator[Swept]:
    """Every further point that was measured, traced again."""
    importlib.import_module("calibration.blind")  # the import registers its calls
    for name in FURTHER:
        yield from of_file(name, gpu, only)


def layers(gpu: GPU, only: str = "") -> Iterator[Swept]:
    """Every measured layer of a network, traced again."""
    for name in LAYERS:
        yield from of_file(name, gpu, only)


def of_file(name: str, gpu: GPU, only: str = "") -> Iterator[Swept]:
    """The points of one file in the folder of a GPU, traced again."""
    path = MEASUREMENTS / gpu.id / f"{name}.jsonl.gz"
    for row in read(path).samples.values() if path.is_file() else ():
        point = Point(**row["point"])
        if row.get("kernels") and _matches(point, only):
            try:
                trace = trace_call(point.make)
            except InputError:  # a function that reads values on the host
                continue
            yield lowered(point, trace, row, gpu)


def _matches(point: Point, only: str) -> bool:
    names = point.operation, str(point.params.get("name", ""))
    return not only or any(re.fullmatch(only, name) for name in names)


def lowered(point: Point, trace: Trace, sample: Row, gpu: GPU) -> Swept:
    """A point's launches and its kernels."""
    if point.params.get("dtype") == "tf32":  # `allow_tf32`, which a trace does not show
        trace = TensorFloat("**")(trace)
    kernels = [
        (name, warm, warm if cold is None else cold) for name, warm, cold in sample["kernels"]
    ]
    return Swept(point, launched(trace, gpu), kernels)


def launched(trace: Trace, gpu: GPU) -> list[tuple[Work, float, float]]:
    """The launches of a call, as in `Swept`. In a repeated call, operands that fit together are in
    L2; after a flush, only data written by the call itself."""
    every = Launched(trace, gpu, steady=False)
    costs = [(every.hot(i), every.works(i)) for i in range(len(trace.ops))]
    touched = sum(work.bytes for _, works in costs for work in works)
    share = l2_share(min(_operands(trace), touched) / (gpu.l2_bytes or 1))
    launches: list[tuple[Work, float, float]] = []
    for cold, works in costs:
        warm = round(cold + (1 - cold) * share, 2)
        launches += [
            (replace(alone(work)), warm, cold) for work in works
        ]  # each op is a separate record
    return launches


def _operands(trace: Trace) -> int:
    """Bytes of the distinct tensors of a call; tensors written in place count once."""
    size: dict[int, int] = {}
    for op in trace.ops:
        for storage, tensor in zip(op.storages, (*op.inputs, *op.outputs), strict=True):
            size[storage] = max(size.get(storage, 0), tensor.nbytes)
    return sum(size.values())


def l2_share(share: float) -> float:
    """The share of a call's data that L2 still holds when the call is repeated, given its size
    relative to L2: 1 up to 0.8, and 0 from 1.3 on, as measured on an H200."""
    return min(1.0, max(0.0, (1.3 - share) / 0.5))


AWKWARD = (
    "few_images",
    "stem",
    "stem_backward",
    "uneven_convolution",
    "uneven_convolution_backward",
    "varied_convolution",
    "varied_convolution_backward",
    "varied_sequence",
    "blind_convolution",
    "blind_convolution_backward",
    "blind_convolution_1d",
)
"""Convolutions for which cuDNN runs kernels other than the lowered ones in a third of the cases.
The fit uses those that run as lowered, and only their curves in `AWKWARD_CURVES`: with all curves
in the fit, the convolutions of ResNets in float32 were predicted 5% slower. The error of each
listed curve on held-out calls of every kind is smaller with them."""
AWKWARD_CURVES = (
    "conv_fwd_uneven",
    "conv_dgrad_uneven",
    "conv_wgrad_uneven",
    "conv_fwd_wide",
    "conv_dgrad_first",
    "conv_wgrad_first",
    "conv_depthwise_grouped_fwd",
    "conv_depthwise_grouped_dgrad",
    "conv_depthwise_grouped_wgrad",
)
ANY_ALGORITHM = (
    "conv_fwd_first",
    "conv_native_fwd",
    "conv_native_dgrad",
    "conv_depthwise_single_fwd",
    "conv_fwd_dilated",
    "conv_dgrad_dilated",
    "conv_wgrad_dilated",
)
"""Curves whose fit uses every call, whichever algorithm ran: no rule for cuDNN's choice is known,
so the predicted time lies in the middle of those of the algorithms. With only the calls that run as
lowered, first layers in TF32 were predicted 23% too fast on an H100, whose calls are in no fit."""
_ON_LANES = re.compile(
    "ffma|simt|sgemm|convolve_|grouped_direct|dgrad_engine|wgrad_alg|fft|winograd"
)
"""Names of kernels that convolve on vector lanes."""


def samples(sweeps: Iterable[Swept]) -> list[Sample]:
    """The samples for the fit: all except held-out points, parts of `AWKWARD` ones, and layers of
    networks that other kernels ran. `ANY_ALGORITHM` curves use all but held-out points."""
    return merged(
        s
        for each in sweeps
        if not each.point.held_out
        for s in matched(each)
        if curve(s.work) in ANY_ALGORITHM or _is_lowered_layer(each)
    )


def _is_lowered_layer(each: Swept) -> bool:
    """False for a network's layer whose kernels differ from the lowered ones in number, or in
    whether they run on vector lanes."""
    if not each.point.operation.startswith("layer_"):
        return True
    kernel_names = [name for name, _, _ in each.kernels if "elementwise" not in name]
    works = [work for work, _, _ in each.launches if work.family != "pointwise"]
    return len(kernel_names) == len(works) and _runs_as_lowered(each)


def matched(each: Swept) -> Iterator[Sample]:
    """A call's samples, without `AWKWARD` convolutions that other kernels ran, unless their curve
    is in `ANY_ALGORITHM`."""
    if each.point.operation not in AWKWARD:
        yield from each.samples()
        return
    used = (*ANY_ALGORITHM, *AWKWARD_CURVES) if _runs_as_lowered(each) else ANY_ALGORITHM
    yield from (s for s in each.samples() if curve(s.work) in used)


def _runs_as_lowered(each: Swept) -> bool:
    """Whether measured and lowered kernels agree on whether any of them runs on vector lanes."""
    lanes = [work.engine == "vector" for work, _, _ in each.launches if work.family == "conv"]
    return any(lanes) == any(_ON_LANES.search(name) for name, _, _ in each.kernels)
