"""Samples for fits: measured launches, each with its work and the location of its operands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from calibration.record.convolution_kernels import lowered_algorithms, runs_as_lowered
from calibration.record.convolution_samples import cases
from calibration.record.read import Recording
from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering import launches, lower
from simulator.records import Trace
from simulator.schedule.l2_reuse import accesses

Pair = tuple[Recording, Trace]

_MAIN = {"gemm", "gemv", "conv", "attention", "factorization"}
_BESIDE = re.compile(r"splitKreduce|lementWise|lemWise|at::native(?!.*conv_depthwise)")
"""Kernels that a library launches in addition to those of its algorithm."""

L2_REACH = 0.6
"""Share of L2 that still holds data written earlier: among values from 0.3 to 1.0, the one with the
best fit."""


@dataclass(frozen=True)
class Sample:
    """One measured launch: its work, the share of its bytes in L2, its seconds, and the share of L2
    full of lines that other kernels had written."""

    work: Work
    hot: float
    seconds: float
    dirty: float = 0.0


def merged(parts: Iterable[Sample]) -> list[Sample]:
    """Merge samples of the same work with equal states of L2 into their median."""
    seconds: dict[tuple[bytes, float, float], list[float]] = {}
    works: dict[bytes, Work] = {}
    for sample in parts:
        text = msgspec.json.encode(sample.work)
        works[text] = sample.work
        # a launch whose data is in L2 evicts nothing
        dirty = sample.dirty if sample.hot < 1 else 0.0
        seconds.setdefault((text, sample.hot, dirty), []).append(sample.seconds)
    return [
        Sample(works[text], hot, float(np.median(seconds[text, hot, dirty])), dirty)
        for text, hot, dirty in sorted(seconds)
    ]


def alone(work: Work) -> Work:
    """The same work as if no other kernel ran at the same time. The time of a recorded kernel is
    that of this kernel alone, even if kernels of other groups of a convolution ran at the same
    time."""
    beside = ("separate_groups", "group_blocks")
    dims = {name: value for name, value in work.dims.items() if name not in beside}
    return work if len(dims) == len(work.dims) else msgspec.structs.replace(work, dims=dims)


def dirty(works: Iterable[Work]) -> float:
    """The share of L2 full of written lines if these works run repeatedly, in tenths."""
    every = list(works)
    written, moved = sum(w.write_bytes for w in every), sum(w.bytes for w in every)
    return round(min(1.0, 2 * written / max(moved, 1)), 1)


def recorded(pairs: Iterable[Pair], gpu: GPU) -> list[Sample]:
    """The launches of recorded networks."""
    samples: list[Sample] = []
    for recording, trace in pairs:
        launched = Launched(trace, gpu, steady=True)
        for index, op in enumerate(recording.ops):
            share = launched.hot(index)
            matched = match(launched.works(index), op.kernels)
            samples += [Sample(w, share, s, launched.dirty) for w, s in matched]
    return merged(samples)


class Launched:
    """A trace lowered for a GPU: the works of each op and the location of its operands. Unless the
    step is one of a `steady` state, its inputs are in DRAM."""

    def __init__(self, trace: Trace, gpu: GPU, steady: bool) -> None:
        lowered = lower(trace, gpu)
        launching = np.zeros(len(trace.ops), np.bool_)
        launching[lowered.op_of] = True
        reach = (gpu.l2_bytes or 0) * L2_REACH
        self._hot = accesses(trace, launching, steady).hot_share(reach)
        works: list[int] = lowered.work_of.tolist()
        self.dirty = dirty(lowered.works[work] for work in works)
        self._works: dict[int, list[Work]] = {}
        each_alone = [alone(work) for work in lowered.works]
        for work, op in zip(works, lowered.op_of.tolist(), strict=True):
            self._works.setdefault(op, []).append(each_alone[work])

    def works(self, op: int) -> list[Work]:
        """The launches of the op at this index."""
        return self._works.get(op, [])

    def hot(self, op: int) -> float:
        """The share of its bytes that L2 serves, in hundredths."""
        return round(float(self._hot[op]), 2)


_NAMES = {
    "layout": ("nchwToNhwc", "nchwToFoldedNhwc"),
    "layout back": ("nhwcToNchw", "foldedNhwcToNchw"),
    "padding": ("AddPadding", "SliceC", "tensorTransform", "convertTensor", "FoldedNhwc"),
    "fill": ("Memset", "FillFunctor", "init_device_workspace", "scalePackedTensor",
             "precompute_indices"),
    "sum": ("splitKreduce", "reduction::", "reduce_wgrad", "_nhwc_reduce"),
    "cell": ("elemWiseRNNcell", "elementWise_bp1"),
    "bias": ("elementWise_bp2",),
    "rnn": ("RNN_blockPersist", "ampere_lstm"),
}  # fmt: skip
"""Patterns of the names of auxiliary kernels around a convolution or a recurrence, by role."""


_Roles = dict[str, tuple[list[Work], list[tuple[str, float]]]]


def match(works: Sequence[Work], kernels: Sequence[tuple[str, float]]) -> list[tuple[Work, float]]:
    """Match each work with the seconds of its kernel.

    A library may launch its conversions and fills in a different order from the lowered one: they
    are matched by name, and among equal names by instructions, since more instructions take longer.
    Around a convolution or a recurrence each role is matched if it has as many kernels as works. A
    convolution that did not run the lowered algorithm is left out. A single convolution with more
    auxiliary kernels than were lowered is left out too, unless any algorithm may run it; then these
    kernels are part of it. ATen's own kernels are matched in order. Otherwise each work except the
    only one of a library's algorithm is matched with one of the shortest kernels, and that one gets
    the remaining seconds. Without such a work, nothing is matched.
    """
    by_role = _by_role(works, kernels)
    if all(len(group) == len(timed) for group, timed in by_role.values()):
        return [pair for role in by_role.items() for pair in _paired(*role)]
    if any(work.family in ("conv", "rnn") or _role(work) == "cell" for work in works):
        return _role_by_role(by_role)
    if len(works) == len(kernels) and not any(work.family in _MAIN for work in works):
        return [(work, seconds) for work, (_, seconds) in zip(works, kernels, strict=True)]
    return _main_only(works, [seconds for _, seconds in kernels])


def _by_role(works: Sequence[Work], kernels: Sequence[tuple[str, float]]) -> _Roles:
    roles: _Roles = {}
    for work in works:
        roles.setdefault(_role(work), ([], []))[0].append(work)
    for name, seconds in kernels:
        roles.setdefault(_kind(name), ([], []))[1].append((name, seconds))
    return roles


def _paired(
    role: str, pair: tuple[list[Work], list[tuple[str, float]]]
) -> list[tuple[Work, float]]:
    works, timed = pair
    if role in ("layout", "layout back", "padding", "fill", "sum"):
        works = sorted(works, key=lambda work: (work.instructions, work.bytes))
        timed = sorted(timed, key=lambda kernel: kernel[1])
    return [
        (work, seconds)
        for work, (name, seconds) in zip(works, timed, strict=True)
        if not (work.family in _MAIN and _BESIDE.search(name)) and runs_as_lowered(work, name)
    ]


def _role_by_role(by_role: _Roles) -> list[tuple[Work, float]]:
    pairs: list[tuple[Work, float]] = []
    beyond = 0.0
    for role, (works, timed) in by_role.items():
        if len(works) == len(timed):
            pairs += _paired(role, (works, timed))
        elif role != "other" and len(timed) > len(works):
            beyond += sum(sorted(seconds for _, seconds in timed)[: len(timed) - len(works)])
    convs = [i for i, (work, _) in enumerate(pairs) if work.family == "conv"]
    if len(convs) == 1 and beyond:
        work, seconds = pairs.pop(convs[0])
        if not lowered_algorithms(work):
            pairs.append((work, seconds + beyond))
    return pairs


def _main_only(works: Sequence[Work], seconds: Sequence[float]) -> list[tuple[Work, float]]:
    main = [work for work in works if work.family in _MAIN]
    if len(main) != 1 or not seconds:
        return []
    rest = min(len(works), len(seconds)) - 1
    return [(main[0], sum(sorted(seconds, reverse=True)[: len(seconds) - rest]))]


def _kind(kernel: str) -> str:
    named = (role for role, parts in _NAMES.items() if any(part in kernel for part in parts))
    return next(named, "other")


def _role(work: Work) -> str:
    d = work.dims
    if work.family == "layout":
        return "layout back" if d["back"] else "layout"
    if work.family in ("fill", "padding", "rnn"):
        return work.family
    if d.get("variant") == "cell":
        return "cell"
    if work.family == "reduction" and d.get("variant") == "recurrent":
        return "bias"
    # the parts of a convolution, or of a product
    parts = d.get("variant") == "parts" or "outer" in d
    return "sum" if work.family == "reduction" and parts else "other"


def convolutions(gpu: GPU) -> list[Sample]:
    """Samples of the main kernels of the recorded convolutions. Operands small enough to stay in L2
    count as held there, since each case had already run."""
    reach = (gpu.l2_bytes or 0) * L2_REACH
    samples: list[Sample] = []
    for signature, kernels in cases():
        samples += [
            Sample(work, float(work.bytes < reach), each, dirty([work]))
            for work, each in match(launches(signature, gpu) or (), kernels)
            if work.family == "conv"
        ]
    return samples
