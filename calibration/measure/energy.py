"""Measure the energy of kernels and steps on a GPU, in sustained runs.

`python -m calibration.measure.energy FILE --seconds 150` writes JSON lines to FILE: the machine,
the GPU at rest, then a line for each of `cases.energy.CASES`, as many as the time allows. With
`--steps` the cases are those of `cases.energy_steps.ENERGY_STEPS`. After a pause at rest a case
runs for `WARM_S`, and then for `MEASURED_S` more, over which its power is the slope of the driver's
energy counter. No setting of the card is changed. `--dry` tries the script on a machine without a
GPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from calibration.cases.case import Step
from calibration.cases.energy.cases import CASES, EnergyCase
from calibration.cases.energy.kernels import Call
from calibration.cases.energy.steps import ENERGY_STEPS
from calibration.measure.instruments.device import cpu, versions
from calibration.measure.instruments.host_index import REFERENCE
from calibration.measure.instruments.host_probes import Probes
from calibration.measure.instruments.nvml import COLUMNS, FakeMeter, Meter, Nvml, Readings, Row
from calibration.measure.instruments.timing import period

REST_S, WARM_S, MEASURED_S, FIRST_S = 0.5, 1.6, 2.0, 0.2
AT_REST_S = 3.0
_CHUNK_S = 0.01
_MOST_COPIES = 1000
_QUEUED = 4
"""Maximum number of chunks by which the host runs ahead of the GPU."""


class GpuRun:
    """Chunks of calls on the GPU between events; `marks` are (seconds, iterations done)."""

    def __init__(self, call: Call, captured: bool) -> None:
        call()
        torch.cuda.synchronize()
        one_s = self._elapsed_s(call)
        self.copies = int(np.clip(_CHUNK_S / one_s, 1, _MOST_COPIES))
        self.how = "stream"
        self._call = call
        self._chunk: Call = self._calls
        if captured:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
                self._chunk()
            self._chunk, self.how = graph.replay, "graph"
            self._chunk()
            torch.cuda.synchronize()

    def _calls(self) -> None:
        for _ in range(self.copies):  # the result of a call is freed before the next call
            self._call()

    @staticmethod
    def _elapsed_s(call: Call) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(3):
            call()
        end.record()
        end.synchronize()
        return max(begin.elapsed_time(end) * 1e-3 / 3, 1e-6)

    def marks(self, seconds: float) -> list[tuple[float, int]]:
        """Run for `seconds`; return the end of each chunk (by perf_counter) and the iterations
        until then."""
        events: list[Any] = []
        queued: deque[Any] = deque()
        until = time.perf_counter() + seconds
        while not events or time.perf_counter() < until:
            if events:
                self._chunk()
            event: Any = torch.cuda.Event(enable_timing=True)
            event.record()
            events.append(event)
            queued.append(event)
            if len(queued) > _QUEUED:
                queued.popleft().synchronize()
        events[-1].synchronize()
        end_s = time.perf_counter()
        before = [end_s - e.elapsed_time(events[-1]) * 1e-3 for e in events]
        return [(at, number * self.copies) for number, at in enumerate(before)]


class HostRun:
    """A stand-in for a run on the GPU: it repeats the call on the CPU, to test this script."""

    how, copies = "host", 1

    def __init__(self, call: Call, captured: bool) -> None:
        self._call = call

    def marks(self, seconds: float) -> list[tuple[float, int]]:
        ends = [(time.perf_counter(), 0)]
        while ends[-1][0] < ends[0][0] + seconds:
            self._call()
            ends.append((time.perf_counter(), len(ends)))
        return ends


def per_iteration_s(marks: list[tuple[float, int]], begin_s: float, end_s: float) -> float | None:
    """Seconds per iteration over the chunks that ended within this time; None if there are too
    few."""
    inside = [mark for mark in marks if begin_s <= mark[0] <= end_s]
    if len(inside) < 2:
        return None
    return (inside[-1][0] - inside[0][0]) / (inside[-1][1] - inside[0][1])


def power_w(rows: list[Row], begin_s: float, end_s: float) -> float | None:
    """The slope of the energy counter over the readings of this time; None if unknown."""
    inside = [(r[0], r[1]) for r in rows if r[0] and r[1] and begin_s <= r[0] <= end_s]
    if len(inside) < 4:
        return None
    times, joules = np.array(inside, float).T
    return float(np.polyfit(times - times[0], joules - joules[0], 1)[0])


def series(rows: list[Row], begin_s: float) -> list[list[float | None]]:
    """The readings, with times relative to the beginning of the case and energies relative to its
    first reading."""
    first_j = rows[0][1] if rows else None
    shifted: list[list[float | None]] = []
    for at, energy, *rest in rows:
        joules = None if energy is None or first_j is None else round(energy - first_j, 3)
        shifted.append([round((at or 0) - begin_s, 4), joules, *rest])
    return shifted


def measured(
    case: EnergyCase, meter: Meter, device: str, shrink: int, scale: float
) -> dict[str, Any]:
    """The fields of a case's line. Raises the errors of the case."""
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.device(device), torch.no_grad():
        call = case.make(device, shrink)
    probes = Probes("cuda" if device == "cuda" else "cpu")
    before = probes.seconds()
    run: Callable[..., Any] = GpuRun if device == "cuda" else HostRun
    with torch.set_grad_enabled(case.step is not None):
        loop = run(call, case.captured)
        with Readings(meter) as readings:
            time.sleep(REST_S * scale)
            begin_s = time.perf_counter()
            marks = loop.marks((WARM_S + MEASURED_S) * scale)
    warm_s, end_s = begin_s + WARM_S * scale, marks[-1][0]
    each_s = per_iteration_s(marks, warm_s, end_s)
    watts = power_w(readings.rows, warm_s, end_s)
    inside = [r for r in readings.rows if warm_s <= (r[0] or 0) <= end_s]
    clocks = [r[3] for r in inside if r[3]]
    return {
        "work": case.work,
        "step": case.step and case.step.record(),
        "probes": [before, probes.seconds()],
        "how": loop.how,
        "copies": loop.copies,
        "iterations": marks[-1][1],
        "first_s": per_iteration_s(marks, marks[0][0], marks[0][0] + FIRST_S * scale),
        "sustained_s": each_s,
        "seconds": end_s - warm_s,
        "power_w": watts,
        "joules": watts and each_s and watts * each_s,
        "clock_hz": float(np.mean(clocks)) if clocks else None,
        "reasons": sorted({int(r[6]) for r in inside if r[6] is not None}),
        "chunks": [[round(at - begin_s, 4), count] for at, count in marks],
        "series": series(readings.rows, begin_s),
    }


