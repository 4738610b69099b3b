"""The speed of this host, from a few seconds of fixed work next to every measurement.

Hosts of one kind differ far more than GPUs of one kind, so each measuring process records the time
of its host for the same steps. On the GPU they are host-bound micro-networks; on the CPU the same
networks over tensors of 256 numbers, where Python and the dispatcher take nearly all of the time
and nothing is launched. The steps on the CPU need no GPU, so they compare any host with that of a
measured GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any, Literal

import torch

from calibration.cases.case import Case, Step
from calibration.measure.instruments.timing import period
from simulator.errors import InputError
from simulator.hardware.host_speed import ON_CPU_MARK

ON_GPU = ("views", "adds", "scales", "linears", "norms", "identities", "pythoncalls")
ON_CPU = (
    "views", "transposes", "adds", "addsinplace", "scales", "products", "linears", "norms",
    "softmaxes", "sums", "identities", "pythoncalls",
)  # fmt: skip
REFERENCE = Case("linears", "fp32", "inference", 4)
"""The CPU case that is timed between other measurements, to give the current speed of the host."""
CASE_S = 0.25
"""Seconds per case; 19 cases take about 5 s."""


def _cases(device: Literal["cuda", "cpu"]) -> dict[str, Case]:
    """Cases by the name under which they are stored: GPU cases as in the recordings, CPU cases with
    a prefix."""
    names = ON_GPU if device == "cuda" else ON_CPU
    cases = [Case(name, "fp32", "inference", 4) for name in names]
    return {case.name + ("" if device == "cuda" else ON_CPU_MARK): case for case in cases}


def suite(gpu: bool, timed: Callable[..., Any] = period) -> dict[str, float]:
    """Seconds per step by case: on CPU tensors, and with `gpu` also on CUDA tensors."""
    devices: tuple[Literal["cuda", "cpu"], ...] = ("cuda", "cpu") if gpu else ("cpu",)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # waking other threads takes longer than computing on 256 numbers
    try:
        return {name: s for device in devices for name, s in _timed(device, timed)}
    finally:
        torch.set_num_threads(threads)


def _timed(
    device: Literal["cuda", "cpu"], timed: Callable[..., Any]
) -> Iterator[tuple[str, float]]:
    for name, case in _cases(device).items():
        step = Step(case, device)
        for _ in range(3):
            step()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds = timed(step, CASE_S, device=device).median_s
        yield name, float(f"{seconds:.5g}")


def index(measured: Mapping[str, float], reference: Mapping[str, float]) -> float:
    """The time of this host relative to the reference: the median ratio over the cases of both, or
    over those on a GPU if there are any. Raises InputError if no case is in both."""
    shared = [name for name in reference if name in measured]
    shared = [name for name in shared if not name.endswith(ON_CPU_MARK)] or shared
    if not shared:
        raise InputError(
            f"no host case in common: found {', '.join(measured) or 'none'}, expected some of "
            f"{', '.join(reference) or 'none'}; measure both hosts with this version"
        )
    return median(measured[name] / reference[name] for name in shared)
