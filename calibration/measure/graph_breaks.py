"""Measure the cost of a graph break in a compiled step.

`python -m calibration.measure.graph_breaks FILE` measures it on a machine with a GPU; without FILE,
the predictions are compared with the packaged measurement. A small network has a break after some
of its blocks: the slope of the time over the number of breaks is the time of one more graph.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from calibration.measure.instruments.device import find, versions
from calibration.measure.instruments.host_index import suite
from calibration.measure.instruments.timing import period
from simulator import predict_trace
from simulator import trace as traced

if TYPE_CHECKING:
    from simulator.records import Trace

FILE = Path(__file__).parents[1] / "measurements" / "h200_sxm" / "graph_breaks.json"
BREAKS = (0, 4, 16, 48)
BLOCKS = 48
WIDTH = 64


class Broken(nn.Module):
    """Blocks, with the graph broken after each of the first `breaks`. The calls are written out,
    because a break inside a loop would prevent compilation of the enclosing function."""

    def __init__(self, breaks: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Part(BLOCKS // max(breaks, 1)) for _ in range(max(breaks, 1)))
        self.run = _chain(len(self.parts), bool(breaks))

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self.parts, x)


class Part(nn.Module):
    """Matrix products with an activation after each."""

    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def _chain(parts: int, breaks: bool) -> Callable[[nn.ModuleList, Tensor], Tensor]:
    """A function whose lines call the parts one after another."""
    lines = ["def run(parts, x):"]
    for number in range(parts):
        lines.append(f"    x = parts[{number}](x)")
        lines += ["    graph_break()"] * breaks
    names: dict[str, Any] = {
        "graph_break": torch._dynamo.graph_break  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]
    }
    exec(compile("\n".join([*lines, "    return x"]), "broken.py", "exec"), names)
    return names["run"]


def measured_s(breaks: int, training: bool, mode: str | None = None) -> float:
    """Seconds per step, back to back, in a mode of torch.compile."""
    torch._dynamo.reset()  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]
    module = Broken(breaks).cuda().train(training)
    run: Any = torch.compile(module, mode=mode)
    x = torch.randn(4, WIDTH, device="cuda")

    def step() -> None:
        if not training:
            with torch.no_grad():
                run(x)
            return
        run(x).pow(2).mean().backward()
        for weight in module.parameters():
            weight.grad = None

    for _ in range(5):
        step()
    return period(step).median_s


def measure(path: Path) -> None:
    """Time every step, in inference and in training, and write the times with the host's speed."""
    machine = {"gpu": find().name, **versions()}
    steps: list[dict[str, Any]] = []
    for training in (False, True):
        for breaks in BREAKS:
            seconds = measured_s(breaks, training)
            steps.append({"breaks": breaks, "training": training, "measured_s": seconds})
            print(json.dumps(steps[-1]), flush=True)
    recording = {"machine": machine, "host_index": suite(gpu=True), "steps": steps}
    path.write_text(json.dumps(recording, indent=1) + "\n")


def step_of(breaks: int, training: bool) -> Trace:
    """A trace of the measured step; needs no GPU."""
    return traced(
        Broken(breaks),
        (torch.zeros(4, WIDTH),),
        phase="training" if training else "inference",
        optimizer=None,
    )


def predicted_s(breaks: int, training: bool) -> float:
    """The same step, predicted by the partition rules with the reference host."""
    return predict_trace(step_of(breaks, training), mode="compiled").period_s


def recorded(training: bool) -> list[tuple[int, float]]:
    """The number of breaks and the seconds of each recorded step; the step without a break is
    first."""
    steps = json.loads(FILE.read_text())["steps"]
    return [(s["breaks"], s["measured_s"]) for s in steps if s["training"] == training]


def slopes(training: bool) -> tuple[float, float]:
    """Seconds that one more graph adds on the reference host, measured and predicted. The step
    without a break gives the speed of the host."""
    rows = recorded(training)
    slower = rows[0][1] / predicted_s(rows[0][0], training)
    counts = [breaks for breaks, _ in rows[1:]]
    timed_s = [seconds / slower for _, seconds in rows[1:]]
    modelled_s = [predicted_s(breaks, training) for breaks in counts]
    each_s = [float(np.polyfit(counts, each, 1)[0]) for each in (timed_s, modelled_s)]
    return each_s[0], each_s[1]


def validate() -> None:
    """Print each step's period, then the time that one more graph adds."""
    for training in (False, True):
        print("training" if training else "inference")
        for breaks, timed_s in recorded(training):
            modelled_s = predicted_s(breaks, training)
            timed_ms, modelled_ms = timed_s * 1e3, modelled_s * 1e3
            print(f"{breaks:4} breaks: {timed_ms:.3f} ms measured, {modelled_ms:.3f} ms predicted")
        timed_s, modelled_s = slopes(training)
        print(
            f"one more graph: {timed_s * 1e6:.0f} us measured, {modelled_s * 1e6:.0f} us predicted"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]))
    else:
        validate()
