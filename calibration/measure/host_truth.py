"""Time host-bound steps, each together with fixed host work: `python -m
calibration.measure.host_truth OUT.jsonl --seconds 130`, on a machine with a GPU.

The first line describes the machine. Each further line is a case: rounds of (probes, cold, alone,
steady), then the probes once more.

    probes   seconds of each run of the fixed work, by name
             (`calibration.measure.instruments.host_probes`)
    cold     seconds until the host returns from single steps, in the 20 ms after the probes
    alone    (issue, latency) of single steps from an idle GPU: until the host has issued it, and
             until the GPU is done
    steady   seconds per step in a block back to back, and the number of steps

If a step can be captured, `graph` has the period of its replay, which is nearly its GPU-busy time.
`--dry` runs every case once on the CPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import time
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

import torch

from calibration.cases.case import Case, Step
from calibration.cases.networks.host_ops import WAITING
from calibration.cases.steps.host_truth import CATALOGUE, COMPILED, MICRO_CASES, PACKAGED_CASES
from calibration.measure.instruments.host_index import suite
from calibration.measure.instruments.host_probes import Probes
from calibration.measure.instruments.timing import period

COLD_S, ALONE, STEADY_S, ROUNDS = 0.02, 3, 0.04, 3
COMPILED_S = 30.0
"""Seconds reserved at the end for compiled steps."""


def machine() -> dict[str, Any]:
    """Versions, the fields of the first processor in /proc/cpuinfo, and the clocks of all
    processors."""
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "compiler": platform.python_compiler(),
    }
    for package in ("transformers", "timm", "triton", "numpy"):
        try:
            facts[package] = __import__(package).__version__
        except Exception as error:  # not installed, or broken
            facts[package] = repr(error)[:80]
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        text = listing.read_text(errors="replace")
        pairs = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
        first = {name.strip(): value.strip() for name, _, value in pairs}
        facts["cpuinfo"] = first
        facts["mhz"] = [
            float(line.split(":")[1]) for line in text.splitlines() if line.startswith("cpu MHz")
        ]
    if torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name()
    return facts


class Clocked:
    """Times cases on a device."""

    def __init__(self, device: Literal["cuda", "cpu"]) -> None:
        self.device: Literal["cuda", "cpu"] = device
        self.probes = Probes(device)
        self.wait = self.probes.wait
        self.dry = device == "cpu"

    def case(self, case: Case) -> dict[str, Any]:
        step = Step(case, self.device)
        step()
        if self.dry:
            return {"case": case.record(), "rounds": []}
        for _ in range(3):
            step()
        self.wait()
        rounds = [self.round(step) for _ in range(ROUNDS)]
        row = {
            "case": case.record(),
            "rounds": rounds,
            "after": self.probes.seconds(),
            "at_s": round(time.time(), 2),
            "load": os.getloadavg()[0],
        }
        if case.phase == "inference" and case.mode == "eager" and _capturable(case):
            row["graph"] = replayed_s(step)
        return row

    def round(self, step: Step) -> dict[str, Any]:
        probes = self.probes.seconds()
        cold: list[float] = []
        until = time.perf_counter() + COLD_S
        while (began := time.perf_counter()) < until and len(cold) < 40:
            step()
            cold.append(round(time.perf_counter() - began, 8))
        self.wait()
        alone: list[tuple[float, float]] = []
        for _ in range(ALONE):
            began = time.perf_counter()
            step()
            issued = time.perf_counter()
            self.wait()
            alone.append((round(issued - began, 8), round(time.perf_counter() - began, 8)))
        steps = max(3, min(400, int(STEADY_S / max(alone[-1][0], 1e-6))))
        began = time.perf_counter()
        for _ in range(steps):
            step()
        self.wait()
        seconds = (time.perf_counter() - began) / steps
        return {"probes": probes, "cold": cold, "alone": alone, "steady": [seconds, steps]}


def _capturable(case: Case) -> bool:
    """Whether the case can be captured. Cases whose host waits for the GPU are not tried, since a
    failed capture breaks the process's random generator."""
    waits = case.network.removeprefix("ops-") in {*WAITING, "randn", "dropout"}
    return not waits and not any(
        part in case.network
        for part in ("mixtral", "index", "t5", "whisper", "clip", "dlrm", "bart")
    )


def replayed_s(step: Step) -> dict[str, Any]:
    """The period of a CUDA graph of the step and the host's time to launch a replay, or the reason
    why the step cannot be captured."""
    try:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        graph.replay()
        torch.cuda.synchronize()
        began = time.perf_counter()
        graph.replay()
        launch_s = time.perf_counter() - began
        torch.cuda.synchronize()
        return {"period_s": period(graph.replay, 0.03, 3).median_s, "ask_s": launch_s}
    except Exception as error:
        torch.cuda.synchronize()
        return {"failed": repr(error)[:200]}


def by_turns() -> Iterator[Case]:
    """Cases in turn from three groups: a network of a package, a network of the catalogue and three
    micro-cases, until all are done."""
    thrice = zip_longest(*[iter(MICRO_CASES)] * 3)
    for packaged, own, micro in zip_longest(PACKAGED_CASES, CATALOGUE, thrice):
        yield from (case for case in (packaged, own, *(micro or ())) if case is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=130.0)
    parser.add_argument("--dry", action="store_true", help="every case on the CPU")
    options = parser.parse_args()
    until = time.perf_counter() + options.seconds
    eager_until = until - min(COMPILED_S, 0.3 * options.seconds)
    clocked = Clocked("cpu" if options.dry else "cuda")
    with options.out.open("w") as out:

        def write(row: dict[str, Any]) -> None:
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
            out.flush()

        index = {} if options.dry else suite(gpu=True)
        write({"machine": machine(), "host_index": index, "cases": len([*by_turns()])})

        def run(case: Case) -> None:
            began = time.perf_counter()
            try:
                row = clocked.case(case)
            # a package may be missing, and a network may raise any error
            except Exception as error:
                row: dict[str, Any] = {"case": case.record(), "failed": repr(error)[:500]}
            row["took_s"] = round(time.perf_counter() - began, 3)
            write(row)
            outcome = row.get("failed", "dry")
            if row.get("rounds"):
                outcome = f"{row['rounds'][-1]['steady'][0] * 1e6:9.1f} µs"
            print(f"{row['took_s']:5.2f} s  {case.name}: {outcome}"[:160], flush=True)
            gc.collect()

        for case in by_turns():
            if time.perf_counter() > (until if options.dry else eager_until):
                print("time ran out before", case.name, flush=True)
                break
            run(case)
        for case in () if options.dry else COMPILED:
            if time.perf_counter() > until - 25:
                break
            run(case)
        write({"machine_after": machine(), "host_index": {} if options.dry else suite(gpu=True)})


if __name__ == "__main__":
    main()
