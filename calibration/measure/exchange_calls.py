"""Time every all-reduce within steps over all GPUs of this machine, on the host and on the GPUs.

`python -m calibration.measure.exchange_calls FILE.jsonl.gz --seconds 200` writes compressed JSON
lines: the machine and how its processors sleep, then one line per case. Each of `RUNS` has separate
processes, with other settings. All ranks read the same clock, in nanoseconds.

    part      "step": a step with tensor parallelism, whose all-reduce is one of
              `calibration.measure.programs.exchanges`; "loop": up to 60 all-reduces a block, with
              other work between; "graph": the step as a CUDA graph; "profile": two steps under
              the profiler
    probes    the host's fixed work of each rank before the case
    each      per rank, for each block of steps: `issued_s` until the last call returns, `done_s`
              until the GPU is done, both per step; `begun_ns` and `host_ns` of each all-reduce of
              the last block, `gpu_ns` (begin and end on the host's clock, within 20 us) where
              events were recorded; `counters` (`instruments.thread_usage`) of the blocks, `ticks`
              of other threads, `processor`
    events    of the profiler: index in `names`, thread, begin in ns, ns, 1 on the GPU
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import multiprocessing
from torch.cuda import nccl

from calibration.cases.case import Step
from calibration.cases.steps.parallel import STEPS
from calibration.measure.instruments.awake_processors import awake
from calibration.measure.instruments.host_probes import Probes
from calibration.measure.instruments.process_group import join
from calibration.measure.instruments.thread_usage import (
    counters,
    difference,
    processor,
    system,
    threads_ticks,
)
from calibration.measure.parallel_steps import agreed, emptied, of_each
from calibration.measure.programs.exchanges import Timed, exchanges, gaps
from calibration.measure.programs.parallel_programs import captured, split

PORT = 29742
BLOCKS = 3
BLOCK_S = 0.25
KIB = 1024
SMALL, DECODE, SHORT = 11, 24, 35  # indices of steps


@dataclass(frozen=True)
class Run:
    """Processes with particular settings. `processors` is the number that each rank may use, 0 for
    all; with `awake` a thread of the lowest priority keeps each processor from sleeping."""

    name: str
    weight: float = 1.0
    environment: dict[str, str] = field(default_factory=dict[str, str])
    steps: tuple[int, ...] = (SMALL,)
    ranks: int | None = None
    processors: int = 0
    awake: bool = False


RUNS = (
    Run("plain", 3.5, steps=(DECODE, SHORT, SMALL)),  # the profiler of SMALL slows later steps
    Run("one processor", 1.5, processors=1, steps=(SMALL, DECODE)),
    Run("awake", 1.5, awake=True, steps=(SMALL, DECODE)),
    Run("no recorder", 1.0, {"TORCH_FR_BUFFER_SIZE": "0", "TORCH_NCCL_TRACE_BUFFER_SIZE": "0"}),
    Run("two ranks", 1.0, ranks=2),
    Run("Simple", 1.0, {"NCCL_PROTO": "Simple"}),
    Run("one connection", 1.0, {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}),
)
HOW = ("side stream", "no collector", "on GPU", "again")
KINDS = ("all_reduce", "nothing", "direct", "one_rank", "add")


@dataclass
class Process:
    """One rank."""

    rank: int
    ranks: int
    run: Run
    path: str
    until: float

    def late(self) -> bool:
        return bool(agreed(float(time.time() > self.until)))

    def write(self, row: dict[str, Any], each: Any, probes: Any) -> None:
        """Collect the ranks' figures and append a line."""
        rows, fixed = of_each(each), of_each(probes)
        if self.rank == 0:
            whole = {"run": self.run.name, "ranks": self.ranks, **row}
            append(self.path, whole | {"probes": fixed, "each": rows})
            issued = [[round(1e3 * x, 2) for x in one.get("issued_s", [])] for one in rows]
            print(self.run.name, *row.values(), issued, flush=True)


