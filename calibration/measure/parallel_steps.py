"""Time steps over all GPUs of this machine, and the same steps on one GPU.

`python -m calibration.measure.parallel_steps FILE --seconds 120 --from 12` writes JSON lines: the
machine, then one line per step of `calibration.cases.steps.parallel`, beginning at that index, and
then the earlier ones unless `--only` leaves them out; or the steps that `--steps` lists. With
`--warm 3`, each step runs for three seconds before it is timed, so that cards at their power limit
have reached their sustained clock, and its power is measured. A step that fails or hangs is
recorded as failed, and the next one begins in new processes. In the remaining time, some steps run
again under the profiler, which slows all later launches of its process; their lines hold only
`rank_kernels_s`.

    period_s, periods_s     the slowest rank's seconds per step, the median of three blocks, and
                            each
    rank_periods_s          each rank's own median, without its wait for other ranks at the end of a
                            block
    rank_issued_s           each rank's host seconds per step until the last call of a block returns
    peak_bytes              each rank's peak of allocated memory
    rank_power_w, rank_clock_hz  with `--warm`: mean power and clock of each rank's card over the
                            blocks
    one_gpu                 the same figures of the twin on one GPU, all ranks at once, or
                            `one_gpu_failed`
    rank_kernels_s          each rank's GPU seconds per step by NCCL kernel, including waits for
                            peers, and of all other kernels
    host_reference_s        the host's fixed work on the CPU, timed next to the step
    probes                  the host's fixed work before the twin, between it and the step, and
                            after the step (`calibration.measure.instruments.host_probes`), rank 0
    rank_probes             the same of all ranks, which run it at the same time
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.cuda import nccl

from calibration.cases.case import Step
from calibration.cases.steps.parallel import STEPS, ParallelStep
from calibration.measure.energy import power_w
from calibration.measure.instruments.host_index import REFERENCE
from calibration.measure.instruments.host_probes import Probes
from calibration.measure.instruments.nvml import Nvml, Readings
from calibration.measure.instruments.process_group import join
from calibration.measure.instruments.timing import period
from calibration.measure.programs.parallel_programs import Call, spread, twin

PORT = 29542
HUNG_S = 30  # seconds until a collective times out
LEAST_S = 8  # seconds that another step needs
BLOCK_S, WARM_BLOCK_S = 0.4, 0.7
"""Seconds of a block of steps. The power of warm steps is the slope of a counter over all
blocks."""
PROFILED = (13, 12, 15, 0, 3, 1, 17, 14, 22, 7, 30, 36, 9, 2, 24)
"""The indices of the steps whose kernels are worth reading, the most informative first."""
T = TypeVar("T")


def agreed(value: float) -> float:
    """The largest of all ranks' values."""
    each = torch.tensor([value], device="cuda", dtype=torch.float64)
    dist.all_reduce(each, op=dist.ReduceOp.MAX)
    return float(each)


def of_each(value: Any) -> list[Any]:
    """The values of all ranks, in order."""
    values: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def on_all_ranks(act: Callable[[], T]) -> T:
    """Return the result of `act`. Raises RuntimeError on all ranks if it raises on one."""
    result: Any = None
    text = ""
    try:
        result = act()
        torch.cuda.synchronize()
    except Exception as error:  # a step may raise any error
        text = f"{type(error).__name__}: {str(error)[:300]}"
    failures = [each for each in of_each(text) if each]
    if failures:
        raise RuntimeError(failures[0])
    return result


def timed(call: Call, warm_s: float = 0.0) -> dict[str, Any]:
    """Periods over blocks of steps that begin together, and peak memory."""
    for _ in range(3):
        on_all_ranks(call)
    torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    rate = agreed(1 / (time.perf_counter() - began))
    block_s = WARM_BLOCK_S if warm_s else BLOCK_S
    count = max(4, min(60 if not warm_s else 10_000, int(block_s * rate)))
    began = time.perf_counter()
    while warm_s and agreed(time.perf_counter() - began) < warm_s:
        for _ in range(count):
            call()
        torch.cuda.synchronize()
    periods: list[float] = []
    own: list[float] = []
    issued: list[float] = []
    begun_s = time.perf_counter()
    with Readings(card()) if warm_s else nullcontext() as readings:
        for _ in range(3):
            dist.barrier()
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(count):
                call()
            issued.append((time.perf_counter() - began) / count)
            torch.cuda.synchronize()
            own.append((time.perf_counter() - began) / count)
            periods.append(agreed(own[-1]))
    power = {} if readings is None else sustained(readings, begun_s, time.perf_counter())
    return power | {
        "period_s": sorted(periods)[1],
        "periods_s": periods,
        "rank_periods_s": of_each(sorted(own)[1]),
        "rank_issued_s": of_each(sorted(issued)[1]),
        "peak_bytes": of_each(torch.cuda.max_memory_allocated()),
    }


def card() -> Nvml:
    """The energy counter of this rank's card."""
    return Nvml(str(torch.cuda.get_device_properties().uuid))


