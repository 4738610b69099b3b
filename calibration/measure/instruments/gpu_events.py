"""The GPU's events of a call, by PyTorch's profiler.

The profiler's hooks stay in the process and lengthen every later launch, so do not time anything
after a call of this module.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

GPU_EVENTS = {"kernel", "gpu_memcpy", "gpu_memset"}
"""Categories of events on the GPU."""


def gpu_events(step: Callable[[], object]) -> list[dict[str, Any]]:
    """The profiler's events of one call, as in a Chrome trace."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return json.loads(path.read_text())["traceEvents"]
