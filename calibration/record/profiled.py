"""Profile a step with PyTorch's profiler: its kernels by op, and its GPU-busy time.

The profiler's hooks stay in the process and lengthen every later launch
(`calibration.record.profiler_hooks`), so do not time anything after it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import replace
from typing import Any

import torch
from torch.profiler import record_function
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from calibration.cases.case import Case, Step
from calibration.measure.instruments.cuda_graph import captured
from calibration.measure.instruments.gpu_events import GPU_EVENTS, gpu_events

_RANGE = re.compile(r"^op(\d+)$")


class OpLog(TorchDispatchMode):
    """Records each dispatched op and marks its range for the profiler."""

    def __init__(self) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]
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


def kernels_by_op(events: list[dict[str, Any]], ops: int) -> list[list[tuple[str, int]]]:
    """For each op the kernels that it launched, as (name, nanoseconds), in launch order.

    A launch belongs to the innermost op range on its thread that contains its start.
    """
    ranges: dict[int, list[tuple[float, float, int]]] = {}
    launches: dict[int, tuple[int, float]] = {}
    kernels: list[dict[str, Any]] = []
    for event in events:
        category = event.get("cat", "")
        if category == "user_annotation" and (match := _RANGE.match(event["name"])):
            span = (event["ts"], event["ts"] + event["dur"], int(match[1]))
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
        row = ops  # the kernel was not launched by an op
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


def profiled(row: dict[str, Any], case: Case) -> dict[str, Any]:
    """The row of a timed case, with the profiles of the step, its graph and its eager version."""
    step = Step(case, "cuda")
    for _ in range(3):
        step()
    events = gpu_events(step)
    complete = {**row, **_busy(events)}
    if "ops" in row:
        complete |= _ops(step)
    elif case.mode != "eager":
        kernels = [e for e in events if e.get("cat") in GPU_EVENTS]
        kernels.sort(key=lambda k: k["ts"])
        complete["launches"] = [[k["name"][:160], round(k["dur"] * 1000)] for k in kernels]
    if "period" in row.get("graph", {}):
        complete["graph"] = row["graph"] | _busy(gpu_events(captured(step).replay))
    if "eager" in row:
        twin = Step(replace(case, mode="eager"), "cuda")
        for _ in range(3):
            twin()
        complete["eager"] = row["eager"] | _busy(gpu_events(twin))
    return complete


def _busy(events: list[dict[str, Any]]) -> dict[str, Any]:
    seconds, count = busy_s(events)
    return {"gpu_busy_s": seconds, "kernels": count}


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