def sustained(readings: Readings, begin_s: float, end_s: float) -> dict[str, Any]:
    """Each rank's power and clock within this time."""
    clocks = [row[3] for row in readings.rows if row[3] and begin_s <= (row[0] or 0) <= end_s]
    clock_hz = sum(clocks) / len(clocks) if clocks else None
    return {
        "rank_power_w": of_each(power_w(readings.rows, begin_s, end_s)),
        "rank_clock_hz": of_each(clock_hz),
    }


def kernels_s(call: Call) -> dict[str, float]:
    """GPU seconds per step by kind of NCCL kernel, and of all other kernels."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(2):
            call()
        torch.cuda.synchronize()
    sums: dict[str, float] = {}
    for event in profiler.events() or ():
        name = event.name.split("(")[0] if "nccl" in event.name else "other"
        sums[name] = sums.get(name, 0.0) + event.device_time * 1e-6 / 2
    return {name: float(f"{seconds:.6g}") for name, seconds in sums.items()}


def measured(split_step: ParallelStep, rank: int, ranks: int, warm_s: float) -> dict[str, Any]:
    """The figures of one step. Raises RuntimeError on all ranks if it fails on one."""
    row: dict[str, Any] = {}
    probes = Probes("cuda")
    each = [probes.seconds()]
    try:
        row["one_gpu"] = timed(on_all_ranks(lambda: twin(split_step)), warm_s)
    except RuntimeError as error:  # the whole step may need more memory than one GPU has
        row["one_gpu_failed"] = str(error)
    emptied()
    each.append(probes.seconds())
    row |= timed(on_all_ranks(lambda: spread(split_step, rank, ranks)), warm_s)
    host_s = period(Step(REFERENCE, "cpu"), 0.1, device="cpu").median_s
    each.append(probes.seconds())
    return row | {
        "host_reference_s": float(f"{host_s:.5g}"),
        "probes": each,
        "rank_probes": of_each(each),
    }


def profiled(split_step: ParallelStep, rank: int, ranks: int) -> dict[str, Any]:
    """The kernels of one step. Raises RuntimeError on all ranks if it fails on one."""
    call = on_all_ranks(lambda: spread(split_step, rank, ranks))
    for _ in range(2):
        on_all_ranks(call)
    return {"rank_kernels_s": of_each(kernels_s(call))}


def emptied() -> None:
    """Free the memory of a step, with the workspaces of its libraries: stages and DDP contain
    reference cycles."""
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()  # pyright: ignore
    torch.cuda.empty_cache()


def measure(
    rank: int,
    ranks: int,
    path: str,
    until: float,
    places: list[int],
    profiled_places: list[int],
    warm_s: float,
    port: int,
) -> None:
    """Run the measurement of one rank, on one GPU."""
    join(rank, ranks, port, HUNG_S)
    runs = ((partial(measured, warm_s=warm_s), places), (profiled, profiled_places))
    for figures, those in runs:
        for place in those:
            if agreed(float(time.time() > until - LEAST_S)):
                break
            split_step = STEPS[place]
            row: dict[str, Any] = {"step": place, **split_step.record(), "ranks": ranks}
            if warm_s:
                row["warm_s"] = warm_s
            began = time.perf_counter()
            try:
                row |= figures(split_step, rank, ranks)
            except RuntimeError as error:
                row["failed"] = str(error)
            if rank == 0:
                append_row(path, row | {"took_s": round(time.perf_counter() - began, 1)})
            emptied()
    dist.destroy_process_group()


def append_row(path: str, row: dict[str, Any]) -> None:
    """Append a row to the file, and print a summary."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    name = STEPS[row["step"]].name
    print(row["step"], name, row.get("failed") or row.get("period_s", "kernels"), flush=True)


def main() -> None:
    """Measure until the time limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="K")
    parser.add_argument(
        "--only", action="store_true", help="leave out the steps before --from, and profile all"
    )
    parser.add_argument("--steps", type=int, nargs="+", metavar="K", help="only these steps")
    parser.add_argument(
        "--warm", type=float, default=0.0, metavar="SECONDS", help="run each step before timing it"
    )
    options = parser.parse_args()
    ranks, until, path = torch.cuda.device_count(), time.time() + options.seconds, str(options.file)
    machine = {
        "gpu": torch.cuda.get_device_name(),
        "ranks": ranks,
        "torch": torch.__version__,
        "nccl": ".".join(map(str, nccl.version())),
    }
    options.file.write_text(json.dumps({"machine": machine}) + "\n", "utf-8")
    places, port = [*range(options.first, len(STEPS))], PORT
    profiled_places = [*places] if options.only else [*PROFILED]
    if options.steps:
        places, profiled_places = options.steps, []
    elif not options.only:
        places += range(options.first)
    while places and time.time() < until - LEAST_S:
        before = len(options.file.read_text("utf-8").splitlines())
        try:
            multiprocessing.spawn(  # pyright: ignore
                measure,
                (ranks, path, until, places, profiled_places, options.warm, port),
                ranks,
            )
            break
        except Exception as error:  # a process died: its step has failed
            places = places[len(options.file.read_text("utf-8").splitlines()) - before :]
            if places:
                text = f"{type(error).__name__}: {str(error)[-300:]}"
                append_row(path, {"step": places[0], **STEPS[places[0]].record(), "failed": text})
            places, port = places[1:], port + 1


if __name__ == "__main__":
    main()
