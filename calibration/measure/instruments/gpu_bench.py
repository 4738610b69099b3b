"""A bench on a GPU: prepares the calls of points, times them, and reads their kernels."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch

from calibration.measure.instruments.device import Device, Watch
from calibration.measure.instruments.kernels import Kernel
from calibration.measure.instruments.timing import kernels, replayed
from calibration.sweeps.registry import Call, Point

BATCH = 60
"""Points per profiler session, because a session is slow to start."""


class GpuBench:
    """One GPU, on a separate stream, since the default one does not allow captures.

    `time` and `hold` keep a point's call, with its operands, until `kernels` has read its kernels
    and releases it.
    """

    def __init__(self, device: Device, watch: Watch) -> None:
        self.watch = watch
        self.memory_bytes = device.memory_bytes
        self.held: dict[str, tuple[Point, Call, int]] = {}
        torch.cuda.set_stream(torch.cuda.Stream())
        with torch.device("cuda"):
            self._a = torch.randn(4096, 4096, dtype=torch.bfloat16)
            self._b = torch.randn(4096, 4096, dtype=torch.bfloat16)
            self._from = torch.randn(2**26)  # 256 MiB
            self._to = torch.empty(2**26)

    def _make(self, point: Point) -> Call:
        torch.manual_seed(0)
        with torch.device("cuda"):
            return point.make()

    def time(self, point: Point) -> dict[str, Any]:
        """Time a point and return the timing fields of its sample. Raises the errors of the
        call."""
        call = self.held[point.name][1] if point.name in self.held else self._make(point)
        reading: dict[str, Any] = {}
        timing = asdict(replayed(call, during=lambda: reading.update(self.watch.reading())))
        # for a call of 5 ms, two runs are as accurate as five
        self.held[point.name] = (point, call, 5 if timing["median_s"] < 5e-3 else 2)
        for key in ("median_s", "relative_iqr"):
            timing[key] = float(f"{timing[key]:.5g}")
        share = self.watch.other_processes(torch.cuda.memory_reserved())
        return {"warm": timing, **reading, "other_processes": share}

    def hold(self, point: Point) -> None:
        """Keep a point that was timed before, for its kernels."""
        call = self._make(point)
        call()
        self.held[point.name] = (point, call, 3)

    def full(self) -> bool:
        """Whether the held points reach the limit of one session, in number or in memory."""
        return len(self.held) >= BATCH or torch.cuda.memory_allocated() > self.memory_bytes / 4

    def kernels(self) -> list[tuple[Point, list[Kernel] | str]]:
        """The kernels of all held points, or the error; releases the points."""
        points_held = list(self.held.values())
        self.held.clear()
        launches = _read(points_held)
        if isinstance(launches, str):  # one point broke the common session, so each gets its own
            launches = [result for each in points_held for result in _alone(each)]
        points = [point for point, _, _ in points_held]
        points_held.clear()
        torch.cuda.empty_cache()
        return list(zip(points, launches, strict=True))

    def reference(self) -> dict[str, float]:
        """Seconds of a product that draws much power, and of a copy from and to DRAM."""
        times = {
            "product_s": replayed(lambda: torch.mm(self._a, self._b), 0.04).median_s,
            "copy_s": replayed(lambda: self._to.copy_(self._from), 0.04).median_s,
        }
        return {name: float(f"{seconds:.5g}") for name, seconds in times.items()}

    def works(self) -> bool:
        """Whether CUDA still works; it does not after an illegal access, until the process ends."""
        try:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        except RuntimeError:
            return False
        return True


def _read(calls: list[tuple[Point, Call, int]]) -> list[list[Kernel] | str] | str:
    try:
        return [*kernels([call for _, call, _ in calls], [runs for _, _, runs in calls])]
    except Exception as error:  # a sweep's call may raise any error
        return f"{type(error).__name__}: {str(error)[:300]}"


def _alone(each: tuple[Point, Call, int]) -> list[list[Kernel] | str]:
    kernels = _read([each])
    return [kernels] if isinstance(kernels, str) else kernels
