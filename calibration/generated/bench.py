"""A bench for generated kernels that also records their configurations and code."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

from torch._inductor.codecache import PyCodeCache

from calibration.measure.instruments.device import Device, Watch
from calibration.measure.instruments.gpu_bench import GpuBench
from calibration.sweeps.registry import Point


class GeneratedBench(GpuBench):
    """Samples get `configurations`: each generated kernel's name, tile, warps, registers, spilled
    registers and shared bytes. The code of each point goes to `sources`, one line of JSON per
    point.
    """

    def __init__(self, device: Device, watch: Watch, sources: Path) -> None:
        super().__init__(device, watch)
        self.sources = sources

    def time(self, point: Point) -> dict[str, Any]:
        before = len(PyCodeCache.modules)
        timing = super().time(point)
        modules = PyCodeCache.modules[before:]
        choices = [each for module in modules for each in configurations(module)]
        if modules:
            texts = [Path(module.__file__ or "").read_text() for module in modules]
            with self.sources.open("a") as out:
                out.write(json.dumps({"point": point.name, "sources": texts}) + "\n")
        return timing | ({"configurations": choices} if choices else {})


def configurations(module: ModuleType) -> list[dict[str, Any]]:
    """The generated kernels of a module that Inductor wrote, as tuned in their first run; fields
    that this version of torch does not report are None."""
    choices: list[dict[str, Any]] = []
    for name, kernel in vars(module).items():
        launchers = getattr(kernel, "launchers", None)
        if not name.startswith("triton_") or not launchers:
            continue
        launcher = launchers[0]
        config = getattr(launcher, "config", None)
        choices.append(
            {
                "kernel": name,
                "tile": dict(getattr(config, "kwargs", {})),
                "warps": getattr(config, "num_warps", None),
                "stages": getattr(config, "num_stages", None),
                "registers": getattr(launcher, "n_regs", None),
                "spilled": getattr(launcher, "n_spills", None),
                "shared_bytes": getattr(launcher, "shared", None),
            }
        )
    return choices
