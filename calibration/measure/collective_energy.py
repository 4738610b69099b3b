"""Measure the energy of NCCL's collectives over the GPUs of this machine, in sustained runs.

`python -m calibration.measure.collective_energy FILE.jsonl.gz --seconds 200` writes compressed JSON
lines: the machine, the GPUs at rest, then a line for each case: a collective alone, a collective
at the same time as kernels on a second stream, or one for which another rank is late. No setting
of a card is changed, and NVLink multicast is off.

    each_s    seconds of a collective, the slowest rank's, after `WARM_S`
    ranks     per rank: `power_w` over `MEASURED_S` (the slope of the energy counter), the mean
              clock, NVML's reasons for it, the readings, and the kernels that ran beside
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.cuda import nccl

from calibration.measure.collectives import Call, calls, kernels, slowest, stream_s
from calibration.measure.energy import AT_REST_S, at_rest, power_w, series
from calibration.measure.instruments.nvml import COLUMNS, Nvml, Readings
from calibration.measure.instruments.process_group import join
from calibration.measure.parallel_steps import of_each

PORT = 29871
WARM_S, MEASURED_S = 1.2, 1.8
CHUNK_S = 0.02
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "exchange")
MIB = 2**20
SIZES = (MIB // 4, 4 * MIB, 64 * MIB, 512 * MIB)


@dataclass(frozen=True)
class Case:
    """A collective in a loop. `kernel` is one of `collectives.kernels`: it runs on a second stream
    of all ranks, or with `late` before each collective of rank 0, for which the others wait."""

    collective: str
    message_bytes: int
    kernel: str = ""
    late: bool = False

    @property
    def name(self) -> str:
        how = ("late " if self.late else "beside ") + self.kernel if self.kernel else "alone"
        return f"{self.collective}/{self.message_bytes}/{how}"


def cases() -> Iterator[Case]:
    """The most informative first."""
    for size in (SIZES[2], SIZES[1], SIZES[3], SIZES[0]):
        for kind in KINDS:
            yield Case(kind, size)
    yield Case("all_reduce", SIZES[0], "product/8192", late=True)
    for kernel in ("product/8192", "copy/512MiB", "gelu/512MiB"):
        for kind in ("all_reduce", "all_to_all"):
            yield Case(kind, SIZES[2], kernel)
    yield Case("all_gather", SIZES[2], "product/8192", late=True)


def run(case: Case, rank: int, ranks: int, meter: Nvml) -> dict[str, Any]:
    """The fields of a case's line."""
    call = calls(case.collective, case.message_bytes, rank, ranks)
    kernel: Call = kernels()[case.kernel] if case.kernel else lambda: None
    beside = bool(case.kernel) and not case.late
    if case.late and rank == 0:
        call = partial(_both, kernel, call)
    call()
    each_s, _ = stream_s(call, 5, 3)
    per_chunk = max(1, round(CHUNK_S / each_s))
    kernel_s = slowest(stream_s(kernel, 5, 3)[0]) if beside else 0.0
    kernels_per_chunk = max(1, round(CHUNK_S / kernel_s)) if beside else 0
    side = torch.cuda.Stream()
    ends: list[torch.cuda.Event] = []
    kernel_ends: list[torch.cuda.Event] = []

    def chunks(seconds: float) -> None:
        for _ in range(round(slowest(seconds / (per_chunk * each_s)))):
            for _ in range(per_chunk):
                call()
            ends.append(recorded())
            with torch.cuda.stream(side):
                for _ in range(kernels_per_chunk):
                    kernel()
                kernel_ends.append(recorded())
            if len(ends) > 4:
                ends[-4].synchronize()
                kernel_ends[-4].synchronize()
        torch.cuda.synchronize()

    torch.cuda.synchronize()
    dist.barrier()
    with Readings(meter) as readings:
        chunks(WARM_S)
        ends.clear()
        kernel_ends.clear()
        begin, begin_s = recorded(), time.perf_counter()
        chunks(MEASURED_S)
        end_s = time.perf_counter()
    seconds = begin.elapsed_time(ends[-1]) * 1e-3
    inside = [r for r in readings.rows if begin_s <= (r[0] or 0) <= end_s]
    figures = {
        "power_w": power_w(readings.rows, begin_s, end_s),
        "clock_hz": float(np.mean([r[3] for r in inside if r[3]])),
        "reasons": sorted({int(r[6]) for r in inside if r[6] is not None}),
        "kernel": case.kernel if beside or rank == 0 else "",
        "kernels_per_chunk": kernels_per_chunk or (per_chunk if case.late and rank == 0 else 0),
        "kernels_s": begin.elapsed_time(kernel_ends[-1]) * 1e-3 if beside else None,
        "series": series(inside, begin_s),
    }
    return {
        "collective": case.collective,
        "message_bytes": case.message_bytes,
        "how": case.name.split("/", 2)[2],
        "per_chunk": per_chunk,
        "chunks": len(ends),
        "each_s": slowest(seconds / (per_chunk * len(ends))),
        "seconds": seconds,
        "ranks": of_each(figures),
    }


def _both(first: Call, second: Call) -> None:
    first()
    second()


def recorded() -> torch.cuda.Event:
    """An event on the current stream."""
    event = torch.cuda.Event(enable_timing=True)
    event.record()  # pyright: ignore[reportUnknownMemberType]
    return event


def measure(rank: int, ranks: int, path: str, until: float) -> None:
    """Run the cases of one rank, on one GPU."""
    join(rank, ranks, PORT, timeout_s=60)
    torch.cuda.set_stream(torch.cuda.Stream())
    meter = Nvml(str(torch.cuda.get_device_properties().uuid))

    def write(row: dict[str, Any]) -> None:
        if rank == 0:
            with gzip.open(path, "at", encoding="utf-8") as file:
                file.write(json.dumps(row, separators=(",", ":")) + "\n")

    write({"limits": of_each(meter.limits()), "columns": COLUMNS, "ranks": ranks})
    write({"rest": of_each(at_rest(meter, AT_REST_S))})
    for case in cases():
        if slowest(float(time.time() + WARM_S + MEASURED_S + 1 > until)):
            break
        row = run(case, rank, ranks, meter)
        write(row)
        if rank == 0:
            watts = [round(one["power_w"] or 0) for one in row["ranks"]]
            clocks = [round(one["clock_hz"] * 1e-6) for one in row["ranks"]]
            print(f"{case.name}: {row['each_s'] * 1e6:.1f} us, {watts} W, {clocks} MHz", flush=True)
    dist.destroy_process_group()


def main() -> None:
    """Measure until the time is up."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=200.0)
    arguments = parser.parse_args()
    until = time.time() + arguments.seconds
    machine = {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "nccl": ".".join(map(str, nccl.version())),
    }
    with gzip.open(arguments.file, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"machine": machine}) + "\n")
    ranks = torch.cuda.device_count()
    multiprocessing.spawn(measure, (ranks, str(arguments.file), until), ranks)  # pyright: ignore


if __name__ == "__main__":
    main()
