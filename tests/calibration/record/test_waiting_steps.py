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
    """Steps on a GPU that fail with `error` where waiting for the GPU is an error."""

    def __init__(self, error: str) -> None:
        self.error = error
        self.modes: list[str] = ["default"]

    def set_mode(self, mode: str) -> None:
        self.modes.append(mode)

    def __call__(self) -> None:
        if self.error and self.modes[-1] == "error":
            raise RuntimeError(self.error)


def row_of(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The row of a case whose steps are these."""

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
    return times.times(CASE, watch, whole=True)


@pytest.mark.parametrize("error", ["", "called a synchronizing CUDA operation"])
def test_a_step_that_waits_for_the_gpu_is_not_captured(
    error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(error)
    assert row_of(steps, monkeypatch).get("graph") == (None if error else "captured")
    assert steps.modes == ["default", "error", "default"]


def test_another_error_is_not_taken_for_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps("CUDA out of memory")
    with pytest.raises(RuntimeError, match="out of memory"):
        row_of(steps, monkeypatch)
    assert steps.modes == ["default", "error", "default"]
