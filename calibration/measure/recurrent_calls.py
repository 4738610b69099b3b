"""Time the host's part of recurrent layers: `python -m calibration.measure.recurrent_calls FILE`,
on a machine with a GPU.

JSON lines: the machine with its host index, then a line per layer (kind, layers, directions, width)
and way of calling it (dtype, autocast, training).

    calls_s   seconds until the host returns from a call, the mean of a block of calls that starts
              with an idle GPU, for each block
    backward_s
              the same for the backward pass of a call, in training
    ops       the number of calls of each operator in one forward call, from the profiler
    probes    the host's fixed work before and after (`calibration.measure.instruments.host_probes`)
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from calibration.measure.instruments.device import find, versions
from calibration.measure.instruments.host_index import suite
from calibration.measure.instruments.host_probes import Probes

BLOCKS, CALLS = 5, 8
KINDS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
STEPS, BATCH = 8, 4


def variants() -> Iterator[dict[str, Any]]:
    """The layers and the ways of calling them."""
    shapes = [(1, False, 64), (1, True, 64), (2, False, 64), (2, True, 96), (1, True, 320)]
    for kind, (layers, both, width) in product(KINDS, shapes):
        for called in ("fp32", "fp16", "bf16", "autocast fp16", "autocast bf16"):
            for training in (False, True):
                yield {
                    "kind": kind,
                    "layers": layers,
                    "bidirectional": both,
                    "width": width,
                    "called": called,
                    "training": training,
                }


class Called(nn.Module):
    """A recurrent layer, called as a variant specifies."""

    def __init__(self, variant: Mapping[str, Any], device: str) -> None:
        super().__init__()
        self.is_cast = str(variant["called"]).startswith("autocast")
        self.dtype = DTYPES[str(variant["called"]).removeprefix("autocast ")]
        self.layer = KINDS[variant["kind"]](
            variant["width"],
            variant["width"],
            variant["layers"],
            bidirectional=variant["bidirectional"],
            batch_first=True,
            device=device,
            dtype=torch.float32 if self.is_cast else self.dtype,
        )
        self.train(variant["training"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cast = torch.autocast("cuda", self.dtype, enabled=self.is_cast, cache_enabled=False)
        with torch.set_grad_enabled(self.training), cast:
            return self.layer(x)[0]


def operand(variant: Mapping[str, Any], device: str) -> torch.Tensor:
    """The input of a layer [BATCH, STEPS, width]."""
    called = str(variant["called"])
    dtype = torch.float32 if called.startswith("autocast") else DTYPES[called]
    return torch.randn(BATCH, STEPS, variant["width"], device=device, dtype=dtype)


def measure(variant: dict[str, Any], probes: Probes) -> dict[str, Any]:
    """Time the calls of a layer."""
    layer, x = Called(variant, "cuda"), operand(variant, "cuda")
    for _ in range(3):
        out = layer(x)
    before = probes.seconds()
    calls_s: list[float] = []
    backward_s: list[float] = []
    for _ in range(BLOCKS):
        torch.cuda.synchronize()
        began = time.perf_counter()
        outs = [layer(x) for _ in range(CALLS)]
        calls_s.append((time.perf_counter() - began) / CALLS)
        if variant["training"]:
            gradients = [torch.ones_like(out) for out in outs]
            torch.cuda.synchronize()
            began = time.perf_counter()
            for out, gradient in zip(outs, gradients, strict=True):
                out.backward(gradient)
            backward_s.append((time.perf_counter() - began) / CALLS)
        del outs
    return {
        **variant,
        "calls_s": [round(s, 9) for s in calls_s],
        "backward_s": [round(s, 9) for s in backward_s],
        "probes": [before, probes.seconds()],
    }


def operators(variant: dict[str, Any]) -> dict[str, int]:
    """The number of calls of each operator in a forward call."""
    layer, x = Called(variant, "cuda"), operand(variant, "cuda")
    with torch.no_grad():
        layer(x)
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            layer(x)
            torch.cuda.synchronize()
    return dict(Counter(event.name for event in profiler.events() or ()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    probes = Probes("cuda")
    rows: list[dict[str, Any]] = []
    with options.out.open("w") as out:

        def write(row: dict[str, Any]) -> None:
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
            out.flush()

        write({"machine": {"gpu": find().name, **versions()}, "host_index": suite(gpu=True)})
        for variant in variants():
            try:
                row = measure(variant, probes)
                rows.append(row)
            except Exception as error:  # a dtype may be refused
                row = {**variant, "failed": repr(error)[:300]}
            write(row)
        for variant in variants():  # the profiler slows all later calls, so it comes last
            if not variant["training"]:
                write({**variant, "ops": operators(variant)})
        print(f"{len(rows)} layers timed", flush=True)


if __name__ == "__main__":
    main()
