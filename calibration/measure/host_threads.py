"""Time the host's threads in training steps: `python -m calibration.measure.host_threads FILE
--seconds 120`, on a machine with a GPU. `--suite` and `--only` choose other cases than `CASES`.

JSON lines: the machine with its processors, then rounds of fixed work on each processor, then a
line per case and placement of the process (`free`: the system places its threads; `one`: all
threads on the fastest processor).

    processors   seconds of the fixed work (`host_probes.bytecode`) on each processor, in turn
    main, backward
                 for each round the processor and the seconds of the fixed work in the thread that
                 runs the step and in the thread of the backward pass, just before the step
    phases_s     for each round the seconds of `host_phases.PHASES`
    period_s     seconds of a step, back to back
    collected    whether Python's garbage collector was on
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import re
import threading
import time
from pathlib import Path
from typing import Any, ClassVar, cast

import torch

from calibration.cases.case import Case, Step, infer, train
from calibration.cases.networks.layer_stacks import LAYERS
from calibration.cases.suites import SUITES
from calibration.measure.host_phases import phases_s
from calibration.measure.instruments.device import find, versions
from calibration.measure.instruments.host_index import suite
from calibration.measure.instruments.host_probes import bytecode
from calibration.measure.instruments.timing import period

ROUND_S = 1.0
"""Seconds of rounds for each case and placement."""
SETTLED_S = 0.3
CASES: tuple[Case, ...] = (
    *train("resnet50", "fp32", 2, 0, by="sgd"),
    *train("bert-base", "fp32", 2, 32, by="adamw"),
    *[c for c in SUITES["packages_third"] if c.phase == "training" and "wavlm" not in c.name],
    *[c for c in SUITES["packages_further"] if "hrnet" in c.name or "focalnet" in c.name],
)

STACKED: tuple[Case, ...] = tuple(
    case
    for kind in LAYERS
    for precision, by in (("fp32", "sgd"), ("bf16", "adamw"), ("autocast", "adamw_fused"))
    for case in (
        *(train(f"stack-{kind}", precision, 4, 0, by=by) if kind != "relu" else ()),
        *infer(f"stack-{kind}", precision, 4),
    )
)
"""Stacks of identical layers, timed with all threads on one processor. Those of
`nn.ReLU(inplace=True)` cannot be trained: each overwrites a tensor that the one before it needs."""

_C = ctypes.CDLL(None)


def timed_s() -> tuple[int, float]:
    """The processor of this thread, and the seconds of the fixed work: the faster of two."""
    seconds: list[float] = []
    for _ in range(2):
        began = time.perf_counter()
        bytecode()
        seconds.append(time.perf_counter() - began)
    return _C.sched_getcpu(), round(min(seconds), 8)


class _InBackward(torch.autograd.Function):
    """Runs the fixed work in the thread of the backward pass."""

    results: ClassVar[list[tuple[int, float]]] = []

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return x.view_as(x)

    @staticmethod
    def backward(ctx: object, *grads: torch.Tensor) -> torch.Tensor:
        _InBackward.results.append(timed_s())
        return grads[0]


def backward_timed_s() -> tuple[int, float]:
    """`timed_s` in the thread of the backward pass."""
    x = torch.ones(1, device="cuda", requires_grad=True)
    out = cast(torch.Tensor, _InBackward.apply(x))
    out.sum().backward()
    return _InBackward.results.pop()


def processors(rounds: int) -> list[list[float]]:
    """Seconds of the fixed work on each processor [rounds, processors]."""
    usable = sorted(os.sched_getaffinity(0))
    rows: list[list[float]] = []
    for _ in range(rounds):
        row: list[float] = []
        for processor in usable:
            os.sched_setaffinity(0, {processor})
            row.append(timed_s()[1])
        rows.append(row)
    os.sched_setaffinity(0, usable)
    return rows


def place(processors_allowed: set[int]) -> None:
    """Let every thread of this process run only on the given processors."""
    for task in Path("/proc/self/task").iterdir():
        try:
            os.sched_setaffinity(int(task.name), processors_allowed)
        except ProcessLookupError:  # the thread has ended
            continue


def measure(step: Step, *, collected: bool) -> dict[str, Any]:
    """Time rounds of a step on the processors of the current placement."""
    (gc.enable if collected else gc.disable)()
    row: dict[str, Any] = {"collected": collected, "main": [], "backward": [], "phases_s": []}
    settled = time.perf_counter() + SETTLED_S
    until = settled + ROUND_S
    while (now := time.perf_counter()) < until or len(row["phases_s"]) < 5:
        main_before, backward_before = timed_s(), backward_timed_s()
        phases = phases_s(step)
        if now >= settled:
            row["main"].append(main_before)
            row["backward"].append(backward_before)
            row["phases_s"].append([round(each, 8) for each in phases])
    row["period_s"] = round(period(step, budget_s=0.5 * ROUND_S).median_s, 8)
    gc.enable()
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--stacks", action="store_true", help="stacks of identical layers instead")
    parser.add_argument("--suite", choices=SUITES, help="training steps of a suite instead")
    parser.add_argument("--only", default="", help="regular expression on names")
    options = parser.parse_args()
    until = time.perf_counter() + options.seconds
    every = sorted(os.sched_getaffinity(0))
    with options.out.open("w") as out:

        def write(row: dict[str, Any]) -> None:
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
            out.flush()

        siblings = {
            path.parts[-3]: path.read_text().strip()
            for path in sorted(Path("/sys/devices/system/cpu").glob("cpu*/topology/core_cpus_list"))
        }
        machine = {"gpu": find().name, **versions(), "siblings": siblings}
        write({"machine": machine, "host_index": suite(gpu=True)})
        write({"processors": processors(8)})
        placements = (("free", True), ("one", True), ("free", False))
        cases = STACKED if options.stacks else CASES
        if options.suite:
            cases = [case for case in SUITES[options.suite] if case.phase == "training"]
        for case in (c for c in cases if re.search(options.only, c.name)):
            if time.perf_counter() > until:
                print("out of time before", case.name, flush=True)
                break
            try:
                step = Step(case, "cuda")
                for _ in range(4):
                    step()
                for placement, collected in placements[1:2] if options.stacks else placements:
                    seconds = processors(2)
                    fastest = every[
                        min(range(len(every)), key=lambda k: max(s[k] for s in seconds))
                    ]
                    place({fastest} if placement == "one" else set(every))
                    write(
                        {
                            "case": case.record(),
                            "placement": placement,
                            "processors": seconds,
                            "threads": threading.active_count(),
                            **measure(step, collected=collected),
                        }
                    )
                    place(set(every))
            except Exception as error:  # a network may raise any error
                place(set(every))
                write({"case": case.record(), "failed": repr(error)[:500]})
            print(case.name, flush=True)
            step = None
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
