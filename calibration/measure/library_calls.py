"""Measure the host's time for a library call, in eager mode and from Inductor's wrapper.

`python -m calibration.measure.library_calls FILE --seconds 150` writes JSON lines: the machine with
its host index, then one line per kind of call. Chains of tiny calls are timed back to back, eager
and compiled; the slope over the length of the chain is the time of one call.

    eager_s, compiled_s   seconds of a chain, by its length, medians
    kernels               GPU kernels of the longest compiled chain, by name
    host_s                the host's fixed work just before
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
from torch.nn.attention import SDPBackend, sdpa_kernel

from calibration.cases.calls.chains import CALLS
from calibration.cases.case import Step
from calibration.measure.instruments.device import find, versions
from calibration.measure.instruments.gpu_events import GPU_EVENTS, gpu_events
from calibration.measure.instruments.host_index import REFERENCE, suite
from calibration.measure.instruments.timing import period

LENGTHS = (4, 24)


def measured(name: str) -> dict[str, Any]:
    """Time the chains of one kind of call."""
    chain, shape, weight_shape, dtype_name, backend = CALLS[name]
    dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[dtype_name]
    x = torch.randn(shape, device="cuda", dtype=dtype)
    row: dict[str, Any] = {"eager_s": {}, "compiled_s": {}}
    for length in LENGTHS:
        weights = [
            torch.randn(weight_shape, device="cuda", dtype=dtype) * 0.1 for _ in range(length)
        ]
        compiled: Any = torch.compile(chain)
        with torch.no_grad(), sdpa_kernel([backend or SDPBackend.FLASH_ATTENTION]):
            for _ in range(3):
                chain(x, weights)
                compiled(x, weights)
            row["eager_s"][length] = period(partial(chain, x, weights), 0.15).median_s
            row["compiled_s"][length] = period(partial(compiled, x, weights), 0.15).median_s
    return row


def kernels(name: str) -> dict[str, int]:
    """The kernels of the longest compiled chain."""
    chain, shape, weight_shape, dtype_name, backend = CALLS[name]
    dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[dtype_name]
    x = torch.randn(shape, device="cuda", dtype=dtype)
    weights = [
        torch.randn(weight_shape, device="cuda", dtype=dtype) * 0.1 for _ in range(LENGTHS[-1])
    ]
    compiled: Any = torch.compile(chain)
    counts: dict[str, int] = {}
    with torch.no_grad(), sdpa_kernel([backend or SDPBackend.FLASH_ATTENTION]):
        compiled(x, weights)
        events = gpu_events(lambda: compiled(x, weights))
    for event in events:
        if event.get("cat") in GPU_EVENTS:
            counts[event["name"][:80]] = counts.get(event["name"][:80], 0) + 1
    return counts


def main() -> None:
    """Measure until the time limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=150.0)
    options = parser.parse_args()
    until = time.perf_counter() + options.seconds
    work = Step(REFERENCE, "cpu")
    with options.file.open("w", encoding="utf-8") as out:

        def say(row: dict[str, Any]) -> None:
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(json.dumps(row)[:200], flush=True)

        say({"machine": {"gpu": find().name, **versions()}, "host_index": suite(gpu=True)})
        for figures, share in ((measured, 0.75), (kernels, 1.0)):
            for name in CALLS:
                if time.perf_counter() > until - (1 - share) * options.seconds:
                    break
                row: dict[str, Any] = {"call": name}
                try:
                    row["host_s"] = period(work, 0.03, 3, "cpu").median_s
                    values = figures(name)
                    row |= {"kernels": values} if figures is kernels else values
                except Exception as error:  # a backend may refuse a call
                    row["failed"] = repr(error)[:300]
                say(row)
                torch._dynamo.reset()


if __name__ == "__main__":
    main()
