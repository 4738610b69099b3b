"""Profiler traces of real steps, as a user's own PyTorch profiler would write them.

`python -m calibration.record.profiler_traces FOLDER` writes a `NAME.json.gz` for each. It needs a
CUDA GPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from calibration.cases.case import Case, Step

STEPS = {
    "bert-base": Case("bert-base", "bf16", "inference", 8, 128),
    "resnet50": Case("resnet50", "autocast", "training", 16, 0, "sgd"),
    "gpt2": Case("gpt2", "autocast", "training", 2, 256, "adamw", {"layers": 4}),
    "mlp-tiny": Case("mlp-tiny", "fp32", "inference", 32),
}


def main() -> None:
    """Profile each step once, after three warm-up steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, case in STEPS.items():
        step = Step(case, "cuda")
        for _ in range(3):
            step()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            step()
            torch.cuda.synchronize()
        profiler.export_chrome_trace(str(folder / f"{name}.json.gz"))
        print(name, flush=True)


if __name__ == "__main__":
    main()
