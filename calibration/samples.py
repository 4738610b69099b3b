"""What is fitted: launches as measured, each with its work and where its operands lay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from calibration.convolution_sweep import cases
from calibration.recordings import Recording
from simulator.costs import Work
from simulator.hardware import GPU
from simulator.lowering import launches, lower
from simulator.records import Trace
from simulator.residency import accesses

Pair = tuple[Recording, Trace]

_MAIN = {"gemm", "gemv", "conv", "attention"}
_BESIDE = re.compile(r"splitKreduce|lementWise|lemWise|at::native")
"""Kernels that a library launches beside its algorithm's own."""

L2_REACH = 0.6
"""Share of L2 within which data written before is still found; of 0.3 to 1.0 it fits best."""


@dataclass(frozen=True)
class Sample:
    """One launch as measured: its work, the share of its bytes in L2, and its seconds."""

    work: Work
    hot: float
    seconds: float


def merged(found: Iterable[Sample]) -> list[Sample]:
    """The same work at the same residency is one sample, its median."""
    seconds: dict[tuple[bytes, float], list[float]] = {}
    works: dict[bytes, Work] = {}
    for sample in found:
        text = msgspec.json.encode(sample.work)
        works[text] = sample.work
        seconds.setdefault((text, sample.hot), []).append(sample.seconds)
    return [
        Sample(works[text], hot, float(np.median(seconds[text, hot])))
        for text, hot in sorted(seconds)
    ]


def recorded(pairs: Iterable[Pair], gpu: GPU) -> list[Sample]:
    """The launches of recorded networks."""
    found: list[Sample] = []
    for recording, trace in pairs:
        launched = Launched(trace, gpu)
        for index, op in enumerate(recording.ops):
            share = launched.hot(index)
            found += [Sample(w, share, s) for w, s in match(launched.works(index), op.kernels)]
    return merged(found)


class Launched:
    """A trace as a GPU is asked to run it: the works of each op and where its operands lie."""

    def __init__(self, trace: Trace, gpu: GPU) -> None:
        lowered = lower(trace, gpu)
        launching = np.zeros(len(trace.ops), np.bool_)
        launching[lowered.op_of] = True
        self._hot = accesses(trace, launching).hot_share((gpu.l2_bytes or 0) * L2_REACH)
        self._works: dict[int, list[Work]] = {}
        for work, op in zip(lowered.work_of.tolist(), lowered.op_of.tolist(), strict=True):
            self._works.setdefault(op, []).append(lowered.works[work])

    def works(self, op: int) -> list[Work]:
        """The launches of the op at this place."""
        return self._works.get(op, [])

    def hot(self, op: int) -> float:
        """The share of its bytes that L2 serves, in hundredths."""
        return round(float(self._hot[op]), 2)


def match(works: Sequence[Work], kernels: Sequence[tuple[str, float]]) -> list[tuple[Work, float]]:
    """Each work with the seconds of its kernel.

    A library may order its conversions and fills otherwise than they are lowered: they are told
    by name, and among alike the one that moves more takes longer. Where the kernels are not as
    many as the works, the one work of the library's own algorithm has all the seconds but those of
    the shortest kernels, one for each other work; without such a work nothing is matched.
    """
    if len(works) != len(kernels):
        return _main_only(works, [seconds for _, seconds in kernels])
    by_kind: dict[str, tuple[list[Work], list[tuple[str, float]]]] = {}
    for work in works:
        by_kind.setdefault(_role(work), ([], []))[0].append(work)
    for kernel in kernels:
        by_kind.setdefault(_kind(kernel[0]), ([], []))[1].append(kernel)
    if any(len(some) != len(timed) for some, timed in by_kind.values()):
        return _main_only(works, [seconds for _, seconds in kernels])
    found: list[tuple[Work, float]] = []
    for kind, (some, timed) in by_kind.items():
        if kind != "other":
            some = sorted(some, key=lambda work: work.bytes)
            timed = sorted(timed, key=lambda kernel: kernel[1])
        for work, (name, seconds) in zip(some, timed, strict=True):
            if not (work.family in _MAIN and _BESIDE.search(name)):
                found.append((work, seconds))
    return found


def _main_only(works: Sequence[Work], seconds: Sequence[float]) -> list[tuple[Work, float]]:
    main = [work for work in works if work.family in _MAIN]
    if len(main) != 1 or not seconds:
        return []
    rest = min(len(works), len(seconds)) - 1
    return [(main[0], sum(sorted(seconds, reverse=True)[: len(seconds) - rest]))]


def _kind(kernel: str) -> str:
    if "nchwToNhwc" in kernel:
        return "layout"
    if "nhwcToNchw" in kernel:
        return "layout back"
    return "fill" if "Memset" in kernel or "FillFunctor" in kernel else "other"


def _role(work: Work) -> str:
    if work.family == "layout":
        return "layout back" if work.dims["back"] else "layout"
    return "fill" if work.family == "fill" else "other"


def convolutions(gpu: GPU) -> list[Sample]:
    """Convolutions of the sweep, their main kernels alone. Operands that fit were in L2, since
    each case had run before."""
    reach = (gpu.l2_bytes or 0) * L2_REACH
    found: list[Sample] = []
    for signature, kernels in cases():
        found += [
            Sample(work, float(work.bytes < reach), each)
            for work, each in match(launches(signature, gpu) or (), kernels)
            if work.family == "conv"
        ]
    return found
