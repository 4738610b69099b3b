"""Sweeps return free memory to the system, at most every 30 s, and keep no objects."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from simulator.analysis import sweep as sweeps
from simulator.analysis.sweep import sweep
from simulator.caches import garbage
from simulator.caches.garbage import MemoryReturn
from simulator.scenario.scenario import Scenario

AXES = {"batch": (1, 2, 4, 8), "queue_depth": (64, 512)}
_CACHED = type(lru_cache(int))


class Clock:
    now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(garbage, "time", clock)
    return clock


def test_memory_returns_at_most_every_thirty_seconds(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    returned_s: list[float] = []
    monkeypatch.setattr(garbage, "return_memory", lambda: returned_s.append(clock.now_s))
    return_seldom = MemoryReturn()
    for now_s in (1000.0, 1029.9, 1030.0, 1030.1, 1059.9, 1100.0, 1129.9, 1130.0):
        clock.now_s = now_s
        return_seldom()
    assert returned_s == [1030.0, 1100.0, 1130.0]


@pytest.fixture
def free_bytes() -> Iterator[int]:
    """Bytes of free blocks of the heap that lie below a block in use."""
    if sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("only the GNU C library keeps free pages and can return them")
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    blocks = [libc.malloc(64 << 10) for _ in range(1600)]  # 100 MiB, each block from the heap
    for block in blocks:
        ctypes.memset(block, 1, 64 << 10)
    for block in blocks[:-1]:
        libc.free(ctypes.c_void_p(block))
    yield 1599 * (64 << 10)
    libc.free(ctypes.c_void_p(blocks[-1]))


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_sweep_returns_free_pages_below_a_block_in_use(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, free_bytes: int
) -> None:
    monkeypatch.setattr(sweeps, "_return_memory_seldom", MemoryReturn())
    sweep(Scenario("chain"), AXES)
    before = resident_bytes()
    sweep(Scenario("chain"), AXES)
    assert before - resident_bytes() < 1 << 20  # 30 s have not passed
    clock.now_s += 31
    sweep(Scenario("chain"), AXES)
    assert before - resident_bytes() > 0.8 * free_bytes


def swept(batches: Iterable[int]) -> int:
    """Sweep two points at each batch on two cards; returns Python's blocks in use afterwards."""
    for batch in batches:
        for card in ("a100_sxm_80", "h100_sxm"):
            sweep(Scenario("chain", gpu=card), {"batch": (batch, 3 * batch)})
    gc.collect()
    return sys.getallocatedblocks()


def test_sweeps_keep_no_objects() -> None:
    swept(range(1, 61))
    before = swept(range(1, 61))
    # If each of the 2 · 60 sweeps left one object behind, there would be 120 blocks.
    assert swept(range(1, 61)) - before < 100


def cached_values() -> dict[str, int]:
    """The number of values in each cache and container of a module of the simulator."""
    values: dict[str, int] = {}
    for module, name, value in [
        (module, name, value)
        for module, loaded in list(sys.modules.items())
        if module.startswith("simulator.")
        for name, value in vars(loaded).items()
    ]:
        parts = (
            vars(value) if type(value).__module__.startswith("simulator.caches") else {"": value}
        )
        for part, each in parts.items():
            if isinstance(each, _CACHED):
                values[f"{module}.{name}"] = each.cache_info().currsize
            elif isinstance(each, dict | list | set):
                values[f"{module}.{name}.{part}"] = len(each)
    return values


def grown(before: dict[str, int], after: dict[str, int]) -> list[str]:
    return [name for name, count in after.items() if count > before.get(name, 0)]


def test_sweeps_at_new_batches_fill_no_cache_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    swept(range(1, 61))
    before = cached_values()
    assert len(before) > 400
    swept(range(1001, 1031))
    assert grown(before, cached_values()) == []
    monkeypatch.setattr(garbage, "seen", {"a": 1}, raising=False)  # an example
    assert grown(before, cached_values()) == ["simulator.caches.garbage.seen."]
