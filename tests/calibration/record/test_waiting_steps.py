"""Steps that wait for the GPU, which are not captured in a graph."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from calibration.cases.case import Case
from calibration.measure.instruments.host_probes import Probes
from calibration.record import times

CASE = Case("resnet18", "fp32", "inference", 1)


class Steps:
    """Steps on a GPU in whose place `waits` says whether they wait for it."""

    def __init__(self, waits: bool) -> None:
        self.waits = waits
        self.modes: list[str] = ["default"]

    def set_mode(self, mode: str) -> None:
        self.modes.append(mode)

    def __call__(self) -> None:
        if self.waits and self.modes[-1] == "error":
            raise RuntimeError("called a synchronizing CUDA operation")


@pytest.mark.parametrize("waits", [False, True])
def test_a_step_that_waits_for_the_gpu_is_not_captured(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(waits)

    def nothing(*values: object) -> Any:
        return {}

    for name in ("synchronize", "reset_peak_memory_stats", "memory_allocated",
                 "max_memory_allocated"):  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, nothing)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", steps.set_mode)
    monkeypatch.setattr(times, "Step", lambda case, device: steps)
    for name in ("period", "latency", "asdict"):
        monkeypatch.setattr(times, name, nothing)
    monkeypatch.setattr(times, "Probes", lambda device: Probes("cpu"))
    monkeypatch.setattr(times, "_graph", lambda step, budget: "captured")
    watch: Any = type("Watch", (), {"reading": lambda self: {}})()
    row = times.times(CASE, watch, whole=True)
    assert row.get("graph") == (None if waits else "captured")
    assert steps.modes == ["default", "error", "default"]
