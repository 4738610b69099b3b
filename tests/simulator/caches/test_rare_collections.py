"""Sweeps rarely collect garbage, and leave Python's thresholds as they were."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from simulator.analysis.sweep import sweep
from simulator.caches.garbage import few_collections
from simulator.scenario.scenario import Scenario


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("before", "within"),
    [
        ((700, 10, 10), (200_000, 10, 10)),
        ((300_000, 5, 5), (300_000, 5, 5)),
        ((0, 10, 10), (0, 10, 10)),  # collection is off
    ],
)
def test_thresholds_return(before: tuple[int, int, int], within: tuple[int, int, int]) -> None:
    gc.set_threshold(*before)
    with pytest.raises(ValueError, match="inside"), few_collections():
        assert gc.get_threshold() == within
        raise ValueError("inside")
    assert gc.get_threshold() == before


def test_a_sweep_of_many_rows_hardly_collects() -> None:
    collected: list[str] = []

    def count(phase: str, info: dict[str, int]) -> None:
        collected.append(phase)

    axes = {"batch": range(1, 251), "queue_depth": (64, 128, 256, 512)}
    sweep(Scenario("chain"), axes)
    gc.set_threshold(700, 10, 10)
    gc.callbacks.append(count)
    try:
        assert len(sweep(Scenario("chain"), axes)) == 1000
    finally:
        gc.callbacks.remove(count)
    # one before and one after the sweep; without the context 12
    assert collected.count("start") <= 4
