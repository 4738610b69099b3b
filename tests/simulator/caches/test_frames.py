"""Calls at any depth map no new memory if there is room for their frames."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from simulator.caches.frames import with_room

resource = pytest.importorskip("resource")
CALLS, DEPTHS = 400, 400


def leaf() -> None:
    """A call whose frame is larger than that of `faults_below`, so that at some depth only this
    frame does not fit."""


leaf.__code__ = leaf.__code__.replace(co_stacksize=64)


def faults_below(depth: int) -> list[int]:
    """The number of pages that the system maps during many calls, at each depth of nested calls up
    to `depth`."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        leaf()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return [faults, *(faults_below(depth - 1) if depth else ())]


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="other interpreters' frames")
def test_calls_at_no_depth_map_memory_again_and_again() -> None:
    with ThreadPoolExecutor(1) as thread:  # with a stack of its own
        without = thread.submit(faults_below, DEPTHS).result()
        faults = thread.submit(with_room, partial(faults_below, DEPTHS)).result()
    assert max(without) >= CALLS  # the premise: at some depths, each call maps a page
    assert max(faults) < CALLS / 4


def test_results_and_errors_pass_through() -> None:
    assert with_room(lambda: 3) == 3
    with pytest.raises(ValueError, match="inside"):
        with_room(partial(int, "inside"))
