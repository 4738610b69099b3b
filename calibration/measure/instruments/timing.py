"""The only stopwatch: all times in measurement files come from this module.

`period` and `latency` time whole steps by the host's clock. `replayed` times one call on the GPU
alone, by events around replays of a CUDA graph. `kernels` reads each kernel of many calls from one
profiler session, with the operands in L2 (warm) and out of it (cold).
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile, record_function

from calibration.measure.instruments.kernels import Kernel, kernels_of

Call = Callable[[], object]
STEADY = 0.03
"""The relative interquartile range at which there are enough samples."""

_RUN_S = 5e-4
"""Seconds between two events, long compared with the resolution of events (0.5 µs) and with the
start of a replay."""

_MOST_COPIES = 200


@dataclass(frozen=True)
class Timing:
    """Median of the samples in seconds, and their interquartile range relative to the median."""

    median_s: float
    relative_iqr: float
    samples: int


@dataclass(frozen=True)
class Replayed(Timing):
    """Seconds per call, from replays of its graph or, if it cannot be captured, from a stream."""

    how: Literal["graph", "stream"]


def _summary(samples_s: list[float]) -> Timing:
    low, mid, high = np.percentile(samples_s, [25, 50, 75])
    return Timing(float(mid), float((high - low) / mid), len(samples_s))


def period(
    step: Call, budget_s: float = 1.0, blocks: int = 7, device: Literal["cuda", "cpu"] = "cuda"
) -> Timing:
    """Time steps back to back: blocks of steps, synchronised only at the end of each block."""
    wait: Call = torch.cuda.synchronize if device == "cuda" else int
    step()
    wait()
    began = time.perf_counter()
    step()
    wait()
    one_s = time.perf_counter() - began
    steps = int(np.clip(budget_s / blocks / one_s, 3, 300))
    samples: list[float] = []
    for _ in range(blocks):
        wait()
        began = time.perf_counter()
        for _ in range(steps):
            step()
        wait()
        samples.append((time.perf_counter() - began) / steps)
    return _summary(samples)


def latency(step: Call, budget_s: float = 0.5) -> Timing:
    """Time one step alone: from an idle GPU until the GPU is idle again."""
    samples: list[float] = []
    until = time.perf_counter() + budget_s
    while len(samples) < 5 or (time.perf_counter() < until and len(samples) < 200):
        torch.cuda.synchronize()
        began = time.perf_counter()
        step()
        torch.cuda.synchronize()
        samples.append(time.perf_counter() - began)
    return _summary(samples)


def replayed(call: Call, budget_s: float = 0.06, during: Call | None = None) -> Replayed:
    """Time a call on the GPU, without the host, with its operands where the previous call left
    them.

    Runs on torch's current stream, which must not be the default one if graphs are to be captured;
    a backward pass runs on the stream of its forward pass. `during` is called once while the GPU
    works, to read its clocks. Raises the errors of the call.
    """
    call()  # runs for autotuning, compilation and workspaces
    captured = _graph(call) if _asynchronous(call) else None
    if captured is None:
        copies = int(np.clip(_RUN_S / _elapsed_s(call, 1), 1, _MOST_COPIES))
        timing = _sampled(lambda: [call() for _ in range(copies)], copies, budget_s, during)
    else:
        graph, copies = captured
        timing = _sampled(graph.replay, copies, budget_s, during)
    how = "stream" if captured is None else "graph"
    return Replayed(timing.median_s, timing.relative_iqr, timing.samples, how)


def _graph(call: Call) -> tuple[torch.cuda.CUDAGraph, int] | None:
    """A graph whose replay is long enough to time, and the number of calls in it."""
    copies = int(np.clip(_RUN_S / _elapsed_s(call, 3), 1, 50))
    graph = _captured(call, copies)
    if graph is None:
        return None
    one_s = _elapsed_s(graph.replay, 2) / copies
    needed = int(np.clip(_RUN_S / one_s, 1, _MOST_COPIES))
    if needed > 2 * copies and (repeated := _captured(call, needed)):
        return repeated, needed  # the host slowed down the run from which the first estimate came
    return graph, copies


def _sampled(run: Call, copies: int, budget_s: float, during: Call | None) -> Timing:
    """Time rounds of runs between events, until they are steady or the time is up."""
    a_round = int(np.clip(budget_s / 4 / max(_elapsed_s(run, 1), 1e-6), 1, 5))
    samples: list[float] = []
    until = time.perf_counter() + budget_s
    while True:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(a_round + 1)]
        events[0].record()
        for event in events[1:]:
            run()
            event.record()
        if during is not None:
            during()
            during = None
        events[-1].synchronize()
        samples += [a.elapsed_time(b) * 1e-3 / copies for a, b in pairwise(events)]
        timing = _summary(samples)
        if len(samples) >= 10 and timing.relative_iqr <= STEADY:
            return timing
        if len(samples) >= 3 and time.perf_counter() > until:
            return timing


def _elapsed_s(run: Call, times: int) -> float:
    """Seconds per run, including host time and gaps; accurate enough to choose the number of
    runs."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(times):
        run()
    end.record()
    end.synchronize()
    return max(begin.elapsed_time(end) * 1e-3 / times, 1e-7)


