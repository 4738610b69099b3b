"""Measure when the kernels of recurrent layers run, eager and in a CUDA graph: `python -m
calibration.measure.recurrent_graphs FILE`, on a machine with a GPU.

cuDNN launches both directions of a layer, and stacked layers, on streams of its own. Launched one
by one, their kernels wait for the host; in a graph they run at once. JSON lines: the machine, then
a line per layer and pass.

    kernels   the names of the kernels that ran
    eager     a profiled call: for each kernel, in order of its start, the index of its name, of its
              stream, its start and its duration in units of 10 ns
    graph     the same for a replay of a CUDA graph of the call
    replay_s  seconds of a replay without the profiler, the median of several blocks
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import torch

from calibration.measure.instruments.cuda_graph import captured
from calibration.measure.instruments.device import find, versions
from calibration.measure.instruments.gpu_events import GPU_EVENTS, gpu_events
from calibration.sweeps.operands import DTYPES
from calibration.sweeps.recurrent import CELLS

_PRECISIONS = ("fp32", "fp16", "bf16")
_BLOCKS, _REPLAYS = 5, 20
_LONGEST_S = 1e-2
"""Replays of longer graphs are fewer."""


def variants() -> Iterator[dict[str, Any]]:
    """The layers: kind, dtype, layers, directions, hidden size, batch, steps and pass."""
    stacks = [(1, False), (1, True), (2, False), (2, True), (3, False)]
    sizes = [(64, 32, 24), (128, 8, 40), (256, 32, 50), (256, 1, 24), (512, 16, 40),
             (1024, 64, 24)]  # fmt: skip
    for kind, dtype, (layers, both), (hidden, batch, steps) in product(
        CELLS, _PRECISIONS, stacks, sizes
    ):
        if kind == "rnn" and (dtype != "fp32" or hidden in (64, 1024)):
            continue
        for training in (False, True):
            if training and (batch == 1 or hidden == 1024 or layers == 3):
                continue
            yield {
                "kind": kind,
                "dtype": dtype,
                "layers": layers,
                "bidirectional": both,
                "hidden": hidden,
                "batch": batch,
                "steps": steps,
                "training": training,
            }


def call(variant: dict[str, Any]) -> Callable[[], object]:
    """The forward pass of a layer over [steps, batch, hidden], with its backward pass in
    training."""
    dtype, hidden = DTYPES[variant["dtype"]], variant["hidden"]
    layer = CELLS[variant["kind"]](
        hidden, hidden, variant["layers"], bidirectional=variant["bidirectional"],
        device="cuda", dtype=dtype,
    )  # fmt: skip
    x = torch.randn(variant["steps"], variant["batch"], hidden, device="cuda", dtype=dtype)
    if not variant["training"]:
        layer.eval()

        def infer() -> object:
            with torch.no_grad():
                return layer(x)

        return infer
    x.requires_grad_()
    parameters = [*layer.parameters(), x]

    def train() -> object:
        out = layer(x)[0]
        return torch.autograd.grad(out.sum(), parameters)

    return train


def timeline(step: Callable[[], object], names: list[str]) -> list[list[int]]:
    """The kernels of a profiled step, as in the module's description; extends `names`."""
    events = [e for e in gpu_events(step) if e.get("cat") in GPU_EVENTS]
    events.sort(key=lambda event: event["ts"])
    streams: dict[Any, int] = {}
    rows: list[list[int]] = []
    for event in events:
        name = event["name"][:120]
        if name not in names:
            names.append(name)
        stream = streams.setdefault(event["args"].get("stream"), len(streams))
        start = event["ts"] - events[0]["ts"]
        rows.append([names.index(name), stream, round(start * 100), round(event["dur"] * 100)])
    return rows


def replay_s(graph: torch.cuda.CUDAGraph) -> float:
    """Seconds of a replay, back to back."""
    graph.replay()
    torch.cuda.synchronize()
    seconds: list[float] = []
    replays = _REPLAYS
    for _ in range(_BLOCKS):
        began = time.perf_counter()
        for _ in range(replays):
            graph.replay()
        torch.cuda.synchronize()
        seconds.append((time.perf_counter() - began) / replays)
        if seconds[-1] > _LONGEST_S:
            replays = 4
    return median(seconds)


def measure(variant: dict[str, Any]) -> dict[str, Any]:
    """The two timelines of a layer."""
    step, names = call(variant), list[str]()
    for _ in range(3):
        step()
    graph = captured(step)
    row = {**variant, "replay_s": round(replay_s(graph), 9)}
    row["eager"] = timeline(step, names)
    row["graph"] = timeline(graph.replay, names)
    return {**row, "kernels": names}


def main() -> None:
    """Measure the layers in random order until the time ends."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    until = time.perf_counter() + options.seconds
    every = list(variants())
    Random(0).shuffle(every)  # so that a part of them covers all kinds
    with options.out.open("w") as out:

        def write(row: dict[str, Any]) -> None:
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
            out.flush()

        write({"machine": {"gpu": find().name, **versions()}})
        for variant in every:
            if time.perf_counter() > until:
                break
            try:
                write(measure(variant))
            except Exception as error:  # a dtype may be refused
                write({**variant, "failed": repr(error)[:200]})


if __name__ == "__main__":
    main()
