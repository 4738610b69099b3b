"""The kernels that a call launched, from a profiler's trace."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

Kernel = tuple[str, float, float | None]
"""A kernel's name, and its seconds warm and cold; None if the cold runs launched other kernels."""

_GPU_EVENTS = {"kernel", "gpu_memcpy", "gpu_memset"}
_RANGE = re.compile(r"^point(\d+)\.(warm|cold)(\d+)$")


def kernels_of(events: Sequence[dict[str, Any]], points: int) -> list[list[Kernel]]:
    """Kernels by point from a Chrome trace whose ranges are named `point3.warm0`.

    A launch belongs to the range that contains its start, on any thread, since a backward pass
    launches from autograd's thread. Only runs with the same kernels as most warm runs count; a
    kernel's time is its median over these runs.
    """
    ranges: list[tuple[float, float, tuple[int, str, int]]] = []
    launched_at: dict[int, float] = {}
    kernels: list[dict[str, Any]] = []
    for event in events:
        category = event.get("cat", "")
        if category == "user_annotation" and (match := _RANGE.match(event["name"])):
            key = (int(match[1]), match[2], int(match[3]))
            ranges.append((event["ts"], event["ts"] + event["dur"], key))
        elif category in ("cuda_runtime", "cuda_driver"):
            launched_at[event["args"].get("correlation", -1)] = event["ts"]
        elif category in _GPU_EVENTS:
            kernels.append(event)
    ranges.sort()
    starts = [start for start, _, _ in ranges]
    runs: dict[tuple[int, str, int], list[tuple[str, float]]] = {key: [] for _, _, key in ranges}
    # in the order of their launch, because streams start kernels in any order; a graph has one
    # launch
    timed = [(launched_at.get(k["args"].get("correlation", -1), float("-inf")), k) for k in kernels]
    for at, kernel in sorted(timed, key=lambda pair: (pair[0], pair[1]["ts"])):
        place = bisect_right(starts, at) - 1
        if place >= 0 and at <= ranges[place][1]:
            runs[ranges[place][2]].append((kernel["name"], kernel["dur"] * 1e-6))
    by_point: list[dict[str, list[list[tuple[str, float]]]]] = [
        {"warm": [], "cold": []} for _ in range(points)
    ]
    for (point, state, _), launched in runs.items():
        by_point[point][state].append(launched)
    return [_medians(each["warm"], each["cold"]) for each in by_point]


def _medians(
    warm: list[list[tuple[str, float]]], cold: list[list[tuple[str, float]]]
) -> list[Kernel]:
    def names(run: list[tuple[str, float]]) -> tuple[str, ...]:
        return tuple(name for name, _ in run)

    usual = Counter(map(names, warm)).most_common(1)
    if not usual:
        return []
    launched = usual[0][0]
    warm = [run for run in warm if names(run) == launched]
    cold = [run for run in cold if names(run) == launched]
    return [
        (
            name,
            float(f"{median(run[i][1] for run in warm):.4g}"),
            float(f"{median(run[i][1] for run in cold):.4g}") if cold else None,
        )
        for i, name in enumerate(launched)
    ]
