"""The host suite and its index."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from calibration.measure.instruments.host_index import ON_CPU, ON_GPU, index, suite
from simulator.errors import InputError


def test_the_host_suite_on_the_cpu() -> None:
    emitted: list[tuple[float, str]] = []

    def timed(step: Any, budget_s: float, device: str) -> Any:
        step()
        emitted.append((budget_s, device))
        return SimpleNamespace(median_s=len(emitted) * 1e-3)

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        times = suite(False, timed)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert [name.split("/")[0] for name in times] == [*ON_CPU]
    assert times["views/fp32/inference/b4s0@cpu"] == 1e-3
    assert set(emitted) == {(0.25, "cpu")}
    assert 0.25 * (len(ON_CPU) + len(ON_GPU)) <= 5


def test_the_index_is_a_median_of_ratios() -> None:
    reference = {"a": 1.0, "b": 2.0, "c": 4.0, "other": 1.0}
    # the median of 2, 1.5 and 10
    assert index({"a": 2.0, "b": 3.0, "c": 40.0, "more": 9.0}, reference) == 2.0
    assert index(reference, reference) == 1.0
    with pytest.raises(InputError, match="no host case in common: found x, expected some of a, b"):
        index({"x": 1.0}, reference)
