"""Recordings from a real GPU, read back."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Iterator
from datetime import date
from math import nan
from pathlib import Path
from typing import Any

import msgspec

from simulator.errors import InputError

MEASUREMENTS = Path(__file__).parents[1] / "measurements"


Probes = tuple[dict[str, list[float]], dict[str, list[float]]]
"""Seconds of each run of the fixed host work, by name, before and after a step was timed
(`calibration.measure.instruments.host_probes`)."""


class RecordedOp(msgspec.Struct, frozen=True):
    """One dispatched op: tensors as (shape, dtype, stride, device), kernels as (name, seconds)."""

    name: str
    inputs: list[list[Any]]
    outputs: list[list[Any]]
    kernels: list[tuple[str, float]]


class Recording(msgspec.Struct, frozen=True):
    """One case as a real GPU ran it. Times in seconds, memory in bytes."""

    case: dict[str, Any]
    ops: list[RecordedOp]
    period_s: float
    period_iqr: float
    latency_s: float
    gpu_busy_s: float
    kernel_count: int
    before_bytes: int
    peak_bytes: int
    graph: dict[str, Any] | None
    probes: Probes | None = None

    @property
    def name(self) -> str:
        return self.case["name"]


class Timed(msgspec.Struct, frozen=True):
    """One case whose ops were not recorded; `launches` are (kernel, nanoseconds), `eager_s` is the
    period of the same step in eager mode in the same process. `host_index` holds the times of the
    fixed host suite in that process; `rounds` are (fixed host work, compiled, eager), in seconds.
    `gpu_busy_s` and `kernel_count` are NaN if the case was not profiled. `profiled` is true if
    PyTorch's profiler had run in the process before the step was timed, and `twin_profiled` if it
    had run before the eager step and the rounds were timed
    (`calibration.record.profiler_hooks`)."""

    case: dict[str, Any]
    period_s: float
    latency_s: float
    gpu_busy_s: float
    kernel_count: float
    peak_bytes: int
    launches: list[tuple[str, int]]
    host_index: dict[str, float]
    eager_s: float | None = None
    rounds: list[tuple[float, float, float]] = []
    profiled: bool = False
    twin_profiled: bool = False
    probes: Probes | None = None

    @property
    def name(self) -> str:
        return self.case["name"]


def timed(suite: str, gpu: str = "h200_sxm") -> Iterator[Timed]:
    """Every case of a suite that was timed without recording its ops."""
    host: dict[str, float] = {}
    apart = profiled = False
    with gzip.open(MEASUREMENTS / gpu / f"{suite}.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            if "host_index" in row:  # each process writes its index before its cases
                host, apart, profiled = row["host_index"], "profiled" in row, False
            if "period" in row:
                yield Timed(
                    row["case"],
                    row["period"]["median_s"],
                    row["latency"]["median_s"],
                    row.get("gpu_busy_s", nan),
                    row.get("kernels", nan),
                    row["peak_bytes"],
                    row.get("launches", []),
                    host,
                    row["eager"]["period"]["median_s"] if "eager" in row else None,
                    row.get("rounds", []),
                    profiled,
                    not apart,
                    _probes(row),
                )
                profiled = not apart


def recordings(suite: str = "recordings", gpu: str = "h200_sxm") -> Iterator[Recording]:
    """Every recorded case of a suite on a GPU, in the order of recording."""
    with gzip.open(MEASUREMENTS / gpu / f"{suite}.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            if "ops" in row:
                yield _recording(row)


def host_index(suite: str, gpu: str = "h200_sxm") -> dict[str, float]:
    """The times of the fixed host cases, measured by the process that recorded `suite`; they give
    the speed of its CPU."""
    with gzip.open(MEASUREMENTS / gpu / f"{suite}.jsonl.gz", "rt") as lines:
        return json.loads(next(lines))["host_index"]


def host_indexes(suite: str, gpu: str = "h200_sxm") -> list[dict[str, float]]:
    """The times of the fixed host cases in each process that recorded `suite`, in their order."""
    with gzip.open(MEASUREMENTS / gpu / f"{suite}.jsonl.gz", "rt") as lines:
        return [json.loads(line)["host_index"] for line in lines if '"host_index"' in line]


def measured_on(suite: str, gpu: str = "h200_sxm") -> date:
    """The day on which a file was measured. Raises InputError if `dates.toml` does not state it."""
    path = MEASUREMENTS / "dates.toml"
    day = tomllib.loads(path.read_text("utf-8")).get(gpu, {}).get(suite)
    if not isinstance(day, date):
        raise InputError(
            f"{path}: no date of {gpu}/{suite}: expected the day of its measurement; add a line "
            f"`{suite} = 2026-11-21` under [{gpu}], with the day of yours"
        )
    return day


def _recording(row: dict[str, Any]) -> Recording:
    names, signatures = row["kernel_names"], row["signatures"]
    ops: list[RecordedOp] = []
    for index, *launched in row["ops"]:
        pairs = zip(launched[::2], launched[1::2], strict=True)
        kernels = [(names[name], duration_ns * 1e-9) for name, duration_ns in pairs]
        name, inputs, outputs = signatures[index]
        ops.append(RecordedOp(name, inputs, outputs, kernels))
    return Recording(
        case=row["case"],
        ops=ops,
        period_s=row["period"]["median_s"],
        period_iqr=row["period"]["relative_iqr"],
        latency_s=row["latency"]["median_s"],
        gpu_busy_s=row["gpu_busy_s"],
        kernel_count=row["kernels"],
        before_bytes=row["before_bytes"],
        peak_bytes=row["peak_bytes"],
        graph=row.get("graph"),
        probes=_probes(row),
    )


def _probes(row: dict[str, Any]) -> Probes | None:
    """The probes of a row; None if the step was timed without probes."""
    before, after = row.get("probes") or (None, None)
    return (before, after) if before and after else None
