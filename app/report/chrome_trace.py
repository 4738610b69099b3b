"""A prediction as a trace for Perfetto and chrome://tracing: launches above kernels.

It shows one step from an idle GPU. Times are in microseconds, rounded to nanoseconds.
"""

from __future__ import annotations

import json
from math import inf, nextafter
from typing import Any

from app.answers.figures import title
from app.answers.subject import Subject
from simulator.prediction import Kernel, Prediction

HOST, GPU = 1, 2
_THREAD = 1


def events(p: Prediction) -> list[dict[str, Any]]:
    """The events: names, then slices and arrows by time; an arrow links a launch to its kernel."""
    rows: list[dict[str, Any]] = []
    issued = 0
    free = 0
    for k in p.kernels:
        launched, start = _ns(k.issue_s), max(free, _ns(k.start_s))
        free = max(start, _ns(k.start_s + k.duration_s))
        rows.append(_slice(GPU, k.name, start, free, k.family, _details(k)))
        if launched == issued:  # a CUDA graph has one launch for all kernels
            continue
        own = {"op": k.op, "module": k.module}
        rows.append(_slice(HOST, k.name, issued, launched, "host", own))
        arrow = {"name": "launch", "cat": "launch", "id": k.index, "tid": _THREAD}
        middle = (issued + launched) // 2  # an arrow binds to the slice that contains its start
        rows += [
            {**arrow, "ph": "s", "pid": HOST, "ts": _us(middle)},
            {**arrow, "ph": "f", "bp": "e", "pid": GPU, "ts": _us(start)},
        ]
        issued = launched
    return [*_names(p), *sorted(rows, key=lambda event: event["ts"])]


def as_text(p: Prediction, subject: Subject) -> str:
    """The trace file as text."""
    body = {
        "displayTimeUnit": "ns",
        "otherData": {"title": title(p, subject), "program": "Ridgepoint"},
        "traceEvents": events(p),
    }
    return json.dumps(body, ensure_ascii=False, allow_nan=False) + "\n"


def _ns(value_s: float) -> int:
    return round(value_s * 1e9)


def _us(ns: int) -> float:
    """Microseconds. A reader that multiplies by 1000 and cuts the fraction off, as Perfetto does,
    gets the same nanoseconds, so that slices do not overlap."""
    us = ns / 1000
    return us if int(us * 1000) == ns else nextafter(us, inf)


def _slice(
    process: int, name: str, begin: int, end: int, category: str, details: dict[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": process,
        "tid": _THREAD,
        "ts": _us(begin),
        "dur": _us(end - begin),
        "args": details,
    }


def _details(k: Kernel) -> dict[str, Any]:
    return {
        "module": k.module,
        "phase": k.phase,
        "bound by": k.regime,
        "tier": k.tier,
        "flops": k.flops,
        "read_bytes": k.read_bytes,
        "write_bytes": k.write_bytes,
        "compute_s": k.compute_s,
        "memory_s": k.memory_s,
        "fixed_s": k.fixed_s,
        "idle_before_s": k.idle_s,
        "engine": f"{k.engine} {k.dtype}",
    }


def _names(p: Prediction) -> list[dict[str, Any]]:
    names = ((HOST, f"host {p.host.id}", "launches"), (GPU, p.gpu.name, "stream"))
    rows: list[dict[str, Any]] = []
    for order, (process, name, thread) in enumerate(names):
        base = {"ph": "M", "pid": process, "tid": _THREAD, "ts": 0}
        rows += [
            {**base, "name": "process_name", "args": {"name": name}},
            {**base, "name": "process_sort_index", "args": {"sort_index": order}},
            {**base, "name": "thread_name", "args": {"name": thread}},
        ]
    return rows