def append(path: str, row: dict[str, Any]) -> None:
    """Add a line to the compressed file."""
    with gzip.open(path, "at", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def blocks(call: Callable[[], Any], timed: Timed) -> dict[str, Any]:
    """Blocks of steps that all ranks begin together, as in `parallel_steps`."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    count = max(4, min(60, int(agreed(BLOCK_S / (time.perf_counter() - began)))))
    figures: dict[str, Any] = {"steps": count, "issued_s": [], "done_s": []}
    before, ticks = counters(), threads_ticks()
    base, mark = 0, torch.cuda.Event(enable_timing=True)
    for _ in range(BLOCKS):
        timed.clear()
        dist.barrier()
        torch.cuda.synchronize()
        mark.record()
        base = time.perf_counter_ns()
        for _ in range(count):
            call()
        issued = time.perf_counter_ns()
        torch.cuda.synchronize()
        done = time.perf_counter_ns()
        figures["issued_s"].append((issued - base) * 1e-9 / count)
        figures["done_s"].append((done - base) * 1e-9 / count)
    figures["counters"] = difference(counters(), before)
    later = threads_ticks()
    spent = {name: n - ticks.get(name, 0) for name, n in later.items()}
    figures["ticks"] = {name: n for name, n in spent.items() if n}
    figures |= {"processor": processor(), "base_ns": base}
    figures["begun_ns"] = [began - base for began, _ in timed.spans]
    figures["host_ns"] = [took for _, took in timed.spans]
    figures["gpu_ns"] = [round(mark.elapsed_time(event) * 1e6) for event in timed.events]
    return figures


def step_cases(process: Process, acts: dict[str, Any], probes: Probes) -> None:
    """Steps with each kind of all-reduce; the usual one on another stream, and with events."""
    for place in process.run.steps:
        timed = Timed(acts["all_reduce"])
        step = Step(STEPS[place].case, "cuda")
        split("tensor", step, process.ranks, timed)
        cases = [(kind, "") for kind in KINDS if kind in acts]
        if process.run.name == "plain":
            cases += [("all_reduce", how) for how in HOW]
        for kind, how in cases:
            if process.late():
                return
            timed.act, timed.on_gpu = acts[kind], how == "on GPU"
            fixed = probes.seconds()
            gc.collect()
            with torch.cuda.stream(
                torch.cuda.Stream() if how == "side stream" else torch.cuda.current_stream()
            ):
                if how == "no collector":
                    gc.disable()
                figures = blocks(step, timed)
                gc.enable()
            row = {"part": "step", "step": place, "exchange": kind, "how": how}
            process.write(row, figures, fixed)
        if process.run.name == "plain" and place == SMALL:
            timed.act, timed.on_gpu = acts["all_reduce"], False
            process.write({"part": "profile", "step": place}, profiled(step), probes.seconds())
            replay, fixed = captured(step), probes.seconds()
            process.write({"part": "graph", "step": place}, blocks(replay, timed), fixed)
            del replay
        del step
        emptied()


def loops(process: Process, acts: dict[str, Any], probes: Probes) -> None:
    """All-reduces with other work between them."""
    points = [(kind, 64 * KIB) for kind in ("all_reduce", "direct") if kind in acts]
    if process.run.name == "plain":
        points += [("one_rank", 64 * KIB), ("all_reduce", 16 * KIB * KIB)]
    for kind, size in points:
        x = torch.randn(size // 2, device="cuda", dtype=torch.bfloat16)
        for gap, work in gaps(process.rank).items():
            if process.late():
                return
            timed, fixed = Timed(acts[kind]), probes.seconds(1)

            def call(timed: Timed = timed, work: Any = work, x: torch.Tensor = x) -> None:
                work()
                timed(x)

            each = blocks(call, timed)
            row = {"part": "loop", "bytes": size, "exchange": kind, "gap": gap}
            process.write(row, each, fixed)


def profiled(call: Callable[[], Any]) -> dict[str, Any]:
    """Two steps under the profiler: calls of torch and CUDA on the host, and kernels."""
    kinds = torch.profiler.ProfilerActivity
    dist.barrier()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA]) as profiler:
        for _ in range(2):
            call()
        torch.cuda.synchronize()
    inner: Any = profiler.profiler
    names: dict[str, int] = {}
    events = [
        [
            names.setdefault(event.name()[:90], len(names)),
            event.start_thread_id(),
            event.start_ns(),
            event.duration_ns(),
            int("CUDA" in str(event.device_type())),
        ]
        for event in inner.kineto_results.events()
    ]
    return {"names": list(names), "events": events}


def measure(rank: int, ranks: int, run: Run, path: str, until: float, port: int) -> None:
    """Run the measurement of one rank, on one GPU."""
    if run.processors:
        apart = (os.cpu_count() or 1) // ranks
        allowed = range(rank * apart, rank * apart + run.processors)
        os.sched_setaffinity(0, set(allowed))
    join(rank, ranks, port, timeout_s=40)
    process = Process(rank, ranks, run, path, until)
    acts, probes = exchanges(rank, ranks), Probes("cuda")
    for act in acts.values():
        act(torch.zeros(KIB, device="cuda", dtype=torch.bfloat16))
    probes.seconds()
    loops(process, acts, probes)
    step_cases(process, acts, probes)
    dist.destroy_process_group()


@contextmanager
def settings(run: Run) -> Generator[None]:
    """The environment of a run's processes, with processors kept awake if the run requires it."""
    before = {name: os.environ.get(name) for name in run.environment}
    os.environ.update(run.environment)
    try:
        with awake(run.awake):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def main() -> None:
    """Measure until the time is up."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=200.0)
    options = parser.parse_args()
    until, gpus = time.time() + options.seconds, torch.cuda.device_count()
    machine = {
        "gpu": torch.cuda.get_device_name(),
        "ranks": gpus,
        "torch": torch.__version__,
        "nccl": ".".join(map(str, nccl.version())),
    }
    append(str(options.file), {"machine": machine, "system": system()})
    for i, run in enumerate(RUNS):
        left_s = until - time.time()
        share_s = left_s * run.weight / sum(each.weight for each in RUNS[i:])
        ranks = min(run.ranks or gpus, gpus)
        arguments = ranks, run, str(options.file), time.time() + share_s - 2, PORT + i
        try:
            with settings(run):
                multiprocessing.spawn(measure, arguments, ranks)  # pyright: ignore
        except Exception as error:  # the next settings may work
            append(str(options.file), {"run": run.name, "failed": str(error)[-500:]})
            print(run.name, "failed:", str(error)[-500:], flush=True)


if __name__ == "__main__":
    main()
