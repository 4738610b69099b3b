"""The times of a case: the first pass over a suite, before the profiler has run in the process."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import torch

from calibration.cases.case import Case, Step
from calibration.measure.instruments.cuda_graph import captured
from calibration.measure.instruments.device import Watch
from calibration.measure.instruments.host_index import REFERENCE
from calibration.measure.instruments.host_probes import Probes
from calibration.measure.instruments.timing import latency, period

ROUNDS = 15
"""Rounds of a compiled step and its eager version; the median removes the influence of a busy
second."""
_FEWEST_ROUNDS = 5


def times(case: Case, watch: Watch, whole: bool, budget: float = 1.0) -> dict[str, Any]:
    """Run one case and return its memory and times as plain data, with fixed host work timed before
    and after; with `whole`, which is stored as `ops`, also those of its graph. Each figure takes
    `budget` times the usual seconds."""
    step = Step(case, "cuda")
    for _ in range(3):  # these runs create optimizer state and workspaces, tune, and compile
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before_bytes = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    peak_bytes = torch.cuda.max_memory_allocated()
    probes = Probes("cuda")
    before = probes.seconds()
    row: dict[str, Any] = {
        "case": case.record(),
        "before_bytes": before_bytes,
        "peak_bytes": peak_bytes,
        "period": asdict(period(step, budget if whole else 0.4 * budget)),
        **watch.reading(),
        "latency": asdict(latency(step, (0.5 if whole else 0.2) * budget)),
        "probes": [before, probes.seconds()],
    }
    if whole:
        row["ops"] = []
        if case.phase == "inference" and not _waits(step):
            row["graph"] = _graph(step, budget)
    elif case.mode != "eager":
        row |= _beside_eager(case, step, budget)
    return row


def _waits(step: Step) -> bool:
    """Whether the host waits for the GPU within a step that ran before, as for `nonzero`, `item` or
    a copy from the CPU. Such a step is not captured, since a failed capture breaks the process's
    generator."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        step()
    except RuntimeError as error:
        if "synchronizing" not in str(error):
            raise
        return True
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return False


def _graph(step: Step, budget: float) -> dict[str, Any]:
    """Capture an inference step as a CUDA graph: its times, or the reason for the failure."""
    try:
        graph = captured(step)
        return {
            "period": asdict(period(graph.replay, 0.4 * budget)),
            "latency": asdict(latency(graph.replay, 0.2 * budget)),
        }
    except RuntimeError as error:
        torch.cuda.synchronize()
        return {"failed": str(error).splitlines()[0]}


def _beside_eager(case: Case, compiled: Step, budget: float) -> dict[str, Any]:
    """Time the step as eager PyTorch runs it, and rounds in which both alternate, each with the
    time of fixed host work just before, since other processes on the CPU slow it for seconds."""
    step = Step(replace(case, mode="eager"), "cuda")
    for _ in range(3):
        step()
    timing = {
        "period": asdict(period(step, 0.4 * budget)),
        "latency": asdict(latency(step, 0.2 * budget)),
    }
    work = Step(REFERENCE, "cpu")
    rounds = [
        [
            period(work, 0.01, 1, "cpu").median_s,
            period(compiled, 0.12, 1).median_s,
            period(step, 0.12, 1).median_s,
        ]
        for _ in range(max(_FEWEST_ROUNDS, round(budget * ROUNDS)))
    ]
    return {"eager": timing, "rounds": rounds}
