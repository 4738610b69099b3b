"""Measure serving of Llama-3-8B on a GPU: `python -m calibration.measure.serving FILE --seconds
110`.

Writes JSON lines: first the machine and its host's fixed work. Then, as the time allows,

    step     a prefill or a decode of `calibration.cases.steps.serving`: seconds per step, back to
             back and alone: eager, with the host's probes, and as a replayed CUDA graph
    serving  a load served by continuous batching, decodes as CUDA graphs or eager: seconds of each
             request's first and last token, and of each iteration; first with all requests at once,
             then at shares of the rate that this run reached
    static   one batch: its prefill, then its decodes
    energy   joules of a repeated prefill and of a repeated decode
    kernels  the profiler's kernels of a few eager steps: name, number, total seconds

`--dry` tries the script on a host without a GPU.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch

from calibration.cases.energy.cases import EnergyCase
from calibration.cases.steps import serving as loads
from calibration.cases.steps.serving import NETWORK, SHARES, TINY, WHOLE, Load, Point, Suite
from calibration.measure.energy import measured
from calibration.measure.instruments.device import cpu, versions
from calibration.measure.instruments.gpu_events import GPU_EVENTS, gpu_events
from calibration.measure.instruments.host_index import suite as host_suite
from calibration.measure.instruments.host_probes import Probes
from calibration.measure.instruments.nvml import FakeMeter, Meter, Nvml
from calibration.measure.instruments.timing import latency, period
from calibration.measure.programs.batching import Run, run
from calibration.measure.programs.server import LlamaServer, captured
from simulator.networks.catalogue import build
from simulator.networks.sequences.llama import Llama
from simulator.networks.sequences.llama_decode import LlamaDecode

Call = Callable[[], object]
Row = dict[str, Any]
STEP_S = 0.25
KERNELS_S = 9.0
"""Seconds reserved for the kernels at the end."""
_PERCENTILES = (50, 90, 99)


class Measuring:
    """The network on a device, and the parts of the measurement."""

    def __init__(self, suite: Suite, device: Literal["cuda", "cpu"]) -> None:
        self.suite = suite
        self.device: Literal["cuda", "cpu"] = device
        self.shrink = 1 if device == "cuda" else 32
        torch.manual_seed(0)
        dtype = torch.bfloat16
        torch.set_default_dtype(dtype)
        try:
            with torch.device(device):
                self.decode = cast(LlamaDecode, build(NETWORK, **suite.sizes).eval())
        finally:
            torch.set_default_dtype(torch.float32)
        shared: Any = copy.copy(self.decode)
        shared.__class__ = Llama  # the decode network has the same weights
        self.prefill: Llama = shared
        self.probes = Probes(device)
        self.server: LlamaServer | None = None

    def call(self, point: Point) -> Call:
        """A step of this point, with prepared operands."""
        module = self.decode if point.kind == "decode" else self.prefill
        with torch.device(self.device):
            inputs = module.example_inputs(point.batch, point.tokens)
        return lambda: module(*inputs)

    @torch.no_grad()
    def step(self, point: Point) -> Row:
        """Time a step in eager mode, then captured."""
        call = self.call(point)
        call()
        eager = self._timed(call)
        row: Row = {"eager": eager, "probes": self.probes.seconds()}
        if self.device == "cuda":
            row["graph"] = self._timed(captured(call, torch.cuda.graph_pool_handle()).replay)
        return row

    def _timed(self, call: Call) -> Row:
        steady = period(call, STEP_S, 3, self.device)
        row: Row = {"period_s": steady.median_s, "relative_iqr": round(steady.relative_iqr, 4)}
        if self.device == "cuda":
            row["latency_s"] = latency(call, 0.1).median_s
        return row

    def served(self, engine: str, load: Load, seconds: float) -> Row:
        """Serve a load with an engine, "graph" or "eager", and return its times."""
        suite = self.suite
        graphs = engine == "graph" and self.device == "cuda"
        if self.server is None or self.server.graphs != graphs:
            self.server = None
            gc.collect()
            self.server = LlamaServer(
                self.decode, suite.slots, suite.length, suite.batches, suite.contexts, graphs
            )
            few = Load([0.0] * 4, [640 // self.shrink] * 4, [4] * 4)
            run(self.server, few, suite.slots, suite.token_budget)
        gc.collect()
        gc.disable()
        try:
            served = run(self.server, load, suite.slots, suite.token_budget, until_s=seconds)
        finally:
            gc.enable()
        return {
            "rules": {"token_budget": suite.token_budget, "max_requests": suite.slots},
            "probes": self.probes.seconds(),
            **_summary(load, served),
            "arrival_s": _rounded(load.arrival_s),
            "prompt": load.prompt,
            "output": load.output,
            "first_s": _rounded(served.first_s),
            "last_s": _rounded(served.last_s),
            "iterations": [[round(v, 6) for v in each] for each in served.iterations],
        }

    @torch.no_grad()
    def static(self) -> Row:
        """Seconds of one batch: its prefill, and each of its decodes, as graphs if captured."""
        batch, prompt, answer = self.suite.static
        prefill = self.call(Point("prefill", batch, prompt))
        prefill()
        server = self.server
        if server is None:
            raise RuntimeError("no server could be built: its calls failed")
        wait: Call = torch.cuda.synchronize if self.device == "cuda" else int
        wait()
        marks = [time.perf_counter()]
        prefill()
        wait()
        marks.append(time.perf_counter())
        for token in range(1, answer):
            server.iterate(batch, batch * (prompt + token - 1), [])
            marks.append(time.perf_counter())
        return {
            "batch": batch,
            "prompt": prompt,
            "answer": answer,
            "seconds": [round(s, 6) for s in np.diff(marks).tolist()],
        }

    @torch.no_grad()
    def kernels(self, point: Point) -> Row:
        """The kernels of an eager step, longest first."""
        call = self.call(point)
        call()
        seconds: dict[str, list[float]] = {}
        for event in gpu_events(call):
            if event.get("cat") in GPU_EVENTS:
                seconds.setdefault(event["name"], []).append(event["dur"] * 1e-6)
        longest = sorted(seconds.items(), key=lambda each: -sum(each[1]))
        return {"kernels": [[name, len(s), float(f"{sum(s):.5g}")] for name, s in longest]}


def _rounded(values: list[float]) -> list[float | None]:
    return [None if np.isnan(v) else round(v, 6) for v in values]


def _summary(load: Load, served: Run) -> Row:
    """Percentiles in seconds over answered requests, tokens per second, and mean decodes."""
    arrival, output = np.array(load.arrival_s), np.array(load.output)
    first, last = np.array(served.first_s), np.array(served.last_s)
    done = ~np.isnan(last)
    if not done.any():
        return {"answered": 0}
    each = (last - first)[done] / np.maximum(output[done] - 1, 1)
    decoding = [i for i in served.iterations if i[2]]
    return {
        "answered": int(done.sum()),
        "first_token_s": np.percentile((first - arrival)[done], _PERCENTILES).tolist(),
        "per_token_s": np.percentile(each, _PERCENTILES).tolist(),
        "tokens_per_s": float(output[done].sum() / np.nanmax(last)),
        "mean_batch": float(np.mean([i[2] for i in decoding])) if decoding else 0.0,
    }


def parts(measuring: Measuring, meter: Meter) -> Iterator[Row]:
    """The parts to measure, most valuable first. Each is a row with the first fields of a line;
    "of" holds the function that returns the other fields, and "takes_s" the seconds that must be
    left to begin the part."""
    suite = measuring.suite
    for point in suite.points:
        head = {"part": "step", "kind": point.kind, "batch": point.batch, "tokens": point.tokens}
        yield {**head, "of": lambda p=point: measuring.step(p), "takes_s": 3.0}
    for engine in ("graph", "eager"):
        rates: list[float] = []

        def at_once(engine: str = engine, rates: list[float] = rates) -> Row:
            row = measuring.served(engine, loads.burst(suite.burst, measuring.shrink), 12.0)
            rates.append(row["answered"] / max(s for s in row["last_s"] if s))
            return row

        def at_share(share: float, engine: str = engine, rates: list[float] = rates) -> Row:
            if not rates:
                raise RuntimeError("unknown largest rate: the run that measures it failed")
            rate = share * rates[0]
            load = loads.poisson(rate, suite.load_s, measuring.shrink)
            return {"rate_per_s": rate, **measuring.served(engine, load, suite.load_s + 6)}

        head = {"part": "serving", "engine": engine}
        yield {**head, "share": None, "of": at_once, "takes_s": 8.0 + KERNELS_S}
        for share in SHARES:
            yield {
                **head,
                "share": share,
                "of": lambda s=share, f=at_share: f(s),
                "takes_s": suite.load_s + 2 + KERNELS_S,
            }
            if share == SHARES[0] and engine == "graph":
                yield {"part": "static", "of": measuring.static, "takes_s": 4.0}
        if engine == "graph":
            yield from _energy(measuring, meter)
    for point in suite.points[:6] if measuring.device == "cuda" else ():  # profiled at the end
        head = {"part": "kernels", "kind": point.kind, "batch": point.batch, "tokens": point.tokens}
        yield {**head, "of": lambda p=point: measuring.kernels(p), "takes_s": 2.0}


def _energy(measuring: Measuring, meter: Meter) -> Iterator[Row]:
    scale = 0.85 if measuring.device == "cuda" else 0.05
    for point in measuring.suite.energy:
        case = EnergyCase(point.kind, lambda _, __, p=point: measuring.call(p))
        head = {"part": "energy", "kind": point.kind, "batch": point.batch, "tokens": point.tokens}
        yield {
            **head,
            "of": lambda c=case: measured(c, meter, measuring.device, 1, scale),
            "takes_s": 5.0,
        }


def main() -> None:
    """Measure until the time limit; a failed part leaves a line with the reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=110.0)
    parser.add_argument("--dry", action="store_true", help="without a GPU: a tiny network")
    options = parser.parse_args()
    until = time.perf_counter() + options.seconds
    device: Literal["cuda", "cpu"] = "cpu" if options.dry else "cuda"
    meter: Meter = FakeMeter()
    gpu = "none"
    if not options.dry:
        torch.cuda.set_stream(torch.cuda.Stream())  # captures need a separate stream
        properties = torch.cuda.get_device_properties()
        gpu, meter = properties.name, Nvml(str(properties.uuid))

    def left_s() -> float:
        return until - time.perf_counter()

    with options.file.open("w", encoding="utf-8") as file:

        def line(row: Row) -> None:
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
            file.flush()

        machine = {"gpu": gpu, "cpu": cpu(), **versions(), **meter.limits()}
        line({"machine": machine, "host_index": {} if options.dry else host_suite(gpu=True)})
        measuring = Measuring(TINY if options.dry else WHOLE, device)
        for part in parts(measuring, meter):
            make, takes_s = part.pop("of"), part.pop("takes_s")
            if not options.dry and left_s() < takes_s:
                line({**part, "left_out": "time"})
                continue
            began = time.perf_counter()
            try:
                part |= make()
            except Exception as error:  # a part may raise any error
                part["failed"] = f"{type(error).__name__}: {str(error)[:400]}"
            part["took_s"] = round(time.perf_counter() - began, 2)
            line(part)
            print(_progress_line(part), flush=True)
            gc.collect()
            if device == "cuda":
                torch.cuda.empty_cache()
        line({"ended": round(options.seconds - left_s(), 2)})


def _progress_line(row: Row) -> str:
    names = ("part", "kind", "engine", "share", "batch", "tokens", "eager", "graph", "answered",
             "first_token_s", "per_token_s", "tokens_per_s", "mean_batch", "sustained_s",
             "power_w", "failed", "took_s")  # fmt: skip
    return str({name: row[name] for name in names if name in row})[:400]


if __name__ == "__main__":
    main()