def _asynchronous(call: Call) -> bool:
    """Whether the call never waits for the GPU; waiting breaks a capture."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that the mode is a prototype
        torch.cuda.set_sync_debug_mode("error")
        try:
            call()
            return True
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            return False
        finally:
            torch.cuda.set_sync_debug_mode("default")


def _captured(call: Call, copies: int) -> torch.cuda.CUDAGraph | None:
    """A graph of `copies` calls in a row; None if the capture failed.

    Unlike `torch.cuda.graph` this keeps the allocator's cache and collects no garbage, which
    would take longer than the timing.
    """
    if torch.cuda.current_stream() == torch.cuda.default_stream():
        return None
    torch.cuda.synchronize()
    graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
    try:
        graph.capture_begin(pool=pool)
        try:
            for _ in range(copies):
                call()
        finally:
            graph.capture_end()
        graph.replay()
        torch.cuda.synchronize()
        return graph
    except torch.OutOfMemoryError:
        mend(pool)
        raise
    except RuntimeError:
        mend(pool)
        return None


def mend(pool: Any) -> None:
    """Repair the state after a failed capture: the allocator still has its pool open, and the
    generator still has its capture flag set, which a small successful capture resets."""
    with contextlib.suppress(RuntimeError):
        torch._C._cuda_endAllocateToPool(torch.cuda.current_device(), pool)  # pyright: ignore[reportPrivateUsage]
    with contextlib.suppress(RuntimeError):
        torch.cuda.synchronize()
    ones = torch.ones(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()
    ones.add_(1)
    graph.capture_end()


def kernels(calls: Sequence[Call], runs: Sequence[int]) -> list[list[Kernel]]:
    """The kernels of each call in launch order, from one profiler session over all of them; see
    `profiled`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiled(calls, runs, path)
        return kernels_of(json.loads(path.read_text())["traceEvents"], len(calls))


def profiled(calls: Sequence[Call], runs: Sequence[int], path: Path) -> None:
    """Write the Chrome trace of one profiler session over all calls, for `kernels_of`.

    calls  already run once, so that nothing compiles here
    runs   number of warm runs of each, and of cold runs

    Warm: back to back. Cold: after a kernel that reads and writes four times as many bytes as L2
    holds. This kernel leaves both written and clean lines in L2, like a network's kernels. On an
    H200, a 16 MB copy takes 8.5 µs after a kernel that only reads and 10.1 µs after one that only
    writes. It lies outside the ranges by which kernels are assigned.
    """
    l2_bytes = torch.cuda.get_device_properties().L2_cache_size
    read, written = torch.randn(2, 2 * l2_bytes // 4, device="cuda")
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for point, (call, times) in enumerate(zip(calls, runs, strict=True)):
            for _ in range(times):  # a single pass loads only a part of the operands into L2
                call()
            for run in range(times):
                with record_function(f"point{point}.warm{run}"):
                    call()
            for run in range(times):
                torch.neg(read, out=written)
                with record_function(f"point{point}.cold{run}"):
                    call()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(str(path))