def at_rest(meter: Meter, seconds: float) -> dict[str, Any]:
    """Measure the GPU at rest, with an open CUDA context."""
    with Readings(meter) as readings:
        begin_s = time.perf_counter()
        time.sleep(seconds)
    watts = power_w(readings.rows, begin_s + seconds / 3, time.perf_counter())
    return {"power_w": watts, "series": series(readings.rows, begin_s)}


def main() -> None:
    """Measure until the time limit; a case that fails leaves a line with the reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--steps", action="store_true", help="measure ENERGY_STEPS")
    parser.add_argument("--first", type=int, default=0, help="index of the first case")
    parser.add_argument("--dry", action="store_true", help="without a GPU: tiny sizes, fake meter")
    options = parser.parse_args()
    until = time.perf_counter() + options.seconds
    device, shrink, scale = ("cpu", 64, 0.05) if options.dry else ("cuda", 1, 1.0)
    meter: Meter = FakeMeter()
    name = "none"
    if not options.dry:
        torch.cuda.set_stream(torch.cuda.Stream())
        properties = torch.cuda.get_device_properties()
        name, meter = properties.name, Nvml(str(properties.uuid))
    with options.file.open("w", encoding="utf-8") as file:

        def line(row: dict[str, Any]) -> None:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
            file.flush()

        machine = {"gpu": name, "cpu": cpu(), **versions(), **meter.limits()}
        line({"machine": machine, "columns": COLUMNS})
        line({"name": "rest", **at_rest(meter, AT_REST_S * scale)})
        for case in (ENERGY_STEPS if options.steps else CASES)[options.first :]:
            if time.perf_counter() + (REST_S + WARM_S + MEASURED_S) * scale + 1 > until:
                break
            began = time.perf_counter()
            row: dict[str, Any] = {}
            try:
                row = measured(case, meter, device, shrink, scale)
                if case.step:
                    host = period(Step(REFERENCE, "cpu"), 0.1, device="cpu").median_s
                    row["host_reference_s"] = float(f"{host:.5g}")
            except Exception as error:  # a case may raise any error
                row = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
            took = round(time.perf_counter() - began, 2)
            line({"name": case.name, **row, "took_s": took})
            result = row.get("failed") or (
                f"{row['sustained_s'] or 0:.4g} s, first {row['first_s'] or 0:.4g} s, "
                f"{row['power_w'] or 0:.0f} W, {(row['clock_hz'] or 0) * 1e-6:.0f} MHz"
            )
            print(f"{case.name}: {result} ({took} s)", flush=True)
            row.clear()
            gc.collect()
            if device == "cuda":
                torch.cuda.empty_cache()
        line({"ended": "time" if time.perf_counter() + 5 > until else "all"})


if __name__ == "__main__":
    main()
