"""Which kernels attention takes, by mask, strides, dtype, lengths and mode: `python -m
calibration.measure.attention_paths FILE --seconds 110` on a machine with a GPU.

One line of JSON a case, the most valuable first; a case that fails says so and the next one
follows. Its parts:

- `network`: small networks of transformers, random weights, in eager mode, captured and compiled:
  the kernels of a step in order with their seconds, its period and how long the GPU is busy.
- `choice`: what `torch._fused_sdp_choice` answers over the whole grid, with and without gradients.
- `kernels`: what `scaled_dot_product_attention` launches at chosen points, forward and with
  backward, with each kernel's seconds warm and cold.
- `compiled`: the same call under torch.compile: its ATen ops and its kernels.
- `captured_kernels`: some of these points replayed from a CUDA graph.
- `capture`: whether a call can be captured in a CUDA graph, and what torch says where it cannot.

`--dry-run` builds every case on the CPU and calls it once there, without a stopwatch.
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
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

from calibration.cases.attention_points import GRID, POINTS, TIMED, Operands, Point, operands
from calibration.cases.capture_calls import calls
from calibration.cases.transformer_networks import NETWORKS, network

Row = dict[str, Any]
CAPTURES_S = 15.0
"""Left for the part that runs in a process of its own: a failed capture may leave one broken."""


class Names(TorchDispatchMode):
    """Writes down the names of the ops dispatched."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Paths:
    """The cases on one device, until the time is over."""

    def __init__(self, out: Any, seconds: float, dry: bool) -> None:
        self.out, self.dry = out, dry
        self.until = time.perf_counter() + seconds
        self.device = "cpu" if dry else "cuda"
        small = [(replace(point, batch=1, times=1), training) for point, training in TIMED[::6]]
        self.points = small if dry else TIMED

    def write(self, **row: Any) -> None:
        self.out.write(json.dumps(row, separators=(",", ":"), default=str) + "\n")
        self.out.flush()

    def over(self) -> bool:
        return time.perf_counter() > self.until

    @contextmanager
    def case(self, **row: Any) -> Generator[Row]:
        """A row that is written with what the case found, or why it failed."""
        began = time.perf_counter()
        try:
            yield row
        except Exception as error:  # anything that a network or a kernel raises
            row["failed"] = f"{type(error).__name__}: {error}"[:300]
        row["wall_s"] = round(time.perf_counter() - began, 3)
        self.write(**row)
        print(json.dumps(row, default=str)[:150], flush=True)

    def ready(self) -> None:
        """Nothing compiled before, and no memory held."""
        torch._dynamo.reset()  # pyright: ignore[reportAttributeAccessIssue]
        gc.collect()
        if not self.dry:
            torch.cuda.empty_cache()

    # -- networks ---------------------------------------------------------------------------

    def networks(self, modes: tuple[str, ...]) -> None:
        for (name, masked), mode in product(NETWORKS, modes):
            if self.over():
                return
            self.ready()
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
            names = Names()
            with names, torch.no_grad():
                call()
            row["ops"] = names.names
        if self.dry:
            return
        timing = importlib.import_module("calibration.measure.timing")
        recording = importlib.import_module("calibration.record.profiled")
        if mode == "captured":
            step = captured(step).replay
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
        """Every point of the grid in one row a dtype and mask: [point, choice, with gradients]."""
        for dtype, mask in product(GRID["dtype"], GRID["mask"]):
            with self.case(part="choice", dtype=dtype, mask=mask) as row:
                row["fields"] = ["width", "lengths", "heads", "batch", "choice", "with_gradients"]
                row["found"] = [
                    self.choice(dtype, mask, rest) for rest in POINTS[:: 41 if self.dry else 1]
                ]

    def choice(self, dtype: str, mask: str, rest: tuple[Any, ...]) -> list[Any]:
        found: list[Any] = []
        for training in (False, True):
            try:
                with torch.enable_grad() if training else torch.no_grad():
                    got = operands(Point(dtype, mask, *rest), self.device, training)
                    found.append(int(torch.ops.aten._fused_sdp_choice(*got.args, **got.kwargs)))
            except RuntimeError as error:
                found.append(str(error)[:80])
        return [*rest, *found]

    def kernels(self) -> None:
        """Sixty points a profiler session."""
        for first in range(0, len(self.points), 60):
            if self.over():
                return
            calls: list[tuple[Row, Callable[[], object]]] = []
            for point, training in self.points[first : first + 60]:
                row: Row = {"part": "kernels", **point.record(), "training": training}
                try:
                    got = operands(point, self.device, training)
                    names = Names()
                    with names:
                        attend(got, training)
                    row["ops"] = names.names
                    calls.append((row, lambda got=got, training=training: attend(got, training)))
                except Exception as error:
                    self.write(**row, failed=str(error)[:300])
            if self.dry:
                for row, _ in calls:
                    self.write(**row)
                continue
            timing = importlib.import_module("calibration.measure.timing")
            found = timing.kernels([call for _, call in calls], [3] * len(calls))
            for (row, _), kernels in zip(calls, found, strict=True):
                self.write(**row, kernels=[[n[:200], warm, cold] for n, warm, cold in kernels])
            print(len(calls), "points", flush=True)

    def captured_kernels(self) -> None:
        """Every fifth point again, replayed from a graph."""
        timing = importlib.import_module("calibration.measure.timing")
        for point, training in self.points[::5]:
            if self.over() or self.dry:
                return
            row = {"part": "kernels", **point.record(), "training": training, "captured": True}
            with self.case(**row) as found:
                got = operands(point, self.device, training)

                def call(got: Operands = got, training: bool = training) -> None:
                    attend(got, training)

                call()
                found["kernels"] = self.names(captured(call).replay)
                found["replayed_s"] = timing.replayed(call, 0.02).median_s

    def names(self, call: Callable[[], object]) -> list[Any]:
        recording = importlib.import_module("calibration.record.profiled")
        return [
            [e["name"][:200], round(e["dur"] * 1e-6, 9)]
            for e in sorted(recording.gpu_events(call), key=lambda e: e.get("ts", 0))
            if e.get("cat") in recording.GPU_EVENTS
        ]

    def compiled(self) -> None:
        """A third of the points under torch.compile, the ones with masks first."""
        chosen = sorted(self.points, key=lambda each: each[0].mask in ("none", "causal"))
        for point, training in chosen[::3]:
            if self.over():
                return
            self.ready()
            row = {"part": "compiled", **point.record(), "training": training}
            with self.case(**row) as found:
                got = operands(point, self.device, training)
                found["ops"] = lowered(got)
                if self.dry:
                    continue
                run = torch.compile(scaled_dot_product_attention, dynamic=False)

                def call(run: Any = run, got: Operands = got, training: bool = training) -> None:
                    attend(got, training, run)

                call()
                call()
                found["kernels"] = self.names(call)

    # -- captures ---------------------------------------------------------------------------

    def captures(self) -> None:
        for name, call in calls(self.device):
            if self.over():
                return
            with self.case(part="capture", call=name) as row:
                call()
                if self.dry:
                    continue
                try:
                    captured(call)
                    row["captured"] = True
                except RuntimeError as error:
                    row["captured"] = False
                    row["said"] = str(error).splitlines()[0][:200]


