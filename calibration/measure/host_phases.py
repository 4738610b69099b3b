"""Time the phases of training steps on the host: `python -m calibration.measure.host_phases FILE
--seconds 120`, on a machine with a GPU.

JSON lines: the machine with its host index, then a line per case.

    forward_s, backward_s, update_s, clear_s
             seconds until the host returns from each phase (`clear` is `zero_grad`) in steps that
             start with an idle GPU; the median of the rounds
    done_s   seconds until the GPU is done
    probes   the host's fixed work before and after (`calibration.measure.instruments.host_probes`)
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from calibration.cases.case import Case, Step, train
from calibration.cases.suites import SUITES
from calibration.measure.instruments.device import find, versions
from calibration.measure.instruments.host_index import suite
from calibration.measure.instruments.host_probes import Probes

PHASES = ("forward_s", "backward_s", "update_s", "clear_s", "done_s")
ROUND_S = 1.2
"""Seconds of rounds for each case."""
CASES: tuple[Case, ...] = (
    *[c for c in SUITES["packages_third"] if c.phase == "training" and "wavlm" not in c.name],
    *[
        c
        for c in SUITES["packages_second"]
        if c.phase == "training" and re.search(r"yolos|shvit|clipseg|efficientvit", c.name)
    ],
    *[
        c
        for network, seq in (("resnet18", 0), ("resnet50", 0), ("gpt2", 32), ("bert-base", 32))
        for optimizer in ("sgd", "adamw")
        for c in train(network, "fp32", 2, seq, by=optimizer)
    ],
)


def phases_s(step: Step) -> list[float]:
    """Seconds of `PHASES` of a step that starts with an idle GPU; 0 for phases that it lacks."""
    torch.cuda.synchronize()
    at = [time.perf_counter()]
    with torch.set_grad_enabled(step.training):
        out = step.forward()
    at.append(time.perf_counter())
    if step.training:
        out.loss.backward()
    at.append(time.perf_counter())
    if step.optimizer is not None:
        step.update()
    at.append(time.perf_counter())
    if step.optimizer is not None:
        step.optimizer.zero_grad()
    at.append(time.perf_counter())
    torch.cuda.synchronize()
    return [*np.diff(at).tolist(), time.perf_counter() - at[0]]


def measure(case: Case) -> dict[str, Any]:
    """Time the phases of a case."""
    step = Step(case, "cuda")
    assert step.optimizer is not None
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    probes = Probes("cuda")
    before = probes.seconds()
    rounds: list[list[float]] = []
    until = time.perf_counter() + ROUND_S
    while time.perf_counter() < until or len(rounds) < 5:
        rounds.append(phases_s(step))
    middle = np.median(np.array(rounds), axis=0)
    return {
        "case": case.record(),
        **{name: round(float(s), 8) for name, s in zip(PHASES, middle, strict=True)},
        "rounds": len(rounds),
        "weights": sum(1 for _ in step.module.parameters()),
        "probes": [before, probes.seconds()],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    options = parser.parse_args()
    until = time.perf_counter() + options.seconds
    with options.out.open("w") as out:
        machine = {"gpu": find().name, **versions()}
        out.write(json.dumps({"machine": machine, "host_index": suite(gpu=True)}) + "\n")
        for case in CASES:
            if time.perf_counter() > until:
                print("out of time before", case.name, flush=True)
                break
            try:
                row = measure(case)
            except Exception as error:  # a network may raise any error
                row = {"case": case.record(), "failed": repr(error)[:500]}
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
            out.flush()
            print(case.name, {k: row.get(k) for k in (*PHASES, "failed")}, flush=True)
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
