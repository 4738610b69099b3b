"""Record the kernels that attention launches, by mask, strides, dtype, lengths and mode.

`python -m calibration.measure.attention_paths FILE --seconds 110` on a machine with a GPU writes
one line of JSON per case, the most valuable first; a failed case's line holds its error. Parts:

- `network`: small networks from transformers with random weights, eager, captured and compiled: the
  kernels of a step in order with their seconds, its period and its GPU-busy time.
- `choice`: results of `torch._fused_sdp_choice` over the whole grid, with and without gradients.
- `kernels`: kernels and seconds of `scaled_dot_product_attention` at chosen points, warm and cold.
- `compiled`: ATen ops and kernels of the same call under torch.compile.
- `captured_kernels`: some of these points replayed from a CUDA graph.
- `capture`: whether a call can be captured in a CUDA graph, and torch's error if not.

`--dry-run` builds every case on the CPU and calls it once, untimed.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

from calibration.cases.calls.attention_points import GRID, POINTS, TIMED, Operands, Point, operands
from calibration.cases.calls.capture import calls
from calibration.cases.networks.transformers_small import NETWORKS, network
from calibration.measure.programs.attention_calls import (
    DispatchedOps,
    attend,
    capture,
    decomposed_ops,
)

Row = dict[str, Any]


CAPTURES_S = 15.0
"""Seconds for the captures, which run in a separate process, since a failed capture can break
it."""


class Paths:
    """Runs the cases on one device until the time limit."""

    def __init__(self, out: Any, seconds: float, dry: bool) -> None:
        self.out, self.dry = out, dry
        self.until = time.perf_counter() + seconds
        self.device = "cpu" if dry else "cuda"
        small = [(replace(point, batch=1, times=1), training) for point, training in TIMED[::6]]
        self.points = small if dry else TIMED

    def write(self, **row: Any) -> None:
        self.out.write(json.dumps(row, separators=(",", ":"), default=str) + "\n")
        self.out.flush()

    def is_over(self) -> bool:
        return time.perf_counter() > self.until

    @contextmanager
    def case(self, **row: Any) -> Generator[Row]:
        """A row to which the case adds its results or its error, and which is then written."""
        began = time.perf_counter()
        try:
            yield row
        except Exception as error:  # networks and kernels may raise any error
            row["failed"] = f"{type(error).__name__}: {error}"[:300]
        row["wall_s"] = round(time.perf_counter() - began, 3)
        self.write(**row)
        print(json.dumps(row, default=str)[:150], flush=True)

    def reset(self) -> None:
        """Discard compiled code and free memory."""
        torch._dynamo.reset()  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]
        gc.collect()
        if not self.dry:
            torch.cuda.empty_cache()

    # -- networks ---------------------------------------------------------------------------

    def networks(self, modes: tuple[str, ...]) -> None:
        for (name, masked), mode in product(NETWORKS, modes):
            if self.is_over():
                return
            self.reset()
            with self.case(part="network", network=name, masked=masked, mode=mode) as row:
                row["precision"], module, step = network(name, masked, self.device)
                if mode == "compiled" and not self.dry:
                    module.compile()
                self.step_of(row, step, mode)

    def step_of(self, row: Row, call: Callable[[], object], mode: str) -> None:

        def step() -> None:
            with torch.no_grad():
                call()

        for _ in range(1 if self.dry else 3):
            step()
        if mode == "eager":
            names = DispatchedOps()
            with names, torch.no_grad():
                call()
            row["ops"] = names.names
        if self.dry:
            return
        timing = importlib.import_module("calibration.measure.instruments.timing")
        recording = importlib.import_module("calibration.record.profiled")
        if mode == "captured":
            step = capture(step).replay
        if mode == "compiled":
            counters = importlib.import_module("torch._dynamo.utils").counters
            row["dynamo"] = {name: dict(counters[name]) for name in ("graph_break", "stats")}
        events = recording.gpu_events(step)
        row["gpu_busy_s"], row["launches"] = recording.busy_s(events)
        row["kernels"] = [
            [e["name"][:200], round(e["dur"] * 1e-6, 9)]
            for e in sorted(events, key=lambda e: e.get("ts", 0))
            if e.get("cat") in recording.GPU_EVENTS
        ]
        row["period_s"] = timing.period(step, 0.15, 3).median_s

    # -- one call ---------------------------------------------------------------------------

    def choices(self) -> None:
        """One row per dtype and mask with all points: [point, choice, choice with gradients]."""
        for dtype, mask in product(GRID["dtype"], GRID["mask"]):
            with self.case(part="choice", dtype=dtype, mask=mask) as row:
                row["fields"] = ["width", "lengths", "heads", "batch", "choice", "with_gradients"]
                row["found"] = [
                    self.choice(dtype, mask, rest) for rest in POINTS[:: 41 if self.dry else 1]
                ]

    def choice(self, dtype: str, mask: str, rest: tuple[Any, ...]) -> list[Any]:
        choices: list[Any] = []
        for training in (False, True):
            try:
                with torch.enable_grad() if training else torch.no_grad():
                    inputs = operands(Point(dtype, mask, *rest), self.device, training)
                    chosen = torch.ops.aten._fused_sdp_choice(*inputs.args, **inputs.kwargs)
                    choices.append(int(chosen))
            except RuntimeError as error:
                choices.append(str(error)[:80])
        return [*rest, *choices]

    def kernels(self) -> None:
        """Record the kernels of the points, sixty points per profiler session."""
        for first in range(0, len(self.points), 60):
            if self.is_over():
                return
            calls: list[tuple[Row, Callable[[], object]]] = []
            for point, training in self.points[first : first + 60]:
                row: Row = {"part": "kernels", **point.record(), "training": training}
                try:
                    inputs = operands(point, self.device, training)
                    names = DispatchedOps()
                    with names:
                        attend(inputs, training)
                    row["ops"] = names.names
                    calls.append((row, lambda x=inputs, training=training: attend(x, training)))
                except Exception as error:
                    self.write(**row, failed=str(error)[:300])
            if self.dry:
                for row, _ in calls:
                    self.write(**row)
                continue
            timing = importlib.import_module("calibration.measure.instruments.timing")
            kernels_of_call = timing.kernels([call for _, call in calls], [3] * len(calls))
            for (row, _), kernels in zip(calls, kernels_of_call, strict=True):
                self.write(**row, kernels=[[n[:200], warm, cold] for n, warm, cold in kernels])
            print(len(calls), "points", flush=True)

    def captured_kernels(self) -> None:
        """Kernels of every fifth point, replayed from a CUDA graph."""
        timing = importlib.import_module("calibration.measure.instruments.timing")
        for point, training in self.points[::5]:
            if self.is_over() or self.dry:
                return
            row = {"part": "kernels", **point.record(), "training": training, "captured": True}
            with self.case(**row) as result:
                inputs = operands(point, self.device, training)

                def call(inputs: Operands = inputs, training: bool = training) -> None:
                    attend(inputs, training)

                call()
                result["kernels"] = self.names(capture(call).replay)
                result["replayed_s"] = timing.replayed(call, 0.02).median_s

    def names(self, call: Callable[[], object]) -> list[Any]:
        recording = importlib.import_module("calibration.record.profiled")
        return [
            [e["name"][:200], round(e["dur"] * 1e-6, 9)]
            for e in sorted(recording.gpu_events(call), key=lambda e: e.get("ts", 0))
            if e.get("cat") in recording.GPU_EVENTS
        ]

    def compiled(self) -> None:
        """Every third point under torch.compile, points with masks first."""
        chosen = sorted(self.points, key=lambda case: case[0].mask in ("none", "causal"))
        for point, training in chosen[::3]:
            if self.is_over():
                return
            self.reset()
            row = {"part": "compiled", **point.record(), "training": training}
            with self.case(**row) as result:
                inputs = operands(point, self.device, training)
                result["ops"] = decomposed_ops(inputs)
                if self.dry:
                    continue
                run = torch.compile(scaled_dot_product_attention, dynamic=False)

                def call(run: Any = run, x: Operands = inputs, training: bool = training) -> None:
                    attend(x, training, run)

                call()
                call()
                result["kernels"] = self.names(call)

    # -- captures ---------------------------------------------------------------------------

    def captures(self) -> None:
        for name, call in calls(self.device):
            if self.is_over():
                return
            with self.case(part="capture", call=name) as row:
                call()
                if self.dry:
                    continue
                try:
                    capture(call)
                    row["captured"] = True
                except RuntimeError as error:
                    row["captured"] = False
                    row["said"] = str(error).splitlines()[0][:200]


def machine() -> Row:
    """Versions, GPU and host index of this machine."""
    device = importlib.import_module("calibration.measure.instruments.device")
    suite = importlib.import_module("calibration.measure.instruments.host_index").suite
    versions = {"gpu": device.find().name, **device.versions()}
    try:
        versions["transformers"] = importlib.import_module("transformers").__version__
    except ImportError:
        versions["transformers"] = None
    return {"machine": versions, "host_index": suite(gpu=True)}


PARTS: dict[str, Callable[[Paths], None]] = {
    "network": lambda paths: paths.networks(("eager", "captured")),
    "choice": Paths.choices,
    "kernels": Paths.kernels,
    "compiled_network": lambda paths: paths.networks(("compiled",)),
    "compiled": Paths.compiled,
    "captured_kernels": Paths.captured_kernels,
    "capture": Paths.captures,
}
"""The parts in running order; the last one runs in a separate process."""


def main() -> None:
    """Run the parts; each row is flushed at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=110.0)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="append only these parts")
    options = parser.parse_args()
    dry: bool = options.dry_run
    parts: list[str] = options.parts or [part for part in PARTS if dry or part != "capture"]
    spare_s = CAPTURES_S if "capture" not in parts else 0.0
    with options.file.open("a" if options.parts else "w") as out:
        paths = Paths(out, options.seconds - spare_s, dry)
        if not dry:
            torch.cuda.set_stream(torch.cuda.Stream())  # the default stream cannot be captured
            if not options.parts:
                paths.write(**machine())
        for part in parts:
            PARTS[part](paths)
    if options.parts or dry:
        return
    command = [sys.executable, "-m", "calibration.measure.attention_paths", str(options.file)]
    command += ["--parts", "capture", "--seconds", str(CAPTURES_S)]
    subprocess.run(command, timeout=60, check=False)


if __name__ == "__main__":
    main()
