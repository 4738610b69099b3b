"""What a break of a compiled step's graph costs, measured beside its prediction: `python -m
calibration.graph_breaks` on a machine with a GPU.

Blocks of a small network with a break after each; the slope over the number of breaks is what one
more graph takes. It prints a line of JSON for each step, then the slopes in seconds a graph.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from calibration.timing import period
from simulator import predict_trace
from simulator import trace as traced

BREAKS = (0, 4, 16, 48)
BLOCKS = 48
WIDTH = 64


class Broken(nn.Module):
    """Blocks, with the graph broken after each of the first `breaks`; written out without a loop
    over breaks, which would keep the function around them from being compiled."""

    def __init__(self, breaks: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList(Part(BLOCKS // max(breaks, 1)) for _ in range(max(breaks, 1)))
        self.run = _chain(len(self.parts), bool(breaks))

    def forward(self, x: Tensor) -> Tensor:
        return self.run(self.parts, x)


class Part(nn.Module):
    """Products with an activation after each."""

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
        "graph_break": torch._dynamo.graph_break  # pyright: ignore[reportAttributeAccessIssue]
    }
    exec(compile("\n".join([*lines, "    return x"]), "broken.py", "exec"), names)
    return names["run"]


def measured_s(breaks: int, training: bool) -> float:
    """Seconds a step, back to back."""
    torch._dynamo.reset()  # pyright: ignore[reportAttributeAccessIssue]
    module = Broken(breaks).cuda().train(training)
    run: Any = torch.compile(module)
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


def predicted_s(breaks: int, training: bool) -> float:
    """The same, as level 2 predicts it."""
    step = traced(
        Broken(breaks), (torch.zeros(4, WIDTH),), phase="training" if training else "inference",
        optimizer=None,
    )  # fmt: skip
    return predict_trace(step, mode="compiled").period_s


def main() -> None:
    """Measure, and print slopes."""
    for training in (False, True):
        rows = [(n, measured_s(n, training), predicted_s(n, training)) for n in BREAKS]
        for breaks, was, said in rows:
            print(json.dumps({"breaks": breaks, "training": training, "measured_s": was,
                              "predicted_s": said}), flush=True)  # fmt: skip
        counts, was, said = np.array(rows[1:]).T
        slopes = [float(np.polyfit(counts, each, 1)[0]) for each in (was, said)]
        print(json.dumps({"training": training, "graph_s": slopes[0], "predicted": slopes[1]}))


if __name__ == "__main__":
    main()
