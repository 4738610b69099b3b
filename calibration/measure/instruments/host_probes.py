"""Fixed host work of a few milliseconds, which gives the current speed of the interpreter, the
dispatcher and the driver.

It runs next to each measured case, in the same second. Each probe takes 0.1 to 0.4 ms on a fast
host.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

import torch
from torch import nn

WIDTH = 64
Probe = Callable[[], None]


class Probes:
    """The probes of a device. `seconds()` runs each probe several times and returns all times by
    name."""

    def __init__(self, device: Literal["cuda", "cpu"]) -> None:
        self.wait: Callable[[], object] = torch.cuda.synchronize if device == "cuda" else int
        self.probes: dict[str, Probe] = {
            "bytecode": bytecode,
            "calls": _calls,
            "attributes": _Attributes(),
            "modules": _Modules(),
            "views": _Views("cpu"),
            "adds": _Adds("cpu"),
        }
        if device == "cuda":
            self.probes |= {
                "gpu_views": _Views("cuda"),
                "launches": _AddsInPlace("cuda"),
                "gpu_adds": _Adds("cuda"),
                "products": _Products("cuda"),
                "events": _Events(),
            }

    def seconds(self, times: int = 3) -> dict[str, list[float]]:
        """Seconds of each run, by probe; the GPU is idle before each."""
        runs: dict[str, list[float]] = {}
        with torch.no_grad():
            for name, probe in self.probes.items():
                rows = runs[name] = []
                for _ in range(times):
                    self.wait()
                    began = time.perf_counter()
                    probe()
                    rows.append(round(time.perf_counter() - began, 8))
        self.wait()
        return runs


def bytecode() -> None:
    """Additions and comparisons of integers in the interpreter."""
    a, b = 1, 2
    for _ in range(3000):
        a = b + 1 if a > b else b - 1


def _nothing(value: int) -> int:
    return value


def _calls() -> None:
    for i in range(2000):
        _nothing(i)


class _Attributes:
    def __init__(self) -> None:
        self.value = 1

    def __call__(self) -> None:
        for _ in range(3000):
            self.value  # noqa: B018


class _Modules:
    def __init__(self) -> None:
        self.child = nn.Identity()

    def __call__(self) -> None:
        child = self.child
        for _ in range(200):
            child(1)


class _Views:
    def __init__(self, device: str) -> None:
        self.x = torch.randn(4, WIDTH, device=device)

    def __call__(self) -> None:
        x = self.x
        for _ in range(100):
            x.view(-1, WIDTH)


class _Adds:
    def __init__(self, device: str) -> None:
        self.x = torch.randn(4, WIDTH, device=device)

    def __call__(self) -> None:
        x = self.x
        for _ in range(50):
            x + 1.0  # pyright: ignore[reportUnusedExpression]


class _AddsInPlace(_Adds):
    def __call__(self) -> None:
        x = self.x
        for _ in range(50):
            x.add_(1.0)


class _Products:
    def __init__(self, device: str) -> None:
        self.x = torch.randn(4, WIDTH, device=device)
        self.matrix = torch.randn(WIDTH, WIDTH, device=device)

    def __call__(self) -> None:
        x, matrix = self.x, self.matrix
        for _ in range(25):
            x.mm(matrix)


class _Events:
    def __init__(self) -> None:
        self.event = torch.cuda.Event()

    def __call__(self) -> None:
        event = self.event
        for _ in range(100):
            event.record()