def captured(call: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """A graph of one call, replayed once. Raises what the capture raised, its traces mended."""
    torch.cuda.synchronize()
    graph, pool = torch.cuda.CUDAGraph(), torch.cuda.graph_pool_handle()
    try:
        graph.capture_begin(pool=pool)
        try:
            call()
        finally:
            graph.capture_end()
        graph.replay()
        torch.cuda.synchronize()
    except RuntimeError:
        importlib.import_module("calibration.measure.timing").mend(pool)
        raise
    return graph


def attend(got: Operands, training: bool, by: Any = scaled_dot_product_attention) -> None:
    """One call, and its backward pass."""
    with nullcontext() if training else torch.no_grad():
        out = by(*got.args[:3], **got.call)
        if training:
            torch.autograd.grad(out.sum(), [t for t in got.args[:3] if t.requires_grad])


def lowered(got: Operands) -> list[str]:
    """The ops of the forward pass as AOTAutograd hands them to Inductor."""
    from torch._inductor.decomposition import select_decomp_table
    from torch.fx.experimental.proxy_tensor import make_fx

    def call(q: Any, k: Any, v: Any, mask: Any) -> Any:
        options = {**got.call, "attn_mask": mask}
        return scaled_dot_product_attention(q, k, v, **options)

    graph = make_fx(call, select_decomp_table(), tracing_mode="fake")(
        *[t.detach() for t in got.args[:3]], got.call["attn_mask"]
    )
    return [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]


def machine() -> Row:
    """What runs here, and how fast its host is."""
    device = importlib.import_module("calibration.measure.device")
    suite = importlib.import_module("calibration.measure.host_index").suite
    found = {"gpu": device.find().name, **device.versions()}
    try:
        found["transformers"] = importlib.import_module("transformers").__version__
    except ImportError:
        found["transformers"] = None
    return {"machine": found, "host_index": suite(gpu=True)}


PARTS: dict[str, Callable[[Paths], None]] = {
    "network": lambda paths: paths.networks(("eager", "captured")),
    "choice": Paths.choices,
    "kernels": Paths.kernels,
    "compiled_network": lambda paths: paths.networks(("compiled",)),
    "compiled": Paths.compiled,
    "captured_kernels": Paths.captured_kernels,
    "capture": Paths.captures,
}
"""In the order in which they run; the last in a process of its own."""


def main() -> None:
    """Every part, each row flushed as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=110.0)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--parts", nargs="+", choices=PARTS, help="append these parts alone")
    options = parser.parse_args()
    dry: bool = options.dry_run
    parts: list[str] = options.parts or [part for part in PARTS if dry or part != "capture"]
    spare_s = CAPTURES_S if "capture" not in parts else 0.0
    with options.file.open("a" if options.parts else "w") as out:
        paths = Paths(out, options.seconds - spare_s, dry)
        if not dry:
            torch.cuda.set_stream(torch.cuda.Stream())  # nothing is captured on the default one
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
