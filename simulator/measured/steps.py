"""Whole steps timed on a real GPU, to compare with their predictions.

`measured/<gpu>.json` is written by `python -m calibration.record.measured_steps` from the
recordings.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.host import host as find_host
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import Rates, TraceRequest
from simulator.scenario.scenario import Scenario

FOLDER = Path(__file__).parent


class MeasuredStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One measured step; times are medians in seconds.

    fitted      whether the fit of the GPU's profile used the step
    host_times  time of the host that drove the step, relative to the catalogue's host
    """

    network: str
    dtype: str
    training: bool
    optimizer: str | None
    mode: str
    batch: int
    seq: int | None
    sizes: dict[str, Any]
    period_s: float
    gpu_busy_s: float | None
    fitted: bool
    host_times: float


@lru_cache
def steps(gpu: str) -> tuple[MeasuredStep, ...]:
    """Every step timed on the GPU of this id, or an empty tuple."""
    path = FOLDER / f"{gpu}.json"
    if not path.is_file():
        return ()
    return tuple(msgspec.json.decode(path.read_bytes(), type=list[MeasuredStep]))


def alike(scenario: Scenario) -> tuple[MeasuredStep, ...]:
    """The steps that differ from a scenario only in batch and sequence. Empty for a scenario with
    other kernels, changed GPU figures or another host, since no such step was timed."""
    resolved = resolve(scenario)
    request = resolved.request
    plain = TraceRequest(
        request.network,
        request.batch,
        request.seq,
        request.dtype,
        request.training,
        request.optimizer,
        request.sizes,
        request.data_sizes,
    )
    changed = resolved.edits or resolved.speeds or resolved.fusion or resolved.rates != Rates()
    if request != plain or changed or resolved.gap_times != 1.0 or resolved.host != find_host():
        return ()
    known = steps(resolved.gpu.id)
    if not known or resolved.gpu != find_gpu(resolved.gpu.id):
        return ()
    return tuple(
        step
        for step in known
        if (step.network, step.dtype, step.training, step.mode)
        == (request.network, request.dtype, request.training, resolved.mode)
        and (not step.training or step.optimizer == request.optimizer)
        and step.sizes == dict(request.sizes)
    )
