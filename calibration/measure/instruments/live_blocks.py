"""The largest blocks of GPU memory that are in use at the peak of a step, with their origin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_HISTORY = 200_000  # allocations and frees


def live_blocks(step: Callable[[], object], most: int = 24) -> list[dict[str, Any]]:
    """Run a step, and return the blocks that it allocated and that were in use at its peak, the
    largest first: their bytes and the innermost lines of Python that allocated them."""
    torch.cuda.synchronize()
    memory: Any = torch.cuda.memory
    memory._record_memory_history(context="alloc", stacks="python", max_entries=_HISTORY)
    step()
    torch.cuda.synchronize()
    events = memory._snapshot()["device_traces"][torch.cuda.current_device()]
    memory._record_memory_history(enabled=None)
    live: dict[int, dict[str, Any]] = {}
    at_peak: list[dict[str, Any]] = []
    peak = total = 0
    for event in events:
        if event["action"] == "alloc":
            live[event["addr"]] = event
            total += event["size"]
            if total > peak:
                peak, at_peak = total, [*live.values()]
        elif event["action"] == "free_completed" and event["addr"] in live:
            total -= live.pop(event["addr"])["size"]
    largest = sorted(at_peak, key=lambda event: -event["size"])[:most]
    return [{"bytes": each["size"], "lines": _lines(each)} for each in largest]


def _lines(event: dict[str, Any]) -> list[str]:
    frames = event.get("frames", [])[:6]
    return [f"{f['filename'].rsplit('/', 1)[-1]}:{f['line']} {f['name']}" for f in frames]
