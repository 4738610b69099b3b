"""Networks of packages against measurements on an H200: the host of each step, and the table's
groups.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from calibration.record.host_rounds import beside, quiet
from calibration.record.read import Recording, recordings, timed
from calibration.validate.packages import BESIDE, DEFAULT, compared, hosts
from simulator.hardware.host import host
from simulator.hardware.host_speed import PYTHON

CASE = {"name": "net/fp16/inference/b1s0", "phase": "inference"}
GRAPH = {"period": {"median_s": 1.1}, "gpu_busy_s": 1.0, "kernels": 10}


def recording(period_s: float, graph: dict[str, Any] | None = None) -> Recording:
    return Recording(CASE, [], period_s, 0.0, period_s, 1.0, 10, 0, 0, graph)


def prediction(period_s: float, interval_s: tuple[float, float]) -> Any:
    return SimpleNamespace(
        period_s=period_s, interval_s=interval_s, gpu_busy_s=0.9, kernel_count=11
    )


def rows(row: Recording, mode: str) -> list[tuple[Any, ...]]:
    by_host = {BESIDE: prediction(2.2, (1.0, 2.1)), DEFAULT: prediction(1.0, (0.5, 1.5))}
    return [(o.group, o.figure, round(o.ratio, 3), o.covered) for o in compared(row, mode, by_host)]


def test_a_step_of_1_25_times_its_busy_time_is_decided_by_its_host() -> None:
    host_bound, gpu_bound = "eager inference, host-bound", "eager inference, GPU-bound"
    common = [
        ("eager", "GPU busy", 0.9, None),
        ("eager", "kernels", 1.1, None),
    ]
    assert rows(recording(2.0), "eager") == [
        (f"{host_bound}, host timed alongside", "period", 1.1, True),
        (f"{host_bound}, default host", "period", 0.5, False),
        *common,
    ]
    assert rows(recording(1.25), "eager") == [
        (f"{gpu_bound}, host timed alongside", "period", 1.76, True),
        (f"{gpu_bound}, default host", "period", 0.8, True),
        *common,
    ]


def test_a_graph_is_compared_with_its_own_times() -> None:
    assert rows(recording(2.0), "cuda_graph") == []
    group = "cuda_graph inference"
    assert rows(recording(2.0, GRAPH), "cuda_graph") == [
        (f"{group}, GPU-bound, host timed alongside", "period", 2.0, True),
        (f"{group}, GPU-bound, default host", "period", 0.909, True),
        ("cuda_graph", "GPU busy", 0.9, None),
        ("cuda_graph", "kernels", 1.1, None),
    ]


def test_the_host_of_a_step_lies_between_its_probes() -> None:
    before = {name: [2 * s] for name, s in quiet().items()}
    after = {name: [8 * s, 9 * s, 7 * s] for name, s in quiet().items()}
    # √(2·8) = 4 times as long as the reference; the default host takes 1.577 times as long as the
    # reference in the interpreter, and 1.488 times in the rest
    slow = beside((before, after))
    for name, seconds in host().seconds.items():
        of_default = 1.5772 if name in PYTHON else 1.488
        assert slow.seconds[name] == pytest.approx(seconds * 4 / of_default, rel=1e-3)


def test_measured_steps_have_the_probes_around_them() -> None:
    bert = next(recordings("packages"))
    assert bert.name == "hf-bert-base/bf16/inference/b32s128" and bert.probes is not None
    before, after = bert.probes
    assert before["launches"] == [0.00037962, 0.00034479, 0.00036187]
    assert after["launches"] == [0.00053614, 0.0004755, 0.00043912]
    assert list(hosts(bert)) == ["host timed alongside", "default host"]
    # 1.132 times the reference before the step and 1.487 after: √(1.132·1.487) / 1.488 = 0.872
    assert hosts(bert)[BESIDE].launch_s == pytest.approx(0.872 * host().launch_s, rel=1e-3)
    assert all(step.probes is not None for step in timed("packages_compiled"))


def test_a_step_without_probes_has_the_default_host_alone() -> None:
    old = next(timed("compiled_validation"))
    assert old.probes is None
    assert list(hosts(old)) == list(hosts(None)) == ["default host"]
