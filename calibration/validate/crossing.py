"""Predictions for one calibrated GPU with the profile of another, and with its own.

The other GPU's profile holds no measurement of this GPU: it predicts as Ridgepoint does for any
unmeasured GPU of the same architecture.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence

import msgspec

from calibration.outcome import Outcome
from calibration.record.library_samples import Swept
from calibration.record.read import MEASUREMENTS, Recording
from calibration.validate import single_ops
from simulator.hardware.gpu import GPU
from simulator.hardware.host import host as find_host
from simulator.records import Trace
from simulator.simulate.step import simulate
from simulator.timing.profile import Profile

NAMES = {"h100_sxm": "H100", "h200_sxm": "H200"}
"""The measured GPUs, with their names in the table."""


def group(gpu: GPU, known: Profile) -> str:
    """A row's name, such as `H100 with the H200's profile`."""
    here, there = NAMES[gpu.id], NAMES[known.of]
    return f"{here} with {'its own' if here == there else f'the {there}’s'} profile"


def alone(gpu: GPU) -> Profile:
    """The profile that was fitted to this GPU's measurements alone, by `calibration.fit.card`."""
    text = gzip.decompress((MEASUREMENTS / gpu.id / "alone.json.gz").read_bytes())
    return msgspec.json.decode(text, type=Profile)


def networks(
    recordings: Iterable[tuple[Recording, Trace]], gpu: GPU, known: Profile
) -> list[Outcome]:
    """GPU-busy time of recorded steps, and the period of captured graphs, which do not depend on
    the host."""
    rows: list[Outcome] = []
    for recording, traced in recordings:
        name = f"{group(gpu, known)}, {recording.case['phase']}"
        busy_s = simulate(traced, gpu, find_host(), known, "eager").gpu_busy_s
        rows.append(Outcome(recording.name, name, "GPU busy", busy_s / recording.gpu_busy_s))
        if recording.graph and "period" in recording.graph:
            name = f"{group(gpu, known)}, CUDA graph"
            p = simulate(traced, gpu, find_host(), known, "cuda_graph")
            measured_s = recording.graph["period"]["median_s"]
            low, high = p.interval_s
            covered = low <= measured_s <= high
            ratio = p.period_s / measured_s
            rows.append(
                Outcome(recording.name, name, "period", ratio, covered, measured_s=measured_s)
            )
    return rows


def calls(sweeps: Sequence[Swept], gpu: GPU, known: Profile) -> list[Outcome]:
    """GPU seconds of held-out single calls, with operands in L2 and not."""
    return [
        _named(o, f"{group(gpu, known)}, {o.group}")
        for o in single_ops.outcomes(sweeps, gpu, known)
    ]


def _named(outcome: Outcome, group: str) -> Outcome:
    return Outcome(
        outcome.case,
        group,
        "GPU time",
        outcome.ratio,
        measured_s=outcome.measured_s,
        flops=outcome.flops,
        bytes=outcome.bytes,
    )
