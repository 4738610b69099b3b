"""Record what eager PyTorch really does: the ops it dispatches and the kernels each launches.

`python -m calibration.record.write FOLDER --suite NAME` writes one JSON line a case to
`FOLDER/NAME.jsonl`, each with the op sequence, the kernels by op, and the step's period, latency,
GPU-busy time and peak memory. It needs a CUDA GPU and PyTorch, nothing else. Cases that the file
has are not run again, so that the same command goes on where it was stopped. On a GPU that is there
for minutes, `--spread` takes the suite in an order of which every beginning spans it, and
`--budget 0.4` times each case for 0.4 times as long.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import re
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from calibration.cases.case import Case, Step
from calibration.cases.suites import SUITES
from calibration.measure.device import Watch, find, versions
from calibration.measure.host_index import REFERENCE, suite
from calibration.measure.timing import latency, period

GPU_EVENTS = {"kernel", "gpu_memcpy", "gpu_memset"}
_RANGE = re.compile(r"^op(\d+)$")
_WHOLE = ("recordings", "host", "validation")
"""Suites whose ops are recorded as well."""

_SYNCS = {"aten.nonzero.default", "aten._local_scalar_dense.default"}
"""A failed capture leaves the process's generator broken, so these are not captured at all."""


ROUNDS = 15
"""Turns of a compiled step and its eager twin: in their median a busy second does not count."""


class OpLog(TorchDispatchMode):
    """Writes down each dispatched op and marks its range for the profiler."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[tuple[str, list[Any], list[Any]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace in ("prim", "profiler"):
            return func(*args, **kwargs)
        row = len(self.ops)
        self.ops.append((str(func), [], []))
        with record_function(f"op{row}"):
            result = func(*args, **kwargs)
        self.ops[row] = (str(func), _tensors((args, kwargs)), _tensors(result))
        return result


def _tensors(values: Any) -> list[Any]:
    return [
        [list(t.shape), str(t.dtype).removeprefix("torch."), list(t.stride()), t.device.type]
        for t in tree_leaves(values)
        if isinstance(t, torch.Tensor)
    ]


def gpu_events(step: Callable[[], object]) -> list[dict[str, Any]]:
    """The profiler's events of one call, as a Chrome trace has them."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return json.loads(path.read_text())["traceEvents"]


def kernels_by_op(events: list[dict[str, Any]], ops: int) -> list[list[tuple[str, int]]]:
    """For each op the kernels that it launched, as (name, nanoseconds), in launch order.

    A launch belongs to the innermost op range on its thread that holds its start.
    """
    ranges: dict[int, list[tuple[float, float, int]]] = {}
    launches: dict[int, tuple[int, float]] = {}
    kernels: list[dict[str, Any]] = []
    for event in events:
        category = event.get("cat", "")
        if category == "user_annotation" and (found := _RANGE.match(event["name"])):
            span = (event["ts"], event["ts"] + event["dur"], int(found[1]))
            ranges.setdefault(event["tid"], []).append(span)
        elif category in ("cuda_runtime", "cuda_driver"):
            launches[event["args"].get("correlation", -1)] = (event["tid"], event["ts"])
        elif category in GPU_EVENTS:
            kernels.append(event)
    for spans in ranges.values():
        spans.sort()
    rows: list[list[tuple[str, int]]] = [[] for _ in range(ops + 1)]
    for kernel in sorted(kernels, key=lambda k: k["ts"]):
        thread, at = launches.get(kernel["args"].get("correlation", -1), (-1, 0.0))
        spans = ranges.get(thread, [])
        row = ops  # launched by no op
        place = bisect_right(spans, (at, float("inf"), 0))
        for start, end, op in reversed(spans[max(0, place - 50) : place]):
            if start <= at <= end:
                row = op
                break
        rows[row].append((kernel["name"], round(kernel["dur"] * 1000)))
    return rows


def busy_s(events: list[dict[str, Any]]) -> tuple[float, int]:
    """Seconds in which at least one kernel ran, and the number of kernels."""
    spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("cat") in GPU_EVENTS)
    total, reached = 0.0, float("-inf")
    for start, end in spans:
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total * 1e-6, len(spans)


def graph_timing(step: Step, budget: float = 1.0) -> dict[str, Any]:
    """An inference step captured as a CUDA graph: its period and kernels, or why not."""
    try:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            step()
            step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        events = gpu_events(graph.replay)
        seconds, count = busy_s(events)
        return {
            "period": asdict(period(graph.replay, 0.4 * budget)),
            "latency": asdict(latency(graph.replay, 0.2 * budget)),
            "gpu_busy_s": seconds,
            "kernels": count,
        }
    except RuntimeError as error:
        torch.cuda.synchronize()
        return {"failed": str(error).splitlines()[0]}


