"""Time products before and after the import of packages: `python -m
calibration.measure.programs.package_settings FILE`, on a machine with a GPU.

JSON lines, one for each package in a process of its own:

    before, after  microseconds of the host for `mm`, `bmm` and `addmm` of small float16 matrices,
                   for `mm` of float32 ones, and for an addition
    tf32           whether float32 products may run in TF32 afterwards
    env            environment variables that the import set
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

PACKAGES = (
    "cupy", "numba", "jax", "torchvision", "cv2", "accelerate", "transformers", "diffusers",
    "monai", "pandas", "matplotlib.pyplot", "torchaudio", "torch_geometric", "speechbrain",
    "ultralytics", "torch._dynamo", "torch._inductor.compile_fx", "kornia", "e3nn", "onnx",
    "pynvml", "triton",
)  # fmt: skip
_CALLS, _ROUNDS = 200, 5


def host_us(call: Callable[[], object]) -> float:
    """Microseconds of the host for a call, the least of some rounds."""
    rounds: list[float] = []
    for _ in range(_ROUNDS):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(_CALLS):
            call()
        rounds.append((time.perf_counter() - began) / _CALLS)
    return round(min(rounds) * 1e6, 1)


def calls_us() -> dict[str, float]:
    """Microseconds of each call."""
    x, w = torch.randn(4, 64, device="cuda"), torch.randn(64, 64, device="cuda")
    half, weight = x.half(), w.half()
    calls: dict[str, Callable[[], object]] = {
        "mm": lambda: x.mm(w),
        "mm16": lambda: half.mm(weight),
        "addmm16": lambda: torch.addmm(weight[0], half, weight),
        "bmm16": lambda: torch.bmm(half[None], weight[None]),
        "add": lambda: x + 1.0,
    }
    return {name: host_us(call) for name, call in calls.items()}


def measure(package: str) -> dict[str, Any]:
    """The times before and after the import of a package in this process."""
    before, known = calls_us(), dict(os.environ)
    row: dict[str, Any] = {"package": package, "before": before}
    try:
        import_module(package)
    except ImportError as error:
        row["failed"] = str(error)
    row["after"] = calls_us()
    row["tf32"] = torch.backends.cuda.matmul.allow_tf32
    row["env"] = {name: value for name, value in os.environ.items() if known.get(name) != value}
    return row


def main() -> None:
    """Measure each package in a process of its own, one after another."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--package", help="measure this one in this process")
    options = parser.parse_args()
    if options.package:
        with options.out.open("a") as out:
            out.write(json.dumps(measure(options.package)) + "\n")
        return
    for package in PACKAGES:
        command = [
            sys.executable,
            "-m",
            "calibration.measure.programs.package_settings",
            str(options.out),
        ]
        subprocess.run([*command, "--package", package], check=False)


if __name__ == "__main__":
    main()