def record(case: Case, watch: Watch, whole: bool, budget: float = 1.0) -> dict[str, Any]:
    """Run one case and return everything seen, as plain data; its ops too where it is `whole`.
    `budget` times the usual seconds go into each figure."""
    step = Step(case, "cuda")
    for _ in range(3):  # optimizer state, autotuning, workspaces, compilation
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before_bytes = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    peak_bytes = torch.cuda.max_memory_allocated()
    result: dict[str, Any] = {
        "case": case.record(),
        "before_bytes": before_bytes,
        "peak_bytes": peak_bytes,
        "period": asdict(period(step, budget if whole else 0.4 * budget)),
        **watch.reading(),
        "latency": asdict(latency(step, (0.5 if whole else 0.2) * budget)),
    }
    events = gpu_events(step)
    result["gpu_busy_s"], result["kernels"] = busy_s(events)
    if whole:
        result |= _ops(step)
        if case.phase == "inference" and not _SYNCS & {row[0] for row in result["signatures"]}:
            result["graph"] = graph_timing(step, budget)
    elif case.mode != "eager":
        kernels = [e for e in events if e.get("cat") in GPU_EVENTS]
        kernels.sort(key=lambda k: k["ts"])
        result["launches"] = [[k["name"][:160], round(k["dur"] * 1000)] for k in kernels]
        result |= _beside_eager(case, step)
    return result


def _beside_eager(case: Case, compiled: Step) -> dict[str, Any]:
    """The same step as eager PyTorch runs it; and rounds in which both alternate, each round with
    what the host took over fixed work just before: neighbours on its CPU slow it for seconds."""
    step = Step(replace(case, mode="eager"), "cuda")
    for _ in range(3):
        step()
    timing = {"period": asdict(period(step, 0.4)), "latency": asdict(latency(step, 0.2))}
    seconds, count = busy_s(gpu_events(step))
    work = Step(REFERENCE, "cpu")
    rounds = [
        [
            period(work, 0.01, 1, "cpu").median_s,
            period(compiled, 0.12, 1).median_s,
            period(step, 0.12, 1).median_s,
        ]
        for _ in range(ROUNDS)
    ]
    return {"eager": timing | {"gpu_busy_s": seconds, "kernels": count}, "rounds": rounds}


def _ops(step: Step) -> dict[str, Any]:
    """The ops of one step, each with the kernels that it launched."""
    log = OpLog()

    def logged() -> None:
        with log:
            step()

    rows = kernels_by_op(gpu_events(logged), len(log.ops))
    names: dict[str, int] = {}
    signatures: dict[str, int] = {}
    ops: list[list[Any]] = []
    for (name, inputs, outputs), launched in zip(log.ops, rows, strict=False):
        key = json.dumps([name, inputs, outputs], separators=(",", ":"))
        row: list[Any] = [signatures.setdefault(key, len(signatures))]
        for kernel, duration_ns in launched:
            row += [names.setdefault(kernel, len(names)), duration_ns]
        ops.append(row)
    return {
        "signatures": [json.loads(key) for key in signatures],
        "kernel_names": list(names),
        "ops": ops,
        "stray_kernels": [name for name, _ in rows[-1]],
    }


def recorded(path: Path) -> set[str]:
    """The names of the cases that a file has, but for one whose line was cut off."""
    whole = path.read_text().splitlines(keepends=True) if path.exists() else []
    rows = [json.loads(line) for line in whole if line.endswith("\n")]
    return {row["case"]["name"] for row in rows if "case" in row}


def planned(suite: str, path: Path, only: str = "", spread: bool = False) -> list[Case]:
    """The cases that are left to run: those of the name `only` that the file lacks."""
    cases = list(SUITES[suite])
    if spread:
        random.Random(0).shuffle(cases)
    before = recorded(path)
    return [case for case in cases if case.name not in before and re.search(only, case.name)]


def main() -> None:
    """Record a suite and say each case's figures as it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--suite", choices=SUITES, default="recordings")
    parser.add_argument("--only", default="", help="regular expression on the case's name")
    parser.add_argument("--seconds", type=float, default=540.0, help="stop starting cases then")
    parser.add_argument("--limit", type=int, help="so many cases alone")
    parser.add_argument("--spread", action="store_true", help="every beginning spans the suite")
    parser.add_argument("--budget", type=float, default=1.0, help="times the seconds of a case")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    path = options.folder / f"{options.suite}.jsonl"
    cases = planned(options.suite, path, options.only, options.spread)
    device = find()
    watch = Watch(device)
    with path.open("a") as out:
        machine = {"gpu": device.name, "driver": watch.driver, **versions()}
        out.truncate(path.read_bytes().rfind(b"\n") + 1)  # the line at which it was ended
        out.write(json.dumps({"machine": machine, "host_index": suite(gpu=True)}) + "\n")
        for case in cases[: options.limit]:
            if time.perf_counter() - began > options.seconds:
                print("out of time before", case.name, flush=True)
                break
            at = time.perf_counter()
            try:
                result = record(case, watch, options.suite in _WHOLE, options.budget)
            except Exception as error:  # a network may raise anything
                result: dict[str, Any] = {"case": case.record(), "failed": repr(error)[:2000]}
            out.write(json.dumps(result, separators=(",", ":")) + "\n")
            out.flush()
            torch._dynamo.reset()
            gc.collect()
            torch.cuda.empty_cache()
            seen = result.get("failed") or (
                f"{len(result.get('ops', ()))} ops {result['kernels']} kernels "
                f"{result['period']['median_s'] * 1e3:.3f} ms, busy "
                f"{result['gpu_busy_s'] * 1e3:.3f} ms, {result['power_w']} W, "
                f"graph {str(result.get('graph', ''))[:60]}"
            )
            print(f"{time.perf_counter() - at:5.1f} s  {case.name}: {seen}", flush=True)


if __name__ == "__main__":
    main()
